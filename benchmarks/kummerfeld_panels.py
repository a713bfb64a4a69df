"""The seven panels of Figure 1 of Kummerfeld et al. (2015): data, methods, grids, and one run of a method.

| panel | data, sizes at scale 1 | score |
| --- | --- | --- |
| ner | ncbi-disease, 2,000 + 500 sentences | F1 of entities |
| coreference | gum-open, 30 + 12 documents, gold mentions, 50 antecedents each | mean of MUC, B³ and CEAF |
| constituency | genia-treebank, 500 + 150 sentences of at most 20 words, gold tags | F1 of brackets |
| neural | the same | the same |
| projective | ud-english-ewt, 1,200 + 300 sentences of at most 25 words, gold tags | labelled attachment |
| nonprojective | the same | the same |
| summarisation | opinosis, 30 + 15 topics, those with the fewest sentences | ROUGE-2 recall |

A method is a solver with an objective. All but the likelihood minimise the hinge; the perceptron and MIRA make their
own steps. The likelihood is the softmax-margin, as in the systems of the paper, by AdaGrad; summaries have none, since
it would sum over all of them. The antecedents of coreference are hidden: methods that keep cuts fill them in once an
epoch, the others at every visit. In the neural parser the perceptron is a gradient step for each mistake (the paper's
note 3), and margin and likelihood go by AdaGrad; the other methods need a linear model.
"""

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from widemargin._threads import one_blas_thread
from widemargin.core.completion import begin, complete, shifts
from widemargin.core.examples import Latent
from widemargin.core.problem import Problem
from widemargin.core.restarts import completing
from widemargin.core.sparse import boundaries
from widemargin.files.formats import read
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import MIRA, AdaGrad, CuttingPlane, OnlineCuttingPlane, Perceptron
from widemargin.tasks import TASKS
from widemargin.tasks.training import Compiled, Data
from widemargin.text.columns import Column, Columns

HERE = Path(__file__).resolve()
Setting = dict[str, float]
SEED = 0


class Epoch(NamedTuple):
    """The development score after an epoch, and the seconds of training and of decoding so far."""

    score: float
    seconds: float
    decoding: float


@dataclass(frozen=True)
class Method:
    """A solver with an objective; `rates` are tried with every factor of C in `factors`."""

    title: str
    kind: str
    solver: Callable[..., Any]
    factors: tuple[float, ...] = (1.0,)
    rates: tuple[float, ...] = ()
    penalty: str = "l2"
    objective: str = "margin"

    def settings(self, C: float) -> list[Setting]:
        """The grid."""
        rates: list[Setting] = [{"eta": rate} for rate in self.rates] or [{}]
        return [{"C": factor * C, **rate} for factor in self.factors for rate in rates]


def _adagrad(size: int = 1) -> Callable[..., Any]:
    return lambda C, eta: AdaGrad(eta=eta, batch_size=size)


METHODS = {
    "perceptron": Method("Averaged perceptron", "mistake driven", lambda C: Perceptron(batch_size=1)),
    "mira": Method("MIRA, averaged", "mistake driven", lambda C: MIRA(C=C, batch_size=1), (0.1, 1.0, inf)),
    "cutting-plane": Method("Cutting plane", "margin", lambda C: CuttingPlane(), (0.1, 1.0, 10.0)),
    "online-cutting-plane": Method(
        "Online cutting plane", "margin", lambda C: OnlineCuttingPlane(batch_size=1), (0.1, 1.0, 10.0)
    ),
    "adagrad-l1": Method("Online primal subgradient, L1", "margin", _adagrad(), (10.0, 100.0), (0.1, 0.3), "l1"),
    "adagrad-l2": Method("Online primal subgradient, L2", "margin", _adagrad(), (1.0, 10.0, 100.0), (0.1, 0.3)),
    "likelihood": Method(
        "Softmax-margin likelihood", "likelihood", _adagrad(), (10.0, 100.0), (0.1, 0.3), objective="softmax-margin"
    ),
}
BATCHES = Method("Online primal subgradient, L2, batches of 10", "margin", _adagrad(10))
"""Run with the setting that is best for batches of one (observation 5)."""

WITHOUT_SUMS = tuple(name for name in METHODS if name != "likelihood")
NEURAL = ("perceptron", "adagrad-l2", "likelihood")


