"""The sections of the report on Yu & Joachims (2009): their tables beside ours, and what holds."""

from collections.abc import Iterator, Sequence
from statistics import mean, median
from typing import Any

import numpy as np
from drawing import Panel, panels
from experiment import Block, Claim, Measured, Picture, Table
from scipy.stats import binomtest, linregress, ttest_rel, wilcoxon
from yu_joachims_motifs import EM, RANDOM, THIRD
from yu_joachims_partial import SHARES, WAYS
from yu_joachims_rankings import KS, METHODS
from yu_joachims_rounds import AUTHORS, COLD, NAMES, OURS
from yu_joachims_rounds import WAYS as ROUNDS
from yu_joachims_texts import CORRELATION, FOREST, LENIENT
from yu_joachims_texts import METHODS as CLUSTERERS

SIGNIFICANT = 0.05
LENGTHS = (11, 17)
PAPER_ERRORS = {11: (0.3249, 0.1109, 0.0648), 17: (0.3147, 0.1200, 0.0546)}
"""The Gibbs sampler, the latent SVM, and its deviation over seeds."""
PAPER_LOSSES = {CORRELATION: (41.3, 2.89), FOREST: (44.1, 2.66), LENIENT: (35.6, 4.11)}
PAPER_PRECISIONS = {
    "Ranking SVM": (0.597, 0.543, 0.532, 0.486),
    "ListNet": (0.652, 0.602, 0.550, 0.498),
    "latent precision@k": (0.680, 0.573, 0.567, 0.494),
    "its initial weights": (0.626, 0.557, 0.524, 0.464),
}
TASKS = {"motif": "motifs", "cluster": "coreference", "rank": "precision@5"}


def motif_table(found: Measured) -> Iterator[Block]:
    """Table 1."""
    yield Table(
        ("letters", "Gibbs sampler", "latent SVM", "deviation over seeds"),
        [(f"yeast, {length}", *map(per_cent, values)) for length, values in PAPER_ERRORS.items()],
        "The paper's errors, ten folds",
    )
    rows = []
    for name, measured in found.items():
        _, data, length = name.split("-")
        seeds = measured["seeds"]
        cells = [per_cent(error(runs)) for runs in measured["runs"].values()]
        rows.append((f"{data}, {length}", *cells, per_cent(every(seeds)), per_cent(deviation(seeds))))
    head = [*next(iter(found.values()))["runs"], RANDOM, "deviation over seeds"]
    yield Table(("letters", *head), rows, "Ours, ten folds")
    for length in LENGTHS:
        yield against_em(found[f"motifs-yeast-{length}"], length)
    for length in LENGTHS:
        yield f"Promoters, {length} letters: {against_em(found[f'motifs-promoters-{length}'], length).because}"
    yeast = [found[f"motifs-yeast-{length}"]["seeds"] for length in LENGTHS]
    mild = max(values[2] for values in PAPER_ERRORS.values())
    yield Claim(
        "Local minima make the errors vary mildly.",
        all(deviation(seeds) <= mild for seeds in yeast),
        f"Deviation over seeds on yeast, mean of folds: {' and '.join(per_cent(deviation(each)) for each in yeast)}. "
        f"Rule: at most the paper's {per_cent(mild)}.",
    )
    kept = [error(best_objective(seeds)) for seeds in yeast]
    yield Claim(
        "A few random restarts overcome local minima.",
        all(best < every(seeds) for best, seeds in zip(kept, yeast, strict=True)),
        f"The seed with the best objective errs on {' and '.join(map(per_cent, kept))} of yeast, seeds on average on "
        f"{' and '.join(per_cent(every(seeds)) for seeds in yeast)}. Rule: the former are lower.",
    )


def per_cent(share: float) -> str:
    return f"{100 * share:.1f}%"


def digits(runs: Sequence[dict[str, Any]]) -> np.ndarray:
    """Which sequences are wrong, of all folds."""
    return np.array([int(digit) for run in runs for digit in run["wrong"]])


def error(runs: Sequence[dict[str, Any]]) -> float:
    return float(digits(runs).mean())


def by_fold(runs: Sequence[dict[str, Any]]) -> list[float]:
    return [error([run]) for run in runs]


