"""The methods of Kummerfeld et al. (2015), their grids, and one run of a method.

A method is a solver with an objective. All but the likelihood minimise the hinge; the perceptron and MIRA make their
own steps. The likelihood is the softmax-margin, as in the systems of the paper, by AdaGrad. The antecedents of
coreference are hidden: methods that keep cuts fill them in once an epoch, the others at every visit. In the neural
parser the perceptron is a gradient step for each mistake (the paper's note 3), and margin and likelihood go by AdaGrad;
the other methods need a linear model.
"""

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from experiment import SEED

from widemargin._threads import one_blas_thread
from widemargin.core.examples import Latent
from widemargin.core.problem import Problem
from widemargin.core.restarts import completing
from widemargin.core.rounds import begin, complete, shifts
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import MIRA, AdaGrad, CuttingPlane, OnlineCuttingPlane, Perceptron
from widemargin.tasks.training import Compiled

PARSER = Path(__file__).resolve().parents[2] / "examples" / "neural_parser.py"
Setting = dict[str, float]


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
    "adagrad-l1": Method("Subgradient, L1", "margin", _adagrad(), (10.0, 100.0), (0.1, 0.3), "l1"),
    "adagrad-l2": Method("Subgradient, L2", "margin", _adagrad(), (1.0, 10.0, 100.0), (0.1, 0.3)),
    "likelihood": Method("Likelihood", "likelihood", _adagrad(), (10.0, 100.0), (0.1, 0.3), objective="softmax-margin"),
}
BATCHES = Method("Subgradient, L2, batches of 10", "margin", _adagrad(10))
"""Run with the setting that is best for batches of one (observation 5)."""


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
        carried = state.store.rebase(shifts(latent.completed(new), completions), times_error=False)
        completions = new
        yield Pass(w, perf_counter() - since, problem.meter.seconds - decoded)


def neural_run(data: tuple[Any, Any], method: Method, setting: Setting) -> Iterator[Epoch]:
    """Train the neural parser of the examples without end."""
    objective = {"mistake driven": "perceptron", "margin": "margin", "likelihood": "softmax-margin"}[method.kind]
    spec = importlib.util.spec_from_file_location("neural_parser", PARSER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.torch.set_num_threads(1)
    train, dev = data
    for epoch in module.train(train, dev, objective=objective, epochs=10**6, rate=setting["eta"], seed=SEED):
        yield Epoch(epoch.f1, epoch.seconds, epoch.decoding)
