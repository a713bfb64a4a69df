"""Margin, slack, approximate slack and PosLearn, as in Table 1 and Figures 1 and 2 of Sarawagi & Gupta (2008).

    python benchmarks/objectives.py [--parts oracle table sizes] [--sets citations addresses bc2gm]
                                    [--tasks labels segments] [--splits 10] [--jobs -1] [--out bench]

`oracle` times what each objective asks of decoding, `table` trains and tests on splits of the data, `sizes` does so for
growing training sets and draws the two figures. Every set is learnt twice: as labels of tokens and as segments. C is
chosen for each objective on a quarter of the (first) training set, held out; then all objectives train to the same
relative gap, one after the other on every split. Clocks run on training alone, after everything has been compiled.
Errors are shares of tokens with a wrong field; F1 is that of whole spans.
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ttest_rel

from widemargin import Segmenter, SequenceTagger
from widemargin.files.formats import read
from widemargin.metrics import span_scores
from widemargin.objectives import OBJECTIVES
from widemargin.tasks.training import Data as TrainingData
from widemargin.text.spans import bio
from widemargin.text.templates import DEFAULT_TEMPLATES

HERE = Path(__file__).resolve()
NAMES = ("margin", "slack", "approximate-slack", "positions")
CHOICES = (0.01, 0.1, 1.0, 10.0)
GAP = 0.01
MOST_TO_CHOOSE_BY = 1500
SHARES = (0.05, 0.1, 0.25, 0.5, 0.75)
EDGES = [
    f"transition:{feature}"
    for feature in (
        "lower",
        "lower[-1]",
        "lower[1]",
        "shape",
        "shape[-1]",
        "prefix3",
        "suffix1",
        "suffix1[-1]",
        "suffix3",
    )
]
"""Features on pairs of labels: what couples the labels of neighbours strongly, as the paper's sets have it."""


class Data(NamedTuple):
    """Sequences of tokens and their BIO labels."""

    X: list[list[str]]
    y: list[list[str]]

    def only(self, chosen: Sequence[int]) -> "Data":
        """These sequences alone."""
        return Data([self.X[i] for i in chosen], [self.y[i] for i in chosen])


class Split(NamedTuple):
    """What to learn from and what to test on."""

    name: str
    train: Data
    test: Data


class Result(NamedTuple):
    """What one training run came to; `wrong` counts the wrong tokens of every test sequence."""

    C: float
    error: float
    f1: float
    seconds: float
    epochs: int
    oracle_calls: int
    gap: float
    stopped: str
    wrong: list[int]


def data_folder() -> Path:
    return Path(os.environ.get("WIDEMARGIN_DATA", HERE.parents[2] / "shared" / "data"))


def load(path: str) -> Data:
    columns = read(data_folder() / path).columns
    label = "label" if "label" in columns.by_name else columns.names[-1]
    return Data(columns.sequences("word"), columns.sequences(label))


def splits(name: str, n: int) -> list[Split]:
    """The standard split, and for citations `n` random ones of a quarter for training and the rest for testing."""
    if name == "bc2gm":
        return [Split("standard", load("bc2gm/train.tsv"), load("bc2gm/test.tsv"))]
    if name == "addresses":
        return [Split("standard", load("us50-addresses/train.xml"), load("us50-addresses/test.xml"))]
    core = load("anystyle-citations/core.xml")
    standard = Split("core, gold", core, load("anystyle-citations/gold.xml"))
    return [*(random_split(core, 0.25, seed) for seed in range(n)), standard]


def random_split(data: Data, share: float, seed: int) -> Split:
    order = np.random.default_rng(seed).permutation(len(data.X))
    n = round(share * len(order))
    return Split(f"split {seed}", data.only(order[:n]), data.only(order[n:]))


class Task(NamedTuple):
    """How a set is learnt: settings with an objective, from BIO to what is trained on, from predictions back to BIO."""

    settings: Callable[..., Any]
    target: Callable[[list[list[str]]], Any]
    back: Callable[[Any, list[list[str]]], list[list[str]]]


def fields(y: list[list[str]]) -> list[list[str]]:
    """The field of every token, without B and I."""
    return [[label[2:] or label for label in labels] for labels in y]


def runs(labels: list[str]) -> list[str]:
    """BIO labels where every run of a field is one span."""
    marks = (("I-" if t and labels[t - 1] == field else "B-") + field for t, field in enumerate(labels))
    return ["O" if label[2:] == "O" else label for label in marks]


