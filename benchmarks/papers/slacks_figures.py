"""Figures 1 and 2, § 5.2 and § 4 of Sarawagi & Gupta (2008) beside ours, and which claims hold."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from drawing import Panel, panels
from experiment import Block, Claim, Measured, Picture, Table
from slacks import NAMES
from slacks_report import cell, errors_of, less, mean, reduction, values

SHARES = (10, 25, 50, 75)
"""Percentages of the citations that are learnt from."""

EDGES = {
    "citations": ("labels-citations-25", "no-edges-citations"),
    "addresses": ("labels-addresses", "no-edges-addresses"),
    "diseases": ("labels-diseases", "no-edges-diseases"),
}
"""For each set, the experiments with and without edge features."""


def sizes(found: Measured) -> dict[int, Mapping[str, Any]]:
    """The experiments on citations by the percentage that was learnt from."""
    return {share: found[f"labels-citations-{share}"] for share in SHARES}


def curves(found: Measured, key: str, title: str, y: str, **more: Any) -> Panel:
    by_share = sizes(found)
    points = {
        label: [(float(share), mean(it, name, key)) for share, it in by_share.items()] for name, label in NAMES.items()
    }
    spreads = {
        label: [float(np.std(values(it, name, key), ddof=1)) for it in by_share.values()]
        for name, label in NAMES.items()
    }
    return Panel(title, "citations learnt from, %", y, points, errors=spreads, **more)


def errors_by_size(found: Measured) -> Iterator[Block]:
    """Figure 1."""
    by_share = sizes(found)
    caption = (
        "Figure 1: errors by the share of the citations that is learnt from, with one standard deviation over splits"
    )
    shown = [curves(found, "error", "wrong tokens", "%"), curves(found, "f1", "spans", "F1, %")]
    yield Picture("figure-1", panels(shown), caption)
    rivals = ("margin", "slack", "golden-slack")
    yield Claim(
        "PosLearn is the best for all training sizes.",
        all(mean(it, "positions") < min(mean(it, other) for other in rivals) for it in by_share.values()),
        "; ".join(f"{share} %: {errors_of(it, *rivals, 'positions')}" for share, it in by_share.items()) + ".",
    )
    yield Claim(
        "With 75 % to learn from, PosLearn has 25 % less error than Margin.",
        reduction(by_share[75], "positions", "margin") >= 20,
        f"{less(by_share[75], 'positions', 'margin')}. It holds from 20 % on.",
    )
    apart = {share: abs(reduction(it, "golden-slack", "slack")) for share, it in by_share.items()}
    yield Claim(
        "ApproxSlack and Slack are almost identical for all training sizes.",
        max(apart.values()) <= 5,
        "Errors differ by "
        + ", ".join(f"{value:.1f} % with {share} %" for share, value in apart.items())
        + " to learn from. It holds up to 5 %.",
    )


def times_by_size(found: Measured) -> Iterator[Block]:
    """Figure 2."""
    by_share = sizes(found)
    caption = "Figure 2: training by the share of the citations, seconds and oracle calls, with one standard deviation"
    shown = [
        curves(found, "seconds", "training", "seconds", log_y=True),
        curves(found, "oracle_calls", "training", "oracle calls", log_y=True),
    ]
    yield Picture("figure-2", panels(shown), caption)
    yield Table(
        ("learnt from", *NAMES.values()),
        [(f"{share} %", *(mean(it, name, "seconds") for name in NAMES)) for share, it in by_share.items()],
        "Seconds of training, means",
    )
    times = {share: {name: mean(it, name, "seconds") for name in NAMES} for share, it in by_share.items()}
    cheap, dear = ("positions", "golden-slack"), ("margin", "slack")
    yield Claim(
        "PosLearn and ApproxSlack are the cheapest to train.",
        all(max(t[name] for name in cheap) < min(t[name] for name in dear) for t in times.values()),
        "; ".join(
            f"{share} %: " + ", ".join(f"{NAMES[name]} {t[name]:.2g} s" for name in (*cheap, *dear))
            for share, t in times.items()
        )
        + ".",
    )
    ratios = {share: t["margin"] / t["positions"] for share, t in times.items()}
    yield Claim(
        "PosLearn trains up to five times as fast as Margin.",
        max(ratios.values()) >= 5 and min(ratios.values()) > 1,
        ", ".join(f"{ratio:.1f} times with {share} %" for share, ratio in ratios.items())
        + " to learn from. It holds if it is faster everywhere, and five times somewhere.",
    )
    first, last = times[SHARES[0]]["margin"], times[SHARES[-1]]["margin"]
    yield Claim(
        "Margin takes less time to train with more data.",
        last < first,
        f"{first:.2g} s with {SHARES[0]} %, {last:.2g} s with {SHARES[-1]} %.",
    )


def without_edges(found: Measured) -> Iterator[Block]:
    """§ 5.2."""
    yield Table(
        ("", "Margin", "Margin without", "PosLearn", "PosLearn without"),
        [
            (name, *(cell(found[which], objective) for objective in ("margin", "positions") for which in pair))
            for name, pair in EDGES.items()
        ],
        "Wrong tokens in % / F1 of spans, with edge features and without; in the paper, Margin's F1 falls from 75 to "
        "44 on Cora, from 71 to 62 on Address and from 84.7 to 81 on CoNLL",
    )
    falls = {
        name: mean(found[full], "margin", "f1") - mean(found[bare], "margin", "f1")
        for name, (full, bare) in EDGES.items()
    }
    yield Claim(
        "Without edge features Margin loses much F1 on citations and addresses, little on names.",
        min(falls["citations"], falls["addresses"]) > falls["diseases"],
        ", ".join(f"{name} −{fall:.1f}" for name, fall in falls.items()) + ". It holds if names lose the least.",
    )
    yield Claim(
        "Without edge features PosLearn is little or no better than Margin.",
        all(reduction(found[bare], "positions", "margin") < 5 for _, bare in EDGES.values()),
        "PosLearn's errors: "
        + "; ".join(f"{name} {less(found[bare], 'positions', 'margin')}" for name, (_, bare) in EDGES.items())
        + ". It holds if all are less than 5 % below Margin's.",
    )


def oracles(found: Measured) -> Iterator[Block]:
    """§ 4: what violators cost."""
    costs = found["oracle"]
    yield Table(
        ("", *NAMES.values(), "max-marginals alone"),
        [(name, *(row[key] for key in (*NAMES, "max-marginals"))) for name, row in costs.items()],
        "Time to find the violators of all training examples, in plain decodes, feature differences included",
    )
    ratios = {name: row["positions"] / row["margin"] for name, row in costs.items()}
    yield Claim(
        "PosLearn's violators cost about twice as much as Margin's.",
        max(ratios.values()) <= 2.5,
        ", ".join(f"{name} {ratio:.1f} times" for name, ratio in ratios.items()) + ". It holds up to 2.5.",
    )
    yield Claim(
        "PosLearn's violators are found faster than Slack's.",
        all(row["positions"] < row["slack"] for row in costs.values()),
        ", ".join(f"{name} {row['positions']:.1f} against {row['slack']:.1f} decodes" for name, row in costs.items())
        + ".",
    )
