"""Sarawagi & Gupta (2008): slack scaling, its approximation and PosLearn."""

from functools import partial
from typing import Any

from experiment import Bench, Experiment, Paper, Section
from fields import addresses, as_labels, as_names, as_segments, citations, diseases, few_addresses
from heads import measure_heads
from slacks import NAMES, measure_all, oracle
from slacks_report import (
    EDGES,
    TABLE,
    errors_by_size,
    oracles,
    table,
    times_by_size,
    without_edges,
)

ALL, TWO = tuple(NAMES), ("margin", "positions")
SPLITS, FEW = 10, 3
SPLITS_OF = {10: SPLITS, 25: SPLITS, 50: 5, 75: FEW}
"""Training takes longer with more data."""

SENTENCES = 2000


def labels_citations(share: int, bench: Bench) -> Any:
    """Figures 1 and 2, and Table 1 with a quarter to learn from."""
    return measure_all(bench, as_labels(), citations(bench, share / 100, SPLITS_OF[share]), ALL)


def oracle_times(bench: Bench) -> Any:
    """What violators cost, on the training data of a first split each."""
    sets = {"citations": citations(bench, 0.25, 1), "addresses": addresses(bench, 1)}
    tasks = {"labels": as_labels(), "segments": as_segments()}
    return {
        f"{kind}, {name}": oracle(bench, job, corpus.splits[0].train)
        for kind, job in tasks.items()
        for name, corpus in sets.items()
    }


EXPERIMENTS = (
    *(Experiment(f"labels-citations-{share}", partial(labels_citations, share)) for share in SPLITS_OF),
    Experiment("labels-addresses", lambda bench: measure_all(bench, as_labels(), addresses(bench, SPLITS), ALL)),
    Experiment("labels-few-addresses", lambda bench: measure_all(bench, as_labels(), few_addresses(bench), ALL)),
    Experiment("labels-diseases", lambda bench: measure_all(bench, as_names(), diseases(bench, SENTENCES), ALL)),
    Experiment("segments-citations", lambda bench: measure_all(bench, as_segments(), citations(bench, 0.25, FEW), ALL)),
    Experiment("segments-addresses", lambda bench: measure_all(bench, as_segments(), addresses(bench, SPLITS), ALL)),
    Experiment("segments-few-addresses", lambda bench: measure_all(bench, as_segments(), few_addresses(bench), ALL)),
    Experiment(
        "no-edges-citations",
        lambda bench: measure_all(bench, as_labels(edges=False), citations(bench, 0.25, SPLITS), TWO),
    ),
    Experiment(
        "no-edges-addresses", lambda bench: measure_all(bench, as_labels(edges=False), addresses(bench, SPLITS), TWO)
    ),
    Experiment(
        "no-edges-diseases", lambda bench: measure_all(bench, as_names(edges=False), diseases(bench, SENTENCES), TWO)
    ),
    *(Experiment(f"heads-{language}", partial(lambda name, bench: measure_heads(bench, name), language)) for language in ("danish", "swedish")),
    Experiment("oracle", oracle_times),
)
SIZES = tuple(f"labels-citations-{share}" for share in SPLITS_OF)

PAPER = Paper(
    "sarawagi-gupta",
    "Sarawagi & Gupta 2008",
    "Sunita Sarawagi and Rahul Gupta: Accurate Max-Margin Training for Structured Output Spaces. ICML 2008.",
    "TODO",
    EXPERIMENTS,
    (
        Section("Table 1: errors of all objectives", tuple(TABLE), table),
        Section("Figure 1: training sizes", SIZES, errors_by_size),
        Section("Figure 2: training times", SIZES, times_by_size),
        Section("§ 5.2: without edge features", tuple(dict.fromkeys(n for pair in EDGES.values() for n in pair)), without_edges),
        Section("§ 4: what violators cost", ("oracle",), oracles),
    ),
)