def task(name: str, kind: str, jobs: int) -> Task:
    """Fields that fill their sequences are labelled without B and I, with features on pairs; entities with both."""
    if kind == "segments":
        segmenter = partial(Segmenter, n_jobs=jobs)
        return Task(segmenter, list, lambda found, X: [bio(s, len(x)) for s, x in zip(found, X, strict=True)])
    if name == "bc2gm":
        return Task(partial(SequenceTagger, n_jobs=jobs), list, lambda found, X: found)
    tagger = partial(SequenceTagger, n_jobs=jobs, templates=[*DEFAULT_TEMPLATES, *EDGES])
    return Task(tagger, fields, lambda found, X: list(map(runs, found)))


def train(job: Task, objective: str, C: float, split: Split, seconds: float) -> Result:
    settings = job.settings(objective=objective, C=C, loss="hinge", tol=GAP, max_epochs=1000, max_seconds=seconds)
    settings.fit(split.train.X, job.target(split.train.y))
    model, solution = settings.model_, settings.solution_
    predicted = job.back(model.predict(split.test.X, 2), split.test.X)
    gold, found = fields(split.test.y), fields(predicted)
    wrong = [sum(a != b for a, b in zip(g, p, strict=True)) for g, p in zip(gold, found, strict=True)]
    return Result(
        C,
        sum(wrong) / sum(map(len, gold)),
        span_scores(split.test.y, predicted).micro.f1,
        solution.seconds,
        len(solution.trace),
        solution.oracle_calls,
        solution.gap,
        solution.stopped,
        wrong,
    )


def choose(job: Task, objective: str, training: Data, seconds: float) -> float:
    """The smallest C whose error on held-out training data is within a hundredth of the least."""
    order = np.random.default_rng(1).permutation(len(training.X))[:MOST_TO_CHOOSE_BY]
    held = len(order) // 4
    split = Split("inner", training.only(order[held:]), training.only(order[:held]))
    errors = {C: train(job, objective, C, split, seconds).error for C in CHOICES}
    return next(C for C in CHOICES if errors[C] <= 1.01 * min(errors.values()))


def warm(job: Task, data: Data) -> None:
    few = data.only(range(min(12, len(data.X))))
    for objective in NAMES:
        train(job, objective, 0.1, Split("few", few, few), 60.0)


def table(name: str, kind: str, n: int, seconds: float, jobs: int) -> Iterator[dict[str, Any]]:
    """Every objective on every split."""
    job, all_splits = task(name, kind, jobs), splits(name, n)
    warm(job, all_splits[0].train)
    C = {objective: choose(job, objective, all_splits[0].train, seconds) for objective in NAMES}
    for split in all_splits:
        for objective in NAMES:
            result = train(job, objective, C[objective], split, seconds)
            print(f"  {name}, {kind}, {split.name}: {objective} {described(result)}", flush=True)
            yield {"set": name, "task": kind, "split": split.name, "objective": objective, **result._asdict()}


def described(result: Result) -> str:
    return (
        f"C {result.C:g}, error {100 * result.error:.2f} %, F1 {100 * result.f1:.2f}, {result.seconds:.1f} s, "
        f"{result.epochs} epochs, gap {result.gap:.4f} ({result.stopped})"
    )


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """A line per set, task and objective: mean and deviation over random splits, and a paired test against margin."""
    lines = ["| set | task | splits | objective | C | error % | F1 | p vs margin | seconds |", "|" + "---|" * 9]
    groups = dict.fromkeys((row["set"], row["task"], "split" in row["split"]) for row in rows)
    for name, kind, random in groups:
        mine = [row for row in rows if (row["set"], row["task"], "split" in row["split"]) == (name, kind, random)]
        margin = [row for row in mine if row["objective"] == "margin"]
        for objective in NAMES:
            those = [row for row in mine if row["objective"] == objective]
            errors, f1, seconds = (np.array([row[key] for row in those]) for key in ("error", "f1", "seconds"))
            p = "" if objective == "margin" else f"{paired(those, margin):.2g}"
            spread = (lambda x: f" ± {100 * x.std(ddof=1):.2f}") if len(those) > 1 else (lambda x: "")
            lines.append(
                f"| {name} | {kind} | {len(those) if random else those[0]['split']} | {objective} | {those[0]['C']:g} "
                f"| {100 * errors.mean():.2f}{spread(errors)} | {100 * f1.mean():.2f}{spread(f1)} | {p} "
                f"| {np.median(seconds):.2f} |"
            )
    return lines