def every(seeds: Sequence[Sequence[dict[str, Any]]]) -> float:
    """The error of all seeds together."""
    return mean(map(error, seeds))


def deviation(seeds: Sequence[Sequence[dict[str, Any]]]) -> float:
    """As the paper has it: the deviation over seeds on each fold, averaged over folds."""
    return float(np.mean(np.std([by_fold(runs) for runs in seeds], axis=0)))


def best_objective(seeds: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """On every fold the run with the best objective."""
    return [min(runs, key=lambda run: run["objective"]) for runs in zip(*seeds, strict=True)]


def against_em(measured: dict[str, Any], length: int) -> Claim:
    """Whether the paper's order makes fewer errors than the baseline, by a test over folds and one over sequences."""
    runs = measured["runs"]
    ours, theirs = runs[THIRD], runs[EM]
    p = float(ttest_rel(by_fold(ours), by_fold(theirs)).pvalue)
    first, second = digits(ours), digits(theirs)
    more, fewer = int((first > second).sum()), int((second > first).sum())
    exact = float(binomtest(more, max(more + fewer, 1)).pvalue)
    return Claim(
        f"Motifs of {length} letters: fewer errors than a motif finder with the best threshold for the test fold.",
        error(ours) < error(theirs) and p < SIGNIFICANT,
        f"{per_cent(error(ours))} with order 3, as in the paper, against {per_cent(error(theirs))} of EM; paired "
        f"t-test over folds p = {p:.2g}, McNemar over sequences p = {exact:.2g}. Rule: lower, and p < {SIGNIFICANT} by "
        "the first.",
    )


def text_table(found: Measured) -> Iterator[Block]:
    """Table 2."""
    of = {method: found[text_name(method)] for method in CLUSTERERS}
    head = ("method", "MITRE loss", "pair loss")
    yield Table(head, [(name, *values) for name, values in PAPER_LOSSES.items()], "The paper's, MUC-6")
    rows = [
        (
            name,
            *(f"{mean(each[loss]):.2f}" for loss in ("mitre", "pair")),
            *(per_cent(value) for value in (*each["muc"], each["b3"])),
            f"C {each['chosen']['C']:g}, r {each['chosen']['r']:g}",
            f"{each['chosen']['seconds']:.0f}",
        )
        for name, each in of.items()
    ]
    yield Table(
        (*head, "MUC precision", "MUC recall", "B³", "setting", "seconds"), rows, "Ours, gum-open, test documents"
    )
    base, strict, lenient = of[CORRELATION], of[FOREST], of[LENIENT]
    yield compared("Forests with r = 1 do better on the pair loss than correlation clustering.", strict, base, "pair")
    yield compared("With r = 0.01 forests do better on the MITRE loss.", lenient, base, "mitre")
    yield Claim(
        "Forests with r = 1 do worse on the MITRE loss.",
        mean(strict["mitre"]) > mean(base["mitre"]),
        f"{mean(strict['mitre']):.1f} against {mean(base['mitre']):.1f}. Rule: higher.",
    )
    precision, recall = strict["muc"]
    yield Claim(
        "Forests with r = 1 are careful: high precision, low recall.",
        precision > recall,
        f"MUC precision {per_cent(precision)}, recall {per_cent(recall)}. Rule: precision is higher.",
    )
    yield Claim(
        "Training is more efficient than that of correlation clustering.",
        lenient["chosen"]["seconds"] < base["chosen"]["seconds"],
        f"{lenient['chosen']['seconds']:.0f} s against {base['chosen']['seconds']:.0f} s, with the settings chosen. "
        "Rule: less time.",
    )


def text_name(method: str) -> str:
    """The name of an experiment of Table 2."""
    return {CORRELATION: "texts-correlation", FOREST: "texts-forest", LENIENT: "texts-forest-lenient"}[method]


def compared(says: str, ours: dict[str, Any], base: dict[str, Any], loss: str) -> Claim:
    """Whether a loss is lower, document by document."""
    one, other = ours[loss], base[loss]
    p, p_t = float(wilcoxon(one, other).pvalue), float(ttest_rel(one, other).pvalue)
    better = sum(a < b for a, b in zip(one, other, strict=True))
    return Claim(
        says,
        mean(one) < mean(other) and p < SIGNIFICANT,
        f"{mean(one):.2f} against {mean(other):.2f}, lower on {better} of {len(one)} documents; Wilcoxon p = {p:.2g}, "
        f"paired t-test p = {p_t:.2g}. Rule: lower, and p < {SIGNIFICANT} (Wilcoxon).",
    )


def cross_validated(each: Measured) -> str:
    """A score and the C that was chosen by it, if any was."""
    chosen = "" if each["setting"] == "None" else f" ({each['setting']})"
    return f"{each['cross-validated']:.3f}{chosen}"


def ranking_table(found: Measured) -> Iterator[Block]:
    """Table 3."""
    head = ("method", *(f"P@{k}" for k in KS))
    yield Table(head, [(name, *values) for name, values in PAPER_PRECISIONS.items()], "The paper's, OHSUMED")
    of = {name: found[f"rankings-{name}"] for name in METHODS if f"rankings-{name}" in found}
    n = len(of["pairs"]["P@1"]["test"])
    rows = [(METHODS[name].title, *(f"{mean(each[f'P@{k}']['test']):.3f}" for k in KS)) for name, each in of.items()]
    yield Table(head, rows, f"Ours, lightgbm-rank, {n} test queries")
    rows = [(METHODS[name].title, *(cross_validated(each[f"P@{k}"]) for k in KS)) for name, each in of.items()]
    yield Table(head, rows, "The same by cross-validation on training queries, and the C chosen")
    yield ahead("The latent SVM does better than the Ranking SVM at every k.", of["precision"], of["pairs"])
    yield ahead(
        "The latent SVM improves upon the weights that it begins with at every k.", of["precision"], of["initial"]
    )


def listwise(found: Measured) -> Iterator[Block]:
    """The paper's list-wise ranker is ListNet; here LightGBM's lambdarank stands in for it."""
    ours, theirs = found["rankings-precision"], found["rankings-lambdarank"]
    rows = [(METHODS["lambdarank"].title, *(f"{mean(theirs[f'P@{k}']['test']):.3f}" for k in KS))]
    yield Table(("method", *(f"P@{k}" for k in KS)), rows, "LightGBM's lambdarank stands in for ListNet")
    p = [p_value(ours[f"P@{k}"]["test"], theirs[f"P@{k}"]["test"]) for k in KS]
    yield Claim(
        "The latent SVM essentially ties with one of the best list-wise rankers.",
        min(p) >= SIGNIFICANT,
        f"{gains(ours, theirs)}; p = {', '.join(f'{each:.2f}' for each in p)}. Rule: no p < {SIGNIFICANT} in a paired "
        "sign-flip test over queries.",
    )


def gains(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    return ", ".join(f"P@{k} {mean(ours[f'P@{k}']['test']) - mean(theirs[f'P@{k}']['test']):+.3f}" for k in KS)


def ahead(says: str, ours: dict[str, Any], theirs: dict[str, Any]) -> Claim:
    """Whether P@k is higher for every k."""
    p = [p_value(ours[f"P@{k}"]["test"], theirs[f"P@{k}"]["test"]) for k in KS]
    return Claim(
        says,
        all(mean(ours[f"P@{k}"]["test"]) > mean(theirs[f"P@{k}"]["test"]) for k in KS),
        f"{gains(ours, theirs)}; p = {', '.join(f'{each:.2f}' for each in p)} (paired sign-flip test over queries). "
        "Rule: higher for every k.",
    )


def p_value(one: Sequence[float], other: Sequence[float]) -> float:
    """Two-sided, by flipping the signs of the differences at random."""
    difference = np.subtract(one, other)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(20_000, len(difference)))
    return float(np.mean(np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12))


def finished(rows: Sequence[dict[str, Any]], way: str) -> list[tuple[float, float]]:
    """C and rounds of the runs that the clock did not stop."""
    return [(row["C"], row["ways"][way]["rounds"]) for row in rows if row["ways"][way]["over"]]


def rounds_figure(found: Measured) -> Iterator[Block]:
    """Figure 3."""
    of = {name: found[f"rounds-{name}"]["rows"] for name in NAMES}
    shown = [
        Panel(
            {AUTHORS: "As in the paper: cold rounds, bundle method", OURS: "Ours: rebased, loose rounds"}[way],
            "C",
            "rounds",
            {TASKS[name]: finished(rows, way) for name, rows in of.items()},
            log_x=True,
            low=0,
        )
        for way in (AUTHORS, OURS)
    ]
    yield Picture("figure-3", panels(shown), "Rounds of CCCP against C")
    cells = [row["ways"][AUTHORS] for rows in of.values() for row in rows]
    counts, cut = [cell["rounds"] for cell in cells], sum(not cell["over"] for cell in cells)
    yield (
        f"Of {len(cells)} runs as in the paper, {cut} were stopped by the clock before their rounds were over; they "
        "are not drawn."
    )
    yield Claim(
        "Most runs finish within 50 rounds.",
        sum(cell["over"] and cell["rounds"] <= 50 for cell in cells) > len(cells) / 2,
        f"{min(counts)} to {max(counts)} rounds, {cut} of {len(cells)} runs not over. Rule: more than half of the runs "
        "are over after at most 50.",
    )
    slopes = {}
    for name, rows in of.items():
        over = finished(rows, AUTHORS)
        if len(over) > 1:
            slopes[TASKS[name]] = float(linregress(*np.log10(over).T).slope)
    yield Claim(
        "The number of rounds grows very mildly with C.",
        bool(slopes) and all(10**slope < 2 for slope in slopes.values()),
        "Ten times the C makes the rounds "
        + ", ".join(f"{10**slope:.2f} times as many ({name})" for name, slope in slopes.items())
        + ". Rule: less than twice as many, by a line through the logarithms of runs that are over.",
    )


def rebasing(found: Measured) -> Iterator[Block]:
    """What the paper says of warm starts and loose rounds, and what they are worth here."""
    rows, calls = [], {way: [] for way in (AUTHORS, COLD)}
    for name in NAMES:
        for row in found[f"rounds-{name}"]["rows"]:
            cells = []
            for way in (AUTHORS, COLD):
                calls[way].append(row["times"][way]["calls"])
                cells += [f"{row['times'][way][what]:.1f}" for what in ("calls", "seconds")]
            counts = [f"{row['ways'][way]['rounds']}{'' if row['ways'][way]['over'] else '+'}" for way in ROUNDS]
            rows.append((f"{TASKS[name]}, C {row['C']:g}", *counts, *cells))
    head = ("task", *(f"rounds, {way}" for way in ROUNDS))
    times = [f"{what}, {way}" for way in (AUTHORS, COLD) for what in ("calls", "seconds")]
    yield Table(
        (*head, *times), rows, "Effort to the same objective, as a multiple of ours; + where the clock stopped a run"
    )
    yield Claim(
        "Rounds need not be solved to high precision at first, and can reuse the last one's solution: it is cheaper.",
        median(calls[COLD]) > 1,
        f"Cold rounds take {median(calls[COLD]):.1f} times the oracle calls of rebased, loose ones to the same "
        f"objective, in the median; with the bundle method {median(calls[AUTHORS]):.1f} times. Rule: more than 1.",
    )
    starts = [
        (
            f"{TASKS[name]}, C {each['C']:g}",
            each["rule"],
            min(each["random"]),
            mean(each["random"]),
            max(each["random"]),
        )
        for name in NAMES
        for each in [found[f"rounds-{name}"]]
    ]
    yield Table(
        ("task", "rule", "random, best", "random, mean", "random, worst"), starts, "Objectives of several beginnings"
    )


def partial_table(found: Measured) -> Iterator[Block]:
    """Labels known in part."""
    full = found["partial-0"]["latent"]
    rows = [
        (f"{share:.0%}", *(per_cent(found[f"partial-{100 * share:.0f}"][way]["test"]) for way in WAYS))
        for share in SHARES
        if share
    ]
    yield Table(("removed", *WAYS), rows, f"Accuracy on test data; with all labels {per_cent(full['test'])}")


def oracle_table(found: Measured) -> Iterator[Block]:
    """Oracles."""
    yield Table(("what", "ms"), [tuple(row) for row in found["oracles"]])
