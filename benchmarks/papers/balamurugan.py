"""Balamurugan et al. (2011): a sequential dual method.

An experiment is a data set: the cutting-plane method and SDM for each C, then SGD on the likelihood of a CRF; the
scalability of SDM is one more. Sets are small enough for the cutting-plane method to come near its optimum.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import balamurugan_report as report
from chains import Task, tagging
from courses import Course, Row, course, warm
from experiment import Bench, Experiment, Paper, Section

from widemargin.solvers import named_solver

SDM, CP, SGD = "sdm(batch_size=1)", "one-slack", "sgd(average=False, batch_size=1)"
ITERATIONS = 50


class Setting(NamedTuple):
    """A corpus, how many sentences of it, and the values of C."""

    corpus: str
    sentences: int
    Cs: tuple[float, ...] = (0.1, 1.0)


SETTINGS = {
    report.POS: Setting("ewt", 800),
    report.WSJ: Setting("ewt", 1200, (0.1, 1.0, 10.0)),
    report.BIONLP: Setting("jnlpba", 2000, (0.1, 1.0, 10.0)),
    report.BIOCREATIVE: Setting("bc2gm", 2000),
    report.CONLL: Setting("genia", 1200),
}


def run(name: str, bench: Bench) -> dict[str, Any]:
    """Both methods for every C; SDM goes on until it has the other's dual value, and SGD's score for the first C."""
    setting = SETTINGS[name]
    task = load(bench, setting.corpus, bench.size(setting.sentences, 100))
    limit = bench.size(report.LIMIT, 1.0)
    warm(partial(hinge, task, CP, 0.1), [named_solver(CP)])
    warm(partial(hinge, task, SDM, 0.1), [named_solver(SDM)])
    bench.tell("SGD")
    gradient = trained_by_sgd(task, bench.size(ITERATIONS, 3))
    wanted = gradient.rows[-1].score or 0.0
    found: dict[str, Any] = {}
    for C in setting.Cs:
        bench.tell(f"C = {C}")
        problem = hinge(task, CP, C)
        planes, w = course(problem, named_solver(CP), seconds=limit, score=task.test)
        planes[-1] = planes[-1]._replace(primal=problem.primal(w))
        done = Enough(planes[-1].dual or 0.0, wanted if setting.Cs[0] == C else 0.0)
        dual = course(hinge(task, SDM, C), named_solver(SDM), seconds=limit, score=task.test, until=done).rows
        found[str(C)] = {"CP": planes, "SDM": dual}
    return {**task.size(), "C": found, "SGD": gradient.rows}


class Enough:
    """Whether SDM has got as far as the others: in one epoch the dual, in one the score."""

    def __init__(self, dual: float, score: float) -> None:
        self.dual, self.score, self.best = dual, score, 0.0

    def __call__(self, row: Row, _: Any) -> bool:
        """Look at the end of an epoch."""
        self.best = max(self.best, row.score or 0.0)
        return (row.dual or 0.0) >= self.dual and self.best >= self.score


def load(bench: Bench, corpus: str, sentences: int) -> Task:
    """A corpus with at most 1,000 test sentences, scored by the accuracy of tokens, as in the paper."""
    return tagging(bench, corpus, sentences, bench.size(1000, 100), "accuracy")


def hinge(task: Task, solver: str, C: float) -> Any:
    """The problem of both methods."""
    return task.problem(solver, C, loss="hinge")


def trained_by_sgd(task: Task, iterations: int) -> Course:
    """The likelihood of a CRF by SGD with C = 1, the defaults of Bottou's program, which finds its rate first."""
    problem, solver = partial(task.problem, SGD, 1.0, objective="likelihood"), named_solver(SGD)
    warm(problem, [solver])
    return course(problem(), solver, epochs=iterations, score=task.test)


def scalability(Cs: Sequence[float], sizes: Sequence[int], bench: Bench) -> list[dict[str, Any]]:
    """Seconds of SDM until it is τ-optimal, where the paper's algorithm stops and ours makes τ smaller."""
    rows = []
    for sentences in bench.size(sizes, (50, 100)):
        task = load(bench, "ewt", sentences)
        warm(partial(hinge, task, SDM, 0.1), [named_solver(SDM)])
        row: dict[str, Any] = {"sentences": sentences}
        for C in Cs:
            bench.tell(f"{sentences} sentences, C = {C}")
            found = course(hinge(task, SDM, C), named_solver(SDM), epochs=500, until=is_optimal)
            row[str(C)] = {"seconds": found.rows[-1].seconds, "epochs": len(found.rows)}
        rows.append(row)
    return rows


def is_optimal(_: Row, state: Any) -> bool:
    """Whether a pass over all examples found nothing that violates τ."""
    return bool(state.sharpness < 1.0)


PAPER = Paper(
    "balamurugan",
    "Balamurugan et al. 2011",
    "P. Balamurugan, Shirish Shevade, S. Sundararajan and S. Sathiya Keerthi: A Sequential Dual Method "
    "for Structural SVMs. SDM 2011.",
    report.DIFFERS,
    (
        *(Experiment(name, partial(run, name)) for name in SETTINGS),
        Experiment("scalability", partial(scalability, (0.1, 1.0), (450, 900, 1800, 3600, 7200))),
    ),
    (
        Section("Table 1", tuple(SETTINGS), report.table_1),
        Section("Table 2", tuple(SETTINGS), report.table_2),
        Section("Table 3 and Figure 1", tuple(SETTINGS), report.table_3),
        Section("Table 4", ("scalability",), report.table_4),
        Section("Figures 2 and 3", (report.BIONLP, report.WSJ), report.figures_2_and_3),
        Section("Figure 4", tuple(SETTINGS), report.figure_4),
    ),
)
