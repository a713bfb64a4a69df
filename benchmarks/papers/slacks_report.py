"""Table 1 of Sarawagi & Gupta (2008) beside ours, and which claims hold."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from experiment import Block, Claim, Measured, Table
from scipy.stats import ttest_rel
from slacks import NAMES

Runs = Sequence[Mapping[str, Any]]

PRINTED = Table(
    ("", "Margin", "Slack", "ApproxSlack", "PosLearn"),
    [
        ("labels, Cora", "12.3 / 74.9", "10.0 / 82.9", "9.9 / 83.0", "9.5 / 83.4"),
        ("labels, Address", "17.1 / 71.0", "15.7 / 76.7", "15.1 / 78.1", "14.2 / 78.4"),
        ("labels, CoNLL", "2.89 / 84.7", "2.95 / 84.7", "2.96 / 84.6", "2.82 / 85.1"),
        ("segments, Cora", "17.7 / 81.8", "17.4 / 81.9", "17.3 / 81.9", "16.2 / 83.1"),
        ("segments, Address", "15.4 / 77.6", "15.4 / 77.5", "15.4 / 77.6", "13.8 / 79.0"),
        ("heads, Danish", "12.4", None, None, "12.5"),
        ("heads, Dutch", "16.3", None, None, "16.9"),
        ("heads, Swedish", "12.9", None, None, "12.8"),
    ],
    "The paper's Table 1, wrong tokens in % / F1 of spans",
)
TABLE = {
    "labels-citations-25": "labels, citations",
    "labels-addresses": "labels, addresses",
    "labels-few-addresses": "labels, addresses, own files",
    "labels-diseases": "labels, diseases",
    "segments-citations": "segments, citations",
    "segments-addresses": "segments, addresses",
    "segments-few-addresses": "segments, addresses, own files",
    "heads-danish": "heads, Danish",
    "heads-swedish": "heads, Swedish",
}
"""The experiments of Table 1 and what their rows are called."""

LABELS, SEGMENTS = ("labels-citations-25", "labels-addresses"), ("segments-citations", "segments-addresses")
HEADS = ("heads-danish", "heads-swedish")


def values(measured: Mapping[str, Any], objective: str, key: str = "error") -> list[Any]:
    """What the runs of an objective came to, split by split."""
    return [run[key] for run in measured["runs"] if run["objective"] == objective]


def mean(measured: Mapping[str, Any], objective: str, key: str = "error") -> float:
    """The mean over splits."""
    return float(np.mean(values(measured, objective, key)))


def p_value(measured: Mapping[str, Any], one: str, other: str, key: str = "error") -> float:
    """That of a paired t-test: over splits, or over the sequences of the only one."""
    pairs = list(zip(values(measured, one, key), values(measured, other, key), strict=True))
    if len(pairs) == 1:
        pairs = list(zip(values(measured, one, "wrong")[0], values(measured, other, "wrong")[0], strict=True))
    first, second = np.array(pairs).T
    return 1.0 if (first == second).all() else float(ttest_rel(first, second).pvalue)


def shown_p(p: float) -> str:
    """A p-value in words."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def reduction(measured: Mapping[str, Any], one: str, other: str) -> float:
    """By how many percent the error of `one` is below that of `other`."""
    return 100 * (1 - mean(measured, one) / mean(measured, other))


def less(measured: Mapping[str, Any], one: str, other: str) -> str:
    """The same in words."""
    percent = reduction(measured, one, other)
    return f"{abs(percent):.1f} % {'less' if percent >= 0 else 'more'} than {NAMES[other]}"


def cell(measured: Mapping[str, Any], objective: str) -> str | None:
    """A cell of Table 1."""
    errors = values(measured, objective)
    if not errors:
        return None
    spread = f" ± {np.std(errors, ddof=1):.2f}" if len(errors) > 1 else ""
    f1 = f" / {mean(measured, objective, 'f1'):.1f}" if "f1" in measured["runs"][0] else ""
    return f"{np.mean(errors):.2f}{spread}{f1}"


def each(found: Measured, names: Sequence[str], say: Any) -> str:
    """One phrase for every experiment."""
    return "; ".join(f"{TABLE[name]} {say(found[name])}" for name in names) + "."


