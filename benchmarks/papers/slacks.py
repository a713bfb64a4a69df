"""Training under every objective of Sarawagi & Gupta (2008), each with the C that suits it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from experiment import SEED, Bench
from fields import Corpus, Sequences, Split, Task, fields
from sklearn.exceptions import ConvergenceWarning

from widemargin.metrics import span_scores
from widemargin.objectives import OBJECTIVES, GoldenSlack, Objective
from widemargin.tasks.training import Data

NAMES = {
    "margin": "Margin",
    "slack": "Slack",
    "golden-slack": "ApproxSlack",
    "approximate-slack": "ours",
    "positions": "PosLearn",
}
"""What the paper calls each objective; the fourth is ApproxSlack by another search."""

DECODES = 8
"""How many λ golden section tries; the paper names no number."""

TUNED_AS = {"golden-slack": "slack", "approximate-slack": "slack"}
"""These two approximate Slack, so they take its C."""

GAP, MOST_EPOCHS = 0.02, 300


def objective_of(name: str) -> Objective:
    """The objective of a name."""
    return GoldenSlack(decodes=DECODES) if name == "golden-slack" else OBJECTIVES[name]


def train(bench: Bench, job: Task, objective: str, C: float, split: Split) -> dict[str, Any]:
    """Train, test, and say what it came to; `wrong` counts the wrong tokens of every test sequence."""
    tol, epochs = bench.size((GAP, MOST_EPOCHS), (0.2, 20))
    settings = job.settings(
        objective=objective_of(objective), C=C, loss="hinge", tol=tol, max_epochs=epochs, random_state=SEED
    )
    with catch_warnings():
        simplefilter("ignore", ConvergenceWarning)  # the gap is stored
        settings.fit(split.train.X, job.target(split.train.y))
    solution = settings.solution_
    predicted = job.back(settings.model_.predict(split.test.X, 1), split.test.X)
    gold, found = fields(split.test.y), fields(predicted)
    wrong = [sum(a != b for a, b in zip(g, p, strict=True)) for g, p in zip(gold, found, strict=True)]
    return {
        "objective": objective,
        "C": C,
        "error": 100 * sum(wrong) / sum(map(len, gold)),
        "f1": 100 * span_scores(split.test.y, predicted).micro.f1,
        "seconds": solution.seconds,
        "epochs": len(solution.trace),
        "oracle_calls": solution.oracle_calls,
        "gap": solution.gap,
        "stopped": solution.stopped,
        "wrong": wrong,
    }


def choose(errors: Mapping[float, float]) -> float:
    """The smallest C whose error is within a hundredth of the least."""
    return min(C for C, error in errors.items() if error <= 1.01 * min(errors.values()))


def measure_all(bench: Bench, job: Task, corpus: Corpus, objectives: Sequence[str]) -> dict[str, Any]:
    """Choose C for every objective, then train it on every split."""
    warm(bench, job, corpus.splits[0].train, objectives)
    held, chosen = {}, {}
    for objective in dict.fromkeys(TUNED_AS.get(name, name) for name in objectives):
        errors = {
            C: float(np.mean([train(bench, job, objective, C, split)["error"] for split in corpus.choice]))
            for C in corpus.choices
        }
        held[objective], chosen[objective] = errors, choose(errors)
        bench.tell(f"C of {objective} {chosen[objective]:g}")
    rows = []
    for k, split in enumerate(corpus.splits):
        found = [train(bench, job, each, chosen[TUNED_AS.get(each, each)], split) for each in objectives]
        bench.tell(f"split {k}: " + ", ".join(f"{row['objective']} {row['seconds']:.1f} s" for row in found))
        rows += [{"split": k, **row} for row in found]
    if len(corpus.splits) > 1:
        rows = [{key: value for key, value in row.items() if key != "wrong"} for row in rows]
    return {"held_out_error": held, "runs": rows}


def warm(bench: Bench, job: Task, data: Sequences, objectives: Sequence[str]) -> None:
    """Have every kernel ready before clocks run."""
    few = data.only(range(min(12, len(data.X))))
    for objective in objectives:
        train(bench, job, objective, 0.1, Split(few, few))


def oracle(bench: Bench, job: Task, data: Sequences) -> dict[str, float]:
    """How long each objective's violators take, in plain decodes of the same examples."""
    settings = job.settings(loss="hinge", max_epochs=5, tol=None, objective="margin")
    target = job.target(data.y)
    examples = settings._compile(settings, Data(data.X, target)).examples
    w = settings.fit(data.X, target).solution_.w
    batch = np.arange(examples.n_examples, dtype=np.int32)
    plain = least_seconds(bench, lambda: examples.decode(w, batch))
    costs = {
        each: least_seconds(bench, lambda each=each: objective_of(each).cuts(examples, w, batch)) for each in NAMES
    }
    costs["max-marginals"] = least_seconds(bench, lambda: examples.max_marginals(w, batch))
    return {each: seconds / plain for each, seconds in costs.items()}


def least_seconds(bench: Bench, run: Callable[[], Any]) -> float:
    """The least of some runs, after one that compiles."""

    def times() -> Iterator[float]:
        for _ in range(bench.size(7, 2)):
            begin = perf_counter()
            run()
            yield perf_counter() - begin

    run()
    return min(times())