@dataclass(frozen=True)
class Panel:
    """A panel: `load` reads the data of a folder at a scale, and `run` makes one run on them."""

    title: str
    score: str
    load: Callable[[Path, float], Any]
    C: float
    epochs: int = 15
    methods: tuple[str, ...] = tuple(METHODS)
    run: Callable[[Any, Method, Setting], Iterator[Epoch]] | None = None

    def settings(self, name: str) -> list[Setting]:
        """The grid of a method; rates of the neural parser are its only setting."""
        if self.run is neural_run:
            return [{"eta": rate} for rate in (0.01, 0.03)]
        return METHODS[name].settings(self.C)

    def epochs_of(self, data: Any, method: Method, setting: Setting) -> Iterator[Epoch]:
        """One run."""
        return (self.run or linear_run)(data, method, setting)


def linear_run(data: Compiled[Any], method: Method, setting: Setting) -> Iterator[Epoch]:
    """Train a linear model without end, and yield an epoch after each pass over the data."""
    assert data.score is not None
    # MIRA without slack has no C to give to the problem.
    C = setting["C"] if setting["C"] < inf else 1.0
    problem = Problem(
        data.examples,
        OBJECTIVES[method.objective],
        C=C,
        loss="hinge",
        penalty=method.penalty,
        sample_weight=data.sample_weight,
        n_threads=1,
    )
    solver, rng = method.solver(**setting), np.random.default_rng(SEED)
    few = np.flatnonzero(problem.example_weight)[:4]
    small = np.zeros_like(problem.example_weight)
    small[few] = problem.example_weight[few]
    # Compiling does not count as training.
    data.score(next(_passes(replace(problem, sample_weight=small), solver, np.random.default_rng(SEED))).w)
    seconds = decoding = 0.0
    with one_blas_thread():
        for w, taken, decoded in _passes(problem, solver, rng):
            seconds, decoding = seconds + taken, decoding + decoded
            yield Epoch(float(data.score(w)), seconds, decoding)


class Pass(NamedTuple):
    """The weights after an epoch, and the seconds of training and of decoding in it."""

    w: Any
    seconds: float
    decoding: float


def _passes(problem: Problem, solver: Any, rng: np.random.Generator) -> Iterator[Pass]:
    """Epochs without end."""
    latent: Any = problem.examples if isinstance(problem.examples, Latent) else None
    if latent is not None and not solver.online:
        yield from _rounds(problem, latent, solver, rng)
        return
    if latent is not None:
        problem = completing(problem, solver, "rule", rng)
    state = solver.start(problem)
    while True:
        since, decoded = perf_counter(), problem.meter.seconds
        solver.epoch(problem, state, rng)
        seconds = perf_counter() - since
        yield Pass(solver.weights(state), seconds, problem.meter.seconds - decoded)


def _rounds(problem: Problem, latent: Any, solver: Any, rng: np.random.Generator) -> Iterator[Pass]:
    """The same for a solver that keeps cuts of examples that hide something: they are completed after every epoch."""
    completions, carried = begin(latent, "rule", rng), None
    while True:
        since, decoded = perf_counter(), problem.meter.seconds
        convex = replace(problem, examples=latent.completed(completions))
        state = solver.start(convex, cuts=carried)
        solver.epoch(convex, state, rng)
        w = solver.weights(state)
        new = complete(latent, w)
        carried = state.store.rebased(shifts(latent.completed(new), completions), times_error=False)
        completions = new
        yield Pass(w, perf_counter() - since, problem.meter.seconds - decoded)