def errors_of(measured: Mapping[str, Any], *objectives: str) -> str:
    return ", ".join(f"{NAMES[name]} {mean(measured, name):.2f}" for name in objectives)


def compared(measured: Mapping[str, Any], one: str, other: str) -> str:
    return f"{errors_of(measured, one, other)} ({shown_p(p_value(measured, one, other))})"


def below(measured: Mapping[str, Any], one: str, other: str, p: float) -> bool:
    """Whether the error of `one` is the smaller one, by a paired test."""
    return mean(measured, one) < mean(measured, other) and p_value(measured, one, other) < p


def table(found: Measured) -> Iterator[Block]:
    """Table 1 and what the paper reads from it."""
    yield PRINTED
    head = ("", *NAMES.values())
    yield Table(
        head,
        [(label, *(cell(found[name], objective) for objective in NAMES)) for name, label in TABLE.items()],
        "Here, means and deviations over splits; “ours” is ApproxSlack by another search, `approximate-slack`",
    )
    yield Table(
        ("", *NAMES.values()),
        [
            (label, *(next(iter(values(found[name], objective, "C")), None) for objective in NAMES))
            for name, label in TABLE.items()
        ],
        "C, chosen for each objective on training or development data",
    )
    yield from labels_claims(found)
    yield from segments_claims(found)
    yield from heads_claims(found)


def labels_claims(found: Measured) -> Iterator[Block]:
    order = ("margin", "slack", "golden-slack", "positions")
    yield Claim(
        "In sequence labelling errors go down in the order Margin, Slack, ApproxSlack, PosLearn.",
        all(mean(found[name], a) > mean(found[name], b) for name in LABELS for a, b in pairwise(order)),
        f"{each(found, LABELS, lambda it: errors_of(it, *order))} It holds if each mean is below the one before.",
    )
    yield Claim(
        "PosLearn is better than Margin in sequence labelling, with p < 0.001.",
        all(below(found[name], "positions", "margin", 0.001) for name in LABELS),
        each(found, LABELS, lambda it: compared(it, "positions", "margin")),
    )
    yield Claim(
        "Slack scaling is more accurate than margin scaling in sequence labelling.",
        all(below(found[name], "slack", "margin", 0.05) for name in LABELS),
        f"{each(found, LABELS, lambda it: compared(it, 'slack', 'margin'))} It holds if p < 0.05.",
    )
    yield alike(found, LABELS, "sequence labelling")
    gains = {
        name: mean(found[name], "positions", "f1") - mean(found[name], "margin", "f1")
        for name in TABLE
        if "labels" in name
    }
    yield Claim(
        "PosLearn gains much span F1 over Margin on citations and addresses, and little on names.",
        all(gains[name] > max(1.0, gains["labels-diseases"]) for name in LABELS),
        each(
            found,
            (*LABELS, "labels-diseases"),
            lambda it: f"{mean(it, 'positions', 'f1') - mean(it, 'margin', 'f1'):+.1f}",
        )
        + " It holds if both gain more than a point, and more than on names.",
    )


def alike(found: Measured, names: Sequence[str], task: str) -> Claim:
    return Claim(
        f"ApproxSlack is as good as Slack in {task}.",
        all(p_value(found[name], "golden-slack", "slack") >= 0.05 for name in names),
        f"{each(found, names, lambda it: compared(it, 'golden-slack', 'slack'))} It holds if no p is below 0.05.",
    )


def segments_claims(found: Measured) -> Iterator[Block]:
    others = ("margin", "slack")
    yield Claim(
        "In segmentation PosLearn has 7–10 % less error than Margin and Slack.",
        all(reduction(found[name], "positions", other) >= 7 for name in SEGMENTS for other in others),
        each(
            found,
            SEGMENTS,
            lambda it: ", ".join(less(it, "positions", other) for other in others),
        )
        + " It holds if all are 7 % less, or better.",
    )
    yield alike(found, SEGMENTS, "segmentation")


def heads_claims(found: Measured) -> Iterator[Block]:
    yield Claim(
        "In dependency parsing PosLearn and Margin hardly differ.",
        all(abs(mean(found[name], "positions") - mean(found[name], "margin")) <= 0.6 for name in HEADS),
        f"{each(found, HEADS, lambda it: compared(it, 'positions', 'margin'))} "
        "It holds if they differ by 0.6 points at most, as in the paper.",
    )
