"""Training as CRFsuite does it: the same weights, the same function, the same log, and the same rules that end it.

    lbfgs            ‖∇‖ / max(1, ‖w‖) ≤ epsilon, or (f_{k − period} − f_k) / f_k < delta
    l2sgd            (f_{k − period} − f_k) / f_k < delta
    ap, pa           f_k / instances < epsilon
    arow             f_k / instances ≤ epsilon

with f_k the loss that iteration k prints and ∇ the shortest subgradient. `Course` looks at them after every iteration.
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
from widemargin.tasks.tag.crfsuite import observed_chain

Say = Callable[[str], None]

CONVERGED, STOPPED, EXHAUSTED = "convergence", "stopping criteria", "maximum number of iterations"
CRITERION = "stopping criterion"


class Report(NamedTuple):
    """The loss of an iteration, its lines in the log and, if it is the last, the reason."""

    loss: float
    lines: list[str]
    ends: str = ""


class Course:
    """Watches a run: writes the log, and applies the stop rules among the parameters `values`."""

    def __init__(self, algorithm: str, values: Mapping[str, Any], say: Say, score: "HeldOut | None") -> None:
        self.algorithm, self.values, self.say, self.score = algorithm, values, say, score
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
        if number == 1 and self.algorithm == "l2sgd":
            self.say(f"Best learning rate (eta): {state.eta0:f}\n")
            self.say(f"Seconds required: {now - self.begin:.3f}\n")
            self.say("\n")
        self.say(f"***** {'Epoch' if self.algorithm == 'l2sgd' else 'Iteration'} #{number} *****\n")
        for line in [f"Loss: {report.loss:f}\n", *report.lines]:
            self.say(line)
        self.say(f"Seconds required for this iteration: {now - self.begin:.3f}\n")
        if self.score is not None:
            for line in self.score.lines(w):
                self.say(line)
        self.say("\n")
        self.begin = perf_counter()
        return report.ends

    def _lbfgs(self, problem: Problem, solver: Solver, state: Any, w: FloatVector) -> Report:
        scale, size = self.scale, _norm(w)
        examples: Any = problem.examples
        self.loss_at_zero = float(examples.lengths.sum() * np.log(examples.shape.n_labels))  # labels equally likely
        error = scale * _norm(slope(problem, w, state.gradient))
        loss = scale * state.value
        lines = [
            f"Feature norm: {size:f}\n",
            f"Error norm: {error:f}\n",
            f"Active features: {np.count_nonzero(w)}\n",
            f"Line search trials: {state.trials}\n",
            f"Line search step: {state.step:f}\n",
        ]
        ends = CONVERGED if error <= self.values["epsilon"] * max(1.0, size) else self._stalled(loss, at_start=True)
        return Report(loss, lines, ends or ("error code (-1001)" if state.stuck else ""))

    def _sgd(self, problem: Problem, solver: Solver, state: Any, w: FloatVector) -> Report:
        loss, epochs = self.scale * (problem.primal_estimate(w) or 0.0), len(self.losses) + 1
        rate = state.eta0 / (1.0 + state.eta0 * epochs / problem.C) ** 0.75
        lines = [
            f"Feature L2-norm: {_norm(w):f}\n",
            f"Learning rate (eta): {rate:f}\n",
            f"Total number of feature updates: {state.t}\n",
        ]
        return Report(loss, lines, self._stalled(loss, at_start=False))

    def _mistakes(self, problem: Problem, solver: Solver, state: Any, w: FloatVector) -> Report:
        examples: Any = problem.examples
        if self.algorithm == "averaged-perceptron":
            loss = float((examples.seen / np.maximum(examples.lengths, 1)).sum())
        else:
            loss = state.loss
        mean, epsilon = loss / max(problem.examples.n_examples, 1), self.values["epsilon"]
        over = mean < epsilon or (mean == epsilon and self.algorithm == "arow")
        size = _norm(state.w if self.algorithm == "passive-aggressive" else w)  # as CRFsuite prints it
        return Report(loss, [f"Feature norm: {size:f}\n"], CRITERION if over else "")

    def _other(self, problem: Problem, solver: Solver, state: Any, w: FloatVector) -> Report:
        primal = problem.primal_estimate(w)
        gap = relative_gap(primal, solver.dual(problem, state))
        lines = [f"Feature norm: {_norm(w):f}\n", f"Active features: {np.count_nonzero(w)}\n"]
        return Report(primal or 0.0, lines + ([] if gap is None else [f"Gap: {gap:f}\n"]))

    def _stalled(self, loss: float, *, at_start: bool) -> str:
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

    def __init__(self, chain: Any, given: Chains, labels: list[str]) -> None:
        self.examples, self.labels = chain.examples(*given), labels
        self.everything = np.arange(self.examples.n_examples, dtype=np.int32)

    def lines(self, w: FloatVector) -> Iterator[str]:
        """Scores of each label, their averages, and accuracies."""
        gold, found = self.examples.gold, self.examples.decode(w, self.everything)
        n, right = len(self.labels), gold == found
        match, model, ref = (np.bincount(each, minlength=n) for each in (gold[right], found, gold))
        precision, recall = match / np.maximum(model, 1), match / np.maximum(ref, 1)
        f1 = 2.0 * precision * recall / np.maximum(precision + recall, 1e-300)
        yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
        for k, label in enumerate(self.labels):
            seen = model[k] or ref[k]
            ratios = f"{precision[k]:.4f}, {recall[k]:.4f}, {f1[k]:.4f}" if seen else "******, ******, ******"
            yield f"    {label}: ({match[k]}, {model[k]}, {ref[k]}) ({ratios})\n"
        means = ", ".join(f"{each.mean():f}" for each in (precision, recall, f1))
        yield f"Macro-average precision, recall, F1: ({means})\n"
        yield f"Item accuracy: {right.sum()} / {len(gold)} ({right.mean() if len(gold) else 0.0:.4f})\n"
        filled = self.examples.lengths > 0
        perfect, total = int((filled & (sums(~right, self.examples.indptr) == 0)).sum()), int(filled.sum())
        yield f"Instance accuracy: {perfect} / {total} ({perfect / max(total, 1):.4f})\n"


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


def train(instances: Instances, algorithm: str, values: Mapping[str, Any], path: str, holdout: int, say: Say) -> None:
    """Train on all groups but `holdout`, and write the model to `path` unless it is empty."""
    plan = plan_of(algorithm, values)
    if path and not os.path.isdir(os.path.dirname(path) or "."):
        raise FileNotFoundError(f"there is no folder {os.path.dirname(path)!r} to write the model to")
    if holdout >= 0:
        say(f"Holdout group: {holdout + 1}\n")
        say("\n")
    attributes, given, held = instances.parts(holdout)
    labels = list(instances.labels)
    chain = _generated(given, len(attributes), len(labels), values, say)
    score = None if held is None else HeldOut(chain, held, labels)
    for line in _announced(algorithm, values, len(given.indptr) - 1):
        say(line)
    begin = perf_counter()
    w = _trained(chain, given, Course(algorithm, values, say, score), plan)
    say(f"Total seconds required for training: {perf_counter() - begin:.3f}\n")
    say("\n")
    if path:
        _stored(labels, attributes, chain, w, path, say)


def _generated(given: Chains, n_attributes: int, n_labels: int, values: Mapping[str, Any], say: Say) -> Any:
    """The shape of the chain: which features and transitions have weights."""
    begin = perf_counter()
    say("Feature generation\n")
    say("type: CRF1d\n")
    for line in _described({name: values[name] for name in values if name.startswith("feature.")}):
        say(line)
    chain = observed_chain(
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
    """The trained weights; empty if the chain has none."""
    lbfgs, sgd = course.algorithm == "lbfgs", course.algorithm == "l2sgd"
    if not chain.n_weights:
        course.say(f"{'L-BFGS' if lbfgs else 'Training'} terminated with error code (-1020)\n")
        return np.empty(0)
    examples = chain.examples(*given)
    n_threads = count_threads(-1) if examples.work.sum() > LITTLE else 1
    problem = replace(plan, n_threads=n_threads).problem(examples)
    chosen: Any = plan.solver
    if course.algorithm in PARAMETERS and not lbfgs:
        chosen = replace(chosen, batch_size=min(MOST_AT_ONCE, max(1, examples.n_examples // FEWEST_BATCHES)))
    with open_run(problem, chosen, stop=plan.stop) as run:
        run.start()
        for state in run.epochs():
            run.reason = course.look(problem, chosen, state)
        solution = run.solution()
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


def _stored(labels: list[str], attributes: list[str], chain: Any, w: FloatVector, path: str, say: Say) -> None:
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
    say("Storing the model\n")
    say(f"Number of active features: {np.count_nonzero(w)} ({chain.n_weights})\n")
    say(f"Number of active attributes: {active} ({chain.n_features})\n")
    say(f"Number of active labels: {chain.n_labels} ({chain.n_labels})\n")
    write_lcrf(path, file)
    for what in ("labels", "attributes", "feature references for transitions", "feature references for attributes"):
        say(f"Writing {what}\n")
    say(f"Seconds required: {perf_counter() - begin:.3f}\n")
    say("\n")