def neural_run(data: tuple[Any, Any], method: Method, setting: Setting) -> Iterator[Epoch]:
    """Train the neural parser of the examples without end."""
    objective = {"mistake driven": "perceptron", "margin": "margin", "likelihood": "softmax-margin"}[method.kind]
    path = HERE.parents[1] / "examples" / "neural_parser.py"
    spec = importlib.util.spec_from_file_location("neural_parser", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.torch.set_num_threads(1)
    train, dev = data
    for epoch in module.train(train, dev, objective=objective, epochs=10**6, rate=setting["eta"], seed=SEED):
        yield Epoch(epoch.f1, epoch.seconds, epoch.decoding)


def compiled(task: str, train: tuple[Any, Any], dev: tuple[Any, Any], kind: int = 0, **options: Any) -> Compiled[Any]:
    """The data of a task, compiled with its default features."""
    row = list(_task(task).kinds.values())[kind]
    found: Compiled[Any] = row.load("compile")(row.load("parameters")(n_jobs=1, **options), Data(*train, dev=dev))
    return found


def _task(name: str) -> Any:
    if name not in TASKS:
        raise LookupError(f"this version of widemargin has no task {name}")
    return importlib.import_module(TASKS[name]).TASK


def chosen(sequence: Any, most: float, longest: int | None = None) -> list[int]:
    """The numbers of the first `most` items that are not too long."""
    numbers = [i for i, item in enumerate(sequence) if longest is None or 0 < len(item) <= longest]
    return numbers[: round(most)]


def kept(columns: Columns, numbers: list[int]) -> Columns:
    """Some of the sentences."""
    texts = {name: columns.sequences(name) for name in columns.names}
    sizes = [len(texts[columns.names[0]][i]) for i in numbers]
    return Columns(
        {name: Column.of(cell for i in numbers for cell in texts[name][i]) for name in texts}, boundaries(sizes)
    )


def entities(folder: Path, scale: float) -> Compiled[Any]:
    def part(name: str, most: float) -> tuple[Any, Any]:
        columns = read(folder / "ncbi-disease" / f"{name}.tsv").columns
        first = kept(columns, chosen(columns.sequences("word"), most))
        return first.only("word"), first[columns.names[-1]]

    return compiled("tag", part("train", 2000 * scale), part("dev", 500 * scale))


def links(folder: Path, scale: float) -> Compiled[Any]:
    from widemargin.tasks.coreference.files import read_texts

    def part(name: str, most: float) -> tuple[Any, Any]:
        corpus = read_texts(str(folder / "gum-open" / f"{name}.conllu"))
        return corpus.X[: round(most)], corpus.y[: round(most)]

    # Entities of one mention are marked, so links must not be as cheap as in the paper, whose corpus has none.
    costs = dict.fromkeys(("false_anaphor", "false_new", "wrong_link"), 1.0)
    return compiled("coreference", part("train", 30 * scale), part("dev", 12), max_antecedents=50, **costs)


def _trees(folder: Path, scale: float) -> Iterator[tuple[Any, Any]]:
    for name, most in (("train", 500 * scale), ("dev", 150 * scale)):
        document: Any = read(folder / "genia-treebank" / f"{name}.ptb")
        numbers = chosen([tree.words() for tree in document.trees], most, 20)
        yield kept(document.columns, numbers), [document.trees[i] for i in numbers]


def constituents(folder: Path, scale: float) -> Compiled[Any]:
    return compiled("bracket", *_trees(folder, scale), hash_bits=22, tags="given")


def neural_trees(folder: Path, scale: float) -> tuple[Any, Any]:
    (_, train), (_, dev) = _trees(folder, scale)
    return train, dev


def dependencies(decoder: str) -> Callable[[Path, float], Compiled[Any]]:
    def load(folder: Path, scale: float) -> Compiled[Any]:
        from widemargin.tasks.parse.dependencies import arcs

        parts = []
        for name, most in (("train", 1200 * scale), ("dev", 300 * scale)):
            columns = read(folder / "ud-english-ewt" / f"{name}.conllu").columns
            first = kept(columns, chosen(columns.sequences("word"), most, 25))
            parts.append((first, arcs(first)))
        return compiled("parse", *parts, decoder=decoder, tags="given")

    return load


def summaries(folder: Path, scale: float) -> Compiled[Any]:
    from widemargin.tasks.summarise.files import read_topics

    corpus = read_topics(str(folder / "opinosis"), about={"encoding": "cp1252"})
    shortest = sorted(range(len(corpus.X)), key=lambda i: corpus.X[i].n_sentences)[: round(45 * scale)]
    dev, train = shortest[::3], [i for k, i in enumerate(shortest) if k % 3]
    parts = [([corpus.X[i] for i in part], [corpus.y[i] for i in part]) for part in (train, dev)]
    return compiled("summarise", parts[0], parts[1], node_limit=2000, time_limit=5.0)


PANELS = {
    "ner": Panel("Named entity recognition", "F1", entities, 0.1),
    "coreference": Panel("Coreference resolution", "CoNLL F1", links, 0.01),
    "constituency": Panel("Constituency parsing", "F1", constituents, 0.01),
    "neural": Panel("Constituency parsing, neural", "F1", neural_trees, 0.01, 10, NEURAL, neural_run),
    "projective": Panel("Dependency parsing, projective", "LAS", dependencies("projective"), 0.01),
    "nonprojective": Panel("Dependency parsing, non-projective", "LAS", dependencies("nonprojective"), 0.01),
    "summarisation": Panel("Summarisation", "ROUGE-2 recall", summaries, 1.0, 10, WITHOUT_SUMS),
}
