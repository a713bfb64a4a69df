"""Chang & Yih (2013): dual coordinate descent for structural SVMs.

An experiment is a task. It chooses C for each objective on development data, then trains with every method and scores
the test data after each iteration; all figures and the table read the same runs.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import chang_yih_report as report
from chains import Task, tagging
from courses import Course, course, warm
from experiment import Bench, Experiment, Paper, Section
from significance import randomised
from unlabelled import parsing

from widemargin.core.problem import Problem
from widemargin.solvers import named_solver

CS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
LONGER = 2.0
"""Batch methods and FW-Struct may train for so many times the seconds of DCD-SSVM."""


class Method(NamedTuple):
    """A solver, its loss, and the method whose C it takes; a method without one has no use for C."""

    solver: str
    loss: str | None
    like: str | None

    def problem(self, task: Task, chosen: Mapping[str, float]) -> Problem:
        """What it minimises."""
        return task.problem(self.solver, chosen[self.like] if self.like else CS[-1], loss=self.loss)


METHODS = {
    report.DCD: Method("dcd(sweeps=5, batch_size=1)", "squared_hinge", report.DCD),
    report.LIGHT: Method("dcd-light(batch_size=1)", "squared_hinge", report.DCD),
    report.CPD: Method("cpd", "squared_hinge", report.DCD),
    report.PERCEPTRON: Method("perceptron(batch_size=1)", None, None),
    report.MIRA: Method("mira(C=inf, plain=True, batch_size=1)", None, None),
    report.SGD: Method("sgd(average=False, batch_size=1, most_trials=5)", "hinge", report.SGD),
    report.PRINTED: Method("sgd(average=False, printed=True, batch_size=1)", "hinge", None),
    report.FW: Method("bcfw(batch_size=1)", "hinge", report.FW),
    report.SVM: Method("one-slack", "hinge", report.FW),
}
ONLINE = (report.DCD, report.LIGHT, report.PERCEPTRON, report.MIRA, report.SGD, report.PRINTED)
"""Those that make a fixed number of iterations."""


class Setting(NamedTuple):
    """How to load a task: sentences to train on, iterations, and iterations for each C that is tried."""

    load: Callable[[Bench, int, int], Task]
    sentences: int
    iterations: int = 25
    trial: int = 10
    methods: tuple[str, ...] = tuple(METHODS)


def tagged(name: str) -> Callable[[Bench, int, int], Task]:
    return lambda bench, sentences, tested: tagging(bench, name, sentences, tested)


SETTINGS = {
    report.MUC: Setting(tagged("wnut17"), 3394),
    report.CONLL: Setting(tagged("ncbi-disease"), 5424),
    report.POS: Setting(tagged("ewt"), 8000),
    report.DP: Setting(parsing, 2000, 10, 5, (*ONLINE, report.CPD)),
}


def run(name: str, bench: Bench) -> dict[str, Any]:
    """Choose C, train with all methods, test, and compare DCD-SSVM with each other method on the test sentences."""
    setting = SETTINGS[name]
    task = setting.load(bench, bench.size(setting.sentences, 150), bench.size(10**6, 150))
    solvers = {each: named_solver(METHODS[each].solver) for each in setting.methods}
    dev = task.dev()
    tried: dict[str, dict[float, float]] = {}
    chosen = dict.fromkeys((report.DCD, report.SGD, report.FW), CS[0])
    for each in setting.methods:
        warm(partial(METHODS[each].problem, task, chosen), [solvers[each]])
    for each in chosen if report.FW in setting.methods else (report.DCD, report.SGD):
        bench.tell(f"C of {each}")
        for C in CS:
            problem = METHODS[each].problem(task, {each: C})
            found = course(problem, solvers[each], epochs=bench.size(setting.trial, 1))
            tried.setdefault(each, {})[C] = dev(found.w)
        chosen[each] = max(CS, key=tried[each].__getitem__)
    courses: dict[str, Course] = {}
    for each in setting.methods:
        bench.tell(each)
        if each in ONLINE:
            limit: dict[str, Any] = {"epochs": bench.size(setting.iterations, 3)}
        else:
            limit = {"seconds": LONGER * courses[report.DCD].rows[-1].seconds}
        problem = METHODS[each].problem(task, chosen)
        primal = METHODS[each].loss == "squared_hinge"
        courses[each] = course(problem, solvers[each], **limit, score=task.test, primal=primal)
    counts = {each: task.counted(courses[each].w) for each in ONLINE if each in courses}
    return {
        **task.size(),
        "dev": {each: [[C, score] for C, score in scores.items()] for each, scores in tried.items()},
        "C": {each: chosen[each] for each in tried},
        "runs": {each: found.rows for each, found in courses.items()},
        "p": {each: randomised(counts[report.DCD], rows) for each, rows in counts.items() if each != report.DCD},
    }


PAPER = Paper(
    "chang-yih",
    "Chang & Yih 2013",
    "Ming-Wei Chang and Wen-tau Yih: Dual Coordinate Descent Algorithms for Efficient Large "
    "Margin Structured Prediction. TACL 1, 2013.",
    report.DIFFERS,
    tuple(Experiment(name, partial(run, name)) for name in SETTINGS),
    (
        Section("Settings", tuple(SETTINGS), report.settings),
        Section("Figure 1", (report.CONLL, report.POS, report.DP), report.figure_1),
        Section("Figure 2", (report.MUC, report.CONLL, report.POS), report.figure_2),
        Section("Figure 3", (report.MUC, report.POS, report.DP), report.figure_3),
        Section("Table 1", tuple(SETTINGS), report.table_1),
    ),
)