def paired(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> float:
    """The p-value of a paired t-test: over splits, or over the sequences of the only one."""
    if len(one) > 1:
        return float(ttest_rel([row["error"] for row in one], [row["error"] for row in other]).pvalue)
    return float(ttest_rel(one[0]["wrong"], other[0]["wrong"]).pvalue)


def oracle(name: str, kind: str, repeats: int = 7) -> dict[str, Any]:
    """What the oracle of each objective costs, in plain decodes of the same examples; the least of some runs."""
    training = splits(name, 1)[0].train
    job = task(name, kind, 1)
    settings = job.settings(loss="hinge", max_epochs=5, tol=None, objective="margin")
    data = TrainingData(training.X, job.target(training.y))
    examples = settings._compile(settings, data).examples
    w = settings.fit(data.X, data.y).solution_.w
    batch = np.arange(min(examples.n_examples, 400), dtype=np.int32)

    def cost(run: Callable[[], Any]) -> float:
        run()
        times = []
        for _ in range(repeats):
            begin = perf_counter()
            run()
            times.append(perf_counter() - begin)
        return min(times)

    plain = cost(lambda: examples.decode(w, batch))
    n_decodes = examples.decode_hull(w, batch, 12)[1]
    costs = {each: cost(lambda each=each: OBJECTIVES[each].cuts(examples, w, batch)) / plain for each in NAMES}
    found = {
        "set": name,
        "task": kind,
        "decode_ms": 1000 * plain,
        "max_marginals": cost(lambda: examples.max_marginals(w, batch)) / plain,
        "cuts": costs,
        "decodes_of_approximate_slack": {"mean": float(n_decodes.mean()), "most": int(n_decodes.max())},
    }
    print(f"  {name}, {kind}: {json.dumps(found)}", flush=True)
    return found


def sizes(n: int, seconds: float, jobs: int, out: Path) -> list[dict[str, Any]]:
    """Figures 1 and 2: error and training time on citations, as labels, by how many are learnt from."""
    core, job, rows = load("anystyle-citations/core.xml"), task("citations", "labels", jobs), []
    warm(job, core)
    C = {objective: choose(job, objective, random_split(core, 0.25, 0).train, seconds) for objective in NAMES}
    for share in SHARES:
        for seed in range(n):
            split = random_split(core, share, seed)
            for objective in NAMES:
                result = train(job, objective, C[objective], split, seconds)
                rows.append({"share": share, "seed": seed, "objective": objective, **result._asdict()})
        print(f"  {share:.0%} learnt from", flush=True)
    draw(rows, out / "objectives.png")
    return rows


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, key, scale, what in (
        (axes[0], "error", 100, "wrong tokens, %"),
        (axes[1], "seconds", 1, "training, seconds"),
    ):
        for objective in NAMES:
            values = [
                [scale * row[key] for row in rows if row["objective"] == objective and row["share"] == share]
                for share in SHARES
            ]
            axis.errorbar(
                [100 * share for share in SHARES],
                [np.mean(each) for each in values],
                [np.std(each, ddof=1) if len(each) > 1 else 0.0 for each in values],
                marker="o",
                capsize=3,
                label=objective,
            )
        axis.set(xlabel="share of the citations that is learnt from, %", ylabel=what)
        axis.grid(alpha=0.3)
    axes[1].set_yscale("log")
    axes[0].legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=["oracle", "table", "sizes"])
    parser.add_argument("--sets", nargs="+", default=["citations", "addresses", "bc2gm"])
    parser.add_argument("--tasks", nargs="+", default=["labels", "segments"])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=300.0, help="the longest that a training run may take")
    parser.add_argument("--jobs", type=int, default=-1, help="threads")
    parser.add_argument("--out", type=Path, default=Path("bench"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    if "oracle" in options.parts:
        results["oracle"] = [oracle(name, kind) for name in options.sets for kind in options.tasks]
    if "table" in options.parts:
        results["table"] = [
            row
            for name in options.sets
            for kind in options.tasks
            for row in table(name, kind, options.splits, options.seconds, options.jobs)
        ]
        print("\n".join(summary(results["table"])))
    if "sizes" in options.parts:
        results["sizes"] = sizes(options.splits, options.seconds, options.jobs, options.out)
    (options.out / "objectives.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
