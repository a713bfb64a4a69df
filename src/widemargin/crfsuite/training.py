"""Training as CRFsuite does it: the same weights, the same function, the same log, and the same rules that end it.

    lbfgs            ‖∇‖ / max(1, ‖w‖) ≤ epsilon, or (f_{k − period} − f_k) / f_k < delta
    l2sgd            (f_{k − period} − f_k) / f_k < delta
    ap, pa           f_k / instances < epsilon
    arow             f_k / instances ≤ epsilon

with f_k the loss that iteration k prints and ∇ the shortest subgradient. `LoggedRun` looks at them after each.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import sqrt
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector
from widemargin.core.loop import open_run
from widemargin.core.problem import Problem
from widemargin.core.products import inner
from widemargin.core.solution import relative_gap
from widemargin.core.solver import Solver
from widemargin.core.sparse import sums
from widemargin.crfsuite.algorithms import PARAMETERS, plan_of, scale_of
from widemargin.crfsuite.items import Chains, Instances
from widemargin.files.lcrf import ChainFile, Weights, write_lcrf
from widemargin.solvers.lbfgs import slope
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag.crfsuite import SelectedChain, observed_pairs, observed_states

Log = Callable[..., None]
"""Writes lines, each by itself, with a given `end`."""

CONVERGED, STOPPED, EXHAUSTED = "convergence", "stopping criteria", "maximum number of iterations"
CRITERION = "stopping criterion"


class IterationReport(NamedTuple):
    """The loss of an iteration, its lines in the log and, if it is the last, the reason."""

    loss: float
    lines: list[str]
    ends: str = ""


class LoggedRun:
    """Watches a run: writes the log, and applies the stop rules among the parameters `values`."""

    def __init__(self, algorithm: str, values: Mapping[str, Any], log: Log, score: "HeldOut | None") -> None:
        self.algorithm, self.values, self.log, self.score = algorithm, values, log, score
        self.scale = scale_of(values)
        self.losses: list[float] = []
        self.loss_at_zero = np.inf
        self.begin = perf_counter()

    def look(self, problem: Problem, solver: Solver, state: Any) -> str:
        """Log the iteration that is over; return the rule of CRFsuite that ends training, or ""."""
        w = solver.weights(state)
        report = {
            "lbfgs": self._lbfgs,
            "l2sgd": self._sgd,
            "averaged-perceptron": self._mistakes,
            "passive-aggressive": self._mistakes,
            "arow": self._mistakes,
        }.get(self.algorithm, self._other)(problem, solver, state, w)
        self.losses.append(report.loss)
        number, now = len(self.losses), perf_counter()
        seconds, epoch = f"{now - self.begin:.3f}", "Epoch" if self.algorithm == "l2sgd" else "Iteration"
        if number == 1 and self.algorithm == "l2sgd":
            self.log(f"Best learning rate (eta): {state.eta0:f}", f"Seconds required: {seconds}", "")
        self.log(f"***** {epoch} #{number} *****", f"Loss: {report.loss:f}", *report.lines)
        self.log(f"Seconds required for this iteration: {seconds}")
        if self.score is not None:
            self.log(*self.score.lines(w))
        self.log("")
        self.begin = perf_counter()
        return report.ends

    def _lbfgs(self, problem: Problem, solver: Solver, state: Any, w: FloatVector) -> IterationReport:
        scale, size = self.scale, _norm(w)
        examples: Any = problem.examples
        self.loss_at_zero = float(examples.lengths.sum() * np.log(examples.shape.n_labels))  # labels equally likely
        error = scale * _norm(slope(problem, w, state.gradient))
        loss = scale * state.value
        lines = [
            f"Feature norm: {size:f}",
            f"Error norm: {error:f}",
            f"Active features: {np.count_nonzero(w)}",
            f"Line search trials: {state.trials}",
            f"Line search step: {state.step:f}",
        ]
        ends = CONVERGED if error <= self.values["epsilon"] * max(1.0, size) else self._stall(loss, at_start=True)
        return IterationReport(loss, lines, ends or ("error code (-1001)" if state.stuck else ""))

    def _sgd(self, problem: Problem, solver: Solver, state: Any, w: FloatVector) -> IterationReport:
        loss, epochs = self.scale * (problem.primal_estimate(w) or 0.0), len(self.losses) + 1
        rate = state.eta0 / (1.0 + state.eta0 * epochs / problem.C) ** 0.75
        lines = [
            f"Feature L2-norm: {_norm(w):f}",
            f"Learning rate (eta): {rate:f}",
            f"Total number of feature updates: {state.t}",
        ]
        return IterationReport(loss, lines, self._stall(loss, at_start=False))

    def _mistakes(self, problem: Problem, solver: Solver, state: Any, w: FloatVector) -> IterationReport:
        examples: Any = problem.examples
        if self.algorithm == "averaged-perceptron":
            loss = float((examples.seen / np.maximum(examples.lengths, 1)).sum())
        else:
            loss = state.loss
        mean, epsilon = loss / max(problem.examples.n_examples, 1), self.values["epsilon"]
        over = mean < epsilon or (mean == epsilon and self.algorithm == "arow")
        size = _norm(state.w if self.algorithm == "passive-aggressive" else w)  # as CRFsuite prints it
        return IterationReport(loss, [f"Feature norm: {size:f}"], CRITERION if over else "")

    def _other(self, problem: Problem, solver: Solver, state: Any, w: FloatVector) -> IterationReport:
        primal = problem.primal_estimate(w)
        gap = relative_gap(primal, solver.dual(problem, state))
        lines = [f"Feature norm: {_norm(w):f}", f"Active features: {np.count_nonzero(w)}"]
        return IterationReport(primal or 0.0, lines + ([] if gap is None else [f"Gap: {gap:f}"]))

    def _stall(self, loss: float, *, at_start: bool) -> str:
        """The stop rule if the loss fell by less than delta over a period; `at_start` lets it begin at w = 0."""
        period, delta, done = self.values["period"], self.values["delta"], len(self.losses) + 1
        if period < 1 or done - period < (0 if at_start else 1):
            return ""
        before = self.losses[done - period - 1] if done > period else self.loss_at_zero
        return STOPPED if (before - loss) / max(loss, 1e-300) < delta else ""


def _norm(w: FloatVector) -> float:
    """‖w‖."""
    return sqrt(inner(w, w))


class HeldOut:
    """Scores of weights on held-out instances, in the format of CRFsuite."""

    def __init__(self, chain: SelectedChain, given: Chains, labels: list[str]) -> None:
        self.examples, self.labels = chain.examples(*given), labels
        self.everything = np.arange(self.examples.n_examples, dtype=np.int32)

    def lines(self, w: FloatVector) -> Iterator[str]:
        """Scores of each label, their averages, and accuracies."""
        gold, found = self.examples.gold, self.examples.decode(w, self.everything)
        n, right = len(self.labels), gold == found
        match, model, ref = (np.bincount(each, minlength=n) for each in (gold[right], found, gold))
        precision, recall = match / np.maximum(model, 1), match / np.maximum(ref, 1)
        f1 = 2.0 * precision * recall / np.maximum(precision + recall, 1e-300)
        yield "Performance by label (#match, #model, #ref) (precision, recall, F1):"
        for k, label in enumerate(self.labels):
            seen = model[k] or ref[k]
            ratios = f"{precision[k]:.4f}, {recall[k]:.4f}, {f1[k]:.4f}" if seen else "******, ******, ******"
            yield f"    {label}: ({match[k]}, {model[k]}, {ref[k]}) ({ratios})"
        means = ", ".join(f"{each.mean():f}" for each in (precision, recall, f1))
        yield f"Macro-average precision, recall, F1: ({means})"
        yield f"Item accuracy: {right.sum()} / {len(gold)} ({right.mean() if len(gold) else 0.0:.4f})"
        filled = self.examples.lengths > 0
        perfect, total = int((filled & (sums(~right, self.examples.indptr) == 0)).sum()), int(filled.sum())
        yield f"Instance accuracy: {perfect} / {total} ({perfect / max(total, 1):.4f})"


LITTLE = 3000.0  # µs of work in a pass below which a second thread costs more than it saves
MOST_AT_ONCE, FEWEST_BATCHES = 8, 8
"""Online algorithms decode at most 8 instances with one w, to make calls cheap, and at most an eighth of all."""
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


def train(
    instances: Instances, algorithm: str, values: Mapping[str, Any], path: str, holdout: int, say: Callable[[str], None]
) -> None:
    """Train on all groups but `holdout`, and write the model to `path` unless it is empty; `say` gets the log."""

    def log(*lines: str, end: str = "\n") -> None:
        for line in lines:
            say(line + end)

    plan = plan_of(algorithm, values)
    if path and not os.path.isdir(os.path.dirname(path) or "."):
        raise FileNotFoundError(f"there is no folder {os.path.dirname(path)!r} to write the model to")
    if holdout >= 0:
        log(f"Holdout group: {holdout + 1}", "")
    attributes, given, held = instances.parts(holdout)
    labels = list(instances.labels)
    chain = _generate(given, len(attributes), len(labels), values, log)
    score = None if held is None else HeldOut(chain, held, labels)
    log(*_announcement(algorithm, values, len(given.indptr) - 1))
    begin = perf_counter()
    w = _fit(chain, given, LoggedRun(algorithm, values, log, score), plan)
    log(f"Total seconds required for training: {perf_counter() - begin:.3f}", "")
    if path:
        _store(labels, attributes, chain, w, path, log)


def _generate(given: Chains, n_attributes: int, n_labels: int, values: Mapping[str, Any], log: Log) -> SelectedChain:
    """The shape of the chain: which features and transitions have weights."""
    begin = perf_counter()
    own = {name: value for name, value in values.items() if name.startswith("feature.")}
    log("Feature generation", "type: CRF1d", *_description(own))
    (indptr, features, gold), least = given, own["feature.minfreq"]
    all_labels, all_pairs = own["feature.possible_states"], own["feature.possible_transitions"]
    chain = SelectedChain(
        n_labels=n_labels,
        n_features=n_attributes,
        states=observed_states(features, gold, n_attributes, n_labels, least=least, all_labels=all_labels),
        pairs=observed_pairs(indptr, gold, n_labels, least=least, all_pairs=all_pairs),
    )
    log(*("." if percent % 10 else str(percent // 10) for percent in range(0, 101, 2)), end="")
    log("", f"Number of features: {chain.n_weights}", f"Seconds required: {perf_counter() - begin:.3f}", "")
    return chain


def _announcement(algorithm: str, values: Mapping[str, Any], n_instances: int) -> Iterator[str]:
    """The parameters of training as the log names them."""
    own = {name: value for name, value in values.items() if not name.startswith("feature.")}
    calibration = {name: own.pop(name) for name in [*own] if name.startswith("calibration.")}
    yield TITLES.get(algorithm, algorithm)
    if algorithm == "lbfgs":
        own = {name: own[name] for name in (*ORDER, *own) if name in own}
        own = {PRINTED.get(name, name): value for name, value in own.items()}
    yield from _description(own)
    yield ""
    if calibration:
        calibration["calibration.samples"] = min(int(calibration["calibration.samples"]), n_instances)
        yield "Calibrating the learning rate (eta)"
        yield from _description(calibration)


def _description(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        printed = f"{value:f}" if isinstance(value, float) else int(value) if isinstance(value, bool) else value
        yield f"{name}: {printed}"


def _fit(chain: SelectedChain, given: Chains, watched: LoggedRun, plan: Plan) -> FloatVector:
    """The trained weights; empty if the chain has none."""
    lbfgs, sgd, log = watched.algorithm == "lbfgs", watched.algorithm == "l2sgd", watched.log
    if not chain.n_weights:
        log(f"{'L-BFGS' if lbfgs else 'Training'} terminated with error code (-1020)")
        return np.empty(0)
    examples: Any = chain.examples(*given)
    n_threads = count_threads(-1) if examples.work.sum() > LITTLE else 1
    problem = replace(plan, n_threads=n_threads).problem(examples)
    chosen: Any = plan.solver
    if watched.algorithm in PARAMETERS and not lbfgs:
        chosen = replace(chosen, batch_size=min(MOST_AT_ONCE, max(1, examples.n_examples // FEWEST_BATCHES)))
    with open_run(problem, chosen, stop=plan.stop) as run:
        run.start()
        for state in run.epochs():
            run.reason = watched.look(problem, chosen, state)
        solution = run.solution()
    why = EXHAUSTED if solution.stopped == "epochs" else solution.stopped
    what = why if why == CONVERGED or why.startswith("error") else f"the {why}"
    if lbfgs:
        log(f"L-BFGS {'resulted in' if why == CONVERGED else 'terminated with'} {what}")
    elif sgd:
        log(f"SGD terminated with {what}", f"Loss: {watched.losses[-1]:f}")
    elif watched.algorithm not in PARAMETERS:
        log(f"{solution}")
    elif why != EXHAUSTED:
        log(f"Terminated with {what}", "")
    return solution.w


def _store(labels: list[str], attributes: list[str], chain: SelectedChain, w: FloatVector, path: str, log: Log) -> None:
    begin, n_states = perf_counter(), len(chain.states.indices)
    sources = np.repeat(np.arange(chain.n_features, dtype=np.int32), np.diff(chain.states.indptr))
    before, after = np.divmod(chain.pairs, chain.n_labels)
    file = ChainFile(
        labels,
        attributes,
        Weights(sources, chain.states.indices, w[:n_states]),
        Weights(before.astype(np.int32), after.astype(np.int32), w[n_states:]),
    )
    active = len(np.unique(sources[w[:n_states] != 0]))
    log(
        "Storing the model",
        f"Number of active features: {np.count_nonzero(w)} ({chain.n_weights})",
        f"Number of active attributes: {active} ({chain.n_features})",
        f"Number of active labels: {chain.n_labels} ({chain.n_labels})",
    )
    write_lcrf(path, file)
    references = "feature references for transitions", "feature references for attributes"
    log(*(f"Writing {what}" for what in ("labels", "attributes", *references)))
    log(f"Seconds required: {perf_counter() - begin:.3f}", "")
