"""What CRFsuite's log says of training, and when its rules end it; looked at after every iteration.

    lbfgs            ‖∇‖ / max(1, ‖w‖) ≤ epsilon, or (f_{k − period} − f_k) / f_k < delta
    l2sgd            (f_{k − period} − f_k) / f_k < delta
    ap, pa           f_k / instances < epsilon
    arow             f_k / instances ≤ epsilon

with f_k the loss that iteration k prints and ∇ the shortest subgradient.
"""

from collections.abc import Callable, Iterator, Mapping
from math import sqrt
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.dense import inner
from widemargin.core.problem import Problem
from widemargin.core.solution import relative_gap
from widemargin.core.solver import Solver
from widemargin.crfsuite.algorithms import Plan
from widemargin.crfsuite.instances import Chains
from widemargin.solvers.orthants import slope

Say = Callable[[str], None]

CONVERGED, STOPPED, EXHAUSTED = "convergence", "stopping criteria", "maximum number of iterations"
CRITERION = "stopping criterion"


class Report(NamedTuple):
    """The loss of an iteration, its lines in the log, and why it is the last, if it is."""

    loss: float
    lines: list[str]
    ends: str = ""


class Course:
    """Watches a run: writes the log, and applies the stop rules among the parameters `values`."""

    def __init__(
        self, algorithm: str, plan: Plan, values: Mapping[str, Any], say: Say, score: "HeldOut | None"
    ) -> None:
        self.algorithm, self.plan, self.values, self.say, self.score = algorithm, plan, values, say, score
        self.losses: list[float] = []
        self.loss_at_zero = np.inf
        self.ends = ""
        self.begin = perf_counter()

    def after(self, problem: Problem, solver: Solver, state: Any) -> None:
        """An iteration is over."""
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
        self.ends = report.ends

    def _lbfgs(self, problem: Problem, solver: Solver, state: Any, w: FloatVector) -> Report:
        scale, size = self.plan.scale, _norm(w)
        examples: Any = problem.examples
        self.loss_at_zero = float(examples.lengths.sum() * np.log(examples.shape.n_labels))  # all labels alike
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
        loss, epochs = self.plan.scale * (problem.primal_estimate(w) or 0.0), len(self.losses) + 1
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
        """Whether the loss has improved by less than delta over the last period; one may begin `at_start`, at w = 0."""
        period, delta, done = self.values["period"], self.values["delta"], len(self.losses) + 1
        if period < 1 or done - period < (0 if at_start else 1):
            return ""
        before = self.losses[done - period - 1] if done > period else self.loss_at_zero
        return STOPPED if (before - loss) / max(loss, 1e-300) < delta else ""


def _norm(w: FloatVector) -> float:
    """‖w‖."""
    return sqrt(inner(w, w))


class Watched:
    """A solver whose iterations a `Course` looks at; all else is the solver's."""

    def __init__(self, solver: Solver, course: Course) -> None:
        self.solver, self.course = solver, course

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def epoch(self, problem: Problem, state: Any, rng: np.random.Generator) -> None:
        """One iteration, then the course's look at it."""
        self.solver.epoch(problem, state, rng)
        self.course.after(problem, self.solver, state)

    def ended(self, problem: Problem, state: Any) -> str:
        """The rule of CRFsuite that ends training, or the solver's own reason."""
        return self.course.ends or self.solver.ended(problem, state)


class HeldOut:
    """Scores weights on the instances held out, as CRFsuite prints it."""

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
        wrong = np.add.reduceat(~right, self.examples.indptr[:-1]) if len(gold) else np.empty(0)
        perfect, lengths = int(((wrong == 0) & (self.examples.lengths > 0)).sum()), self.examples.lengths > 0
        total = int(lengths.sum())
        yield f"Instance accuracy: {perfect} / {total} ({perfect / max(total, 1):.4f})\n"
