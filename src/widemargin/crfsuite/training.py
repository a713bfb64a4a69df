"""Training as CRFsuite does it: the same weights, the same function, the same log."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any, cast

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector
from widemargin.core.loop import fit
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver
from widemargin.core.stop import Stop
from widemargin.crfsuite.algorithms import PARAMETERS, Plan, plan_of
from widemargin.crfsuite.course import EXHAUSTED, Course, HeldOut, Say, Watched
from widemargin.crfsuite.instances import Chains, Instances
from widemargin.files.lcrf import ChainFile, Weights, write_lcrf
from widemargin.tasks import kinds

LITTLE = 3000.0  # µs of work in a pass below which a second thread costs more than it saves
MOST_AT_ONCE, FEWEST_BATCHES = 8, 8
"""Instances that an online algorithm decodes at one w: as many as make calls cheap, but a small part of all."""
TITLES = {
    "lbfgs": "L-BFGS optimization",
    "l2sgd": "Stochastic Gradient Descent (SGD)",
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}
PRINTED = {"period": "stop", "max_linesearch": "linesearch.max_iterations"}
"""The names that the log of L-BFGS has for some of its parameters."""
ORDER = ("c1", "c2", "num_memories", "max_iterations")


def train(instances: Instances, algorithm: str, values: Mapping[str, Any], path: str, holdout: int, say: Say) -> None:
    """Train on all groups but `holdout`, and write the model to `path` unless it is empty."""
    plan = plan_of(algorithm, values)
    if path and not os.path.isdir(os.path.dirname(path) or "."):
        raise FileNotFoundError(f"there is no folder {os.path.dirname(path)!r} to write the model to")
    if holdout >= 0:
        say(f"Holdout group: {holdout + 1}\n")
        say("\n")
    given, held = instances.parts(holdout)
    labels = list(instances.labels)
    chain = _generated(given, len(instances.attributes), len(labels), values, say)
    score = None if held is None else HeldOut(chain, held, labels)
    for line in _announced(algorithm, values, len(given.indptr) - 1):
        say(line)
    begin = perf_counter()
    w = _trained(chain, given, Course(algorithm, plan, values, say, score), plan)
    say(f"Total seconds required for training: {perf_counter() - begin:.3f}\n")
    say("\n")
    if path:
        _stored(instances, chain, w, path, say)


def _generated(given: Chains, n_attributes: int, n_labels: int, values: Mapping[str, Any], say: Say) -> Any:
    """Choose the weights: the shape of the chain (`Kind.observed`)."""
    begin = perf_counter()
    say("Feature generation\n")
    say("type: CRF1d\n")
    for line in _described({name: values[name] for name in values if name.startswith("feature.")}):
        say(line)
    observed = dict(kinds())["chain"].load("observed")
    chain = observed(
        *given,
        n_features=n_attributes,
        n_labels=n_labels,
        least=values["feature.minfreq"],
        all_labels=values["feature.possible_states"],
        all_pairs=values["feature.possible_transitions"],
    )
    for percent in range(0, 101, 2):
        say("." if percent % 10 else str(percent // 10))
    say("\n")
    say(f"Number of features: {chain.n_weights}\n")
    say(f"Seconds required: {perf_counter() - begin:.3f}\n")
    say("\n")
    return chain


def _announced(algorithm: str, values: Mapping[str, Any], n_instances: int) -> Iterator[str]:
    """The parameters of training as the log names them."""
    own = {name: value for name, value in values.items() if not name.startswith("feature.")}
    calibration = {name: own.pop(name) for name in [*own] if name.startswith("calibration.")}
    yield TITLES.get(algorithm, algorithm) + "\n"
    if algorithm == "lbfgs":
        own = {name: own[name] for name in (*ORDER, *own) if name in own}
        own = {PRINTED.get(name, name): value for name, value in own.items()}
    yield from _described(own)
    yield "\n"
    if calibration:
        calibration["calibration.samples"] = min(int(calibration["calibration.samples"]), n_instances)
        yield "Calibrating the learning rate (eta)\n"
        yield from _described(calibration)


def _described(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        printed = f"{value:f}" if isinstance(value, float) else int(value) if isinstance(value, bool) else value
        yield f"{name}: {printed}\n"


def _trained(chain: Any, given: Chains, course: Course, plan: Plan) -> FloatVector:
    """The weights; none if there are none to find."""
    lbfgs, sgd = course.algorithm == "lbfgs", course.algorithm == "l2sgd"
    if not chain.n_weights:
        course.say(f"{'L-BFGS' if lbfgs else 'Training'} terminated with error code (-1020)\n")
        return np.empty(0)
    examples = chain.examples(*given)
    n_threads = count_threads(-1) if examples.work.sum() > LITTLE else 1
    problem = Problem(examples, **plan.problem, n_threads=n_threads)
    chosen: Any = plan.solver
    if course.algorithm in PARAMETERS and not lbfgs:
        chosen = replace(chosen, batch_size=min(MOST_AT_ONCE, max(1, examples.n_examples // FEWEST_BATCHES)))
    solver = cast("Solver", Watched(chosen, course))
    # A run without any other rule ends by those of the course, or by precision.
    stop = Stop(epochs=plan.max_iterations, gap=plan.gap, seconds=None if plan.max_iterations is not None else 1e9)
    solution = fit(problem, solver, stop=stop)
    why = EXHAUSTED if solution.stopped == "epochs" else solution.stopped
    if lbfgs:
        course.say(f"L-BFGS {'resulted in' if why == 'convergence' else 'terminated with'} {_with_article(why)}\n")
    elif sgd:
        course.say(f"SGD terminated with {_with_article(why)}\n")
        course.say(f"Loss: {course.losses[-1]:f}\n")
    elif course.algorithm not in PARAMETERS:
        course.say(f"{solution}\n")
    elif why != EXHAUSTED:
        course.say(f"Terminated with {_with_article(why)}\n")
        course.say("\n")
    return solution.w


def _with_article(why: str) -> str:
    return why if why == "convergence" or why.startswith("error") else f"the {why}"


def _stored(instances: Instances, chain: Any, w: FloatVector, path: str, say: Say) -> None:
    begin, n_states = perf_counter(), len(chain.states.indices)
    sources = np.repeat(np.arange(chain.n_features, dtype=np.int32), np.diff(chain.states.indptr))
    before, after = np.divmod(chain.pairs, chain.n_labels)
    file = ChainFile(
        list(instances.labels),
        list(instances.attributes),
        Weights(sources, chain.states.indices, w[:n_states]),
        Weights(before.astype(np.int32), after.astype(np.int32), w[n_states:]),
    )
    active = len(np.unique(sources[w[:n_states] != 0]))
    say("Storing the model\n")
    say(f"Number of active features: {np.count_nonzero(w)} ({chain.n_weights})\n")
    say(f"Number of active attributes: {active} ({chain.n_features})\n")
    say(f"Number of active labels: {chain.n_labels} ({chain.n_labels})\n")
    write_lcrf(path, file)
    for what in ("labels", "attributes", "feature references for transitions", "feature references for attributes"):
        say(f"Writing {what}\n")
    say(f"Seconds required: {perf_counter() - begin:.3f}\n")
    say("\n")
