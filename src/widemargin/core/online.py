"""Training on data that come piece by piece: one epoch over each, with the solver's state carried from one to the next.

Only for solvers that learn from each example as it comes; others would lose the cuts of one piece at the next. Between
two pieces the state is *packed* (`Online`): models, model files and pickles hold it, so training continues from any of
them with the same bits. A vector with a number per weight keeps only the entries that differ from its usual value.

A later piece may bring more weights and renumber the old ones. Old weights keep the solver's numbers about them; new
ones begin as in a fresh state.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import AnyArray, FloatVector, IntVector, LongVector
from widemargin.core.checkpoint import check_generator
from widemargin.core.header import Place, flag, mapping, number, one_of, plain, record, text, whole
from widemargin.core.loop import check, epochs
from widemargin.core.oracle import Clock
from widemargin.core.packing import unpack
from widemargin.core.problem import Problem
from widemargin.core.solution import Epoch, Solution
from widemargin.core.solver import Solver
from widemargin.core.stored import Stored
from widemargin.errors import UnsupportedError, WidemarginError

FIELDS = {
    "solver": text(),
    "rng": record({"bit_generator": one_of("PCG64")}),
    "n_weights": whole(at_least=0),
    "examples": whole(at_least=0, at_most=2**62),
    "fixed": flag(),
    "values": mapping(plain()),
    "vectors": mapping(number(finite=False)),
}
"""The fields of `Online` in a header; `vectors` are the usual values."""
HERE = Place("the model", "online")
SAMPLE = 1000
"""How many entries of a vector are sampled for its usual value: sorting tens of millions would take seconds."""


class Thin(NamedTuple):
    """A vector that has the `usual` value everywhere except at the `indices`."""

    usual: float
    indices: IntVector
    values: FloatVector

    @classmethod
    def of(cls, vector: FloatVector) -> "Thin":
        """The vector in thin form; any usual value is correct, and the most frequent one saves the most room."""
        some = np.sort(vector[:: len(vector) // SAMPLE + 1])
        usual = float(some[len(some) // 2]) if len(some) else 0.0
        indices = np.flatnonzero(vector != usual).astype(np.int32)
        return cls(usual, indices, vector[indices])

    def whole(self, size: int) -> FloatVector:
        """The vector as it was."""
        vector = np.full(size, self.usual)
        vector[self.indices] = self.values
        return vector


@dataclass(frozen=True, eq=False)
class Online:
    """A solver between two pieces.

    `examples` is the size of the largest piece so far: the penalty is spread over that many examples. If `fixed`, later
    pieces bring no new labels. `values` and `vectors` are the fields of the solver's state.
    """

    solver: str
    rng: dict[str, Any]
    n_weights: int
    examples: int
    fixed: bool
    values: dict[str, Any]
    vectors: dict[str, Thin]
    place: Place = HERE

    @classmethod
    def of(
        cls, solver: Solver, state: Any, rng: np.random.Generator, n_weights: int, examples: int, *, fixed: bool = False
    ) -> "Online":
        """The solver with this state, whose weights are up to date."""
        values, vectors = dict[str, Any](), dict[str, Thin]()
        for each in fields(state):
            value = getattr(state, each.name)
            if isinstance(value, np.ndarray) and value.shape == (n_weights,) and value.dtype == np.float64:
                vectors[each.name] = Thin.of(value)
            elif value is None or isinstance(value, bool | int | float | str | np.generic):
                values[each.name] = value.item() if isinstance(value, np.generic) else value
            elif not each.metadata.get("derived"):
                raise UnsupportedError(f"{each.name} of {type(state).__name__} cannot be kept from piece to piece")
        return cls(repr(solver), dict(rng.bit_generator.state), n_weights, examples, fixed, values, vectors)

    @property
    def generator(self) -> np.random.Generator:
        """The random generator for the next piece."""
        rng = np.random.default_rng()
        rng.bit_generator.state = self.rng
        return rng

    def resume(self, solver: Solver, problem: Problem, places: LongVector | None) -> Any:
        """The state for the weights of `problem`; `places` holds the former place of each, −1 for new ones."""
        state = solver.start(problem)
        content, arrays = dict[str, Any](), dict[str, AnyArray]()
        for each in fields(state):
            name, fresh = each.name, getattr(state, each.name)
            if each.metadata.get("derived"):
                arrays[name] = fresh
            elif name in self.vectors:
                arrays[name] = self.vectors[name].whole(self.n_weights)
                if places is not None and isinstance(fresh, np.ndarray):
                    arrays[name] = np.where(places < 0, fresh, np.append(arrays[name], 0.0)[places])
            if name in arrays or name in self.values:
                content[name] = {"array": name} if name in arrays else {"value": self.values[name]}
            if type(fresh) is int and name in self.values:
                whole(at_least=0)(self.values[name], self.place.at(name))  # a number of steps
            if type(fresh) is float and name in self.values:
                content[name] = {"value": float(number(finite=False)(self.values[name], self.place.at(name)))}
        return unpack({"fields": content}, state, arrays, self.place)

    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """A JSON header and arrays."""
        header = {name: getattr(self, name) for name in FIELDS} | {
            "vectors": {name: each.usual for name, each in self.vectors.items()}
        }
        parts = ((name, part, getattr(each, part)) for name, each in self.vectors.items() for part in Thin._fields[1:])
        return header, {f"{name}.{part}": array for name, part, array in parts}

    @classmethod
    def restore(cls, stored: Stored, most: int) -> "Online":
        """The inverse of `describe`; there may be at most `most` weights."""
        header = stored.checked({**FIELDS, "n_weights": whole(at_least=0, at_most=most)})
        check_generator(header["rng"], stored.place.at("rng"))
        vectors = {}
        for name, usual in header["vectors"].items():
            indices = stored.indices(f"{name}.indices", np.int32, header["n_weights"])
            vectors[name] = Thin(usual, indices, stored.vector(f"{name}.values", np.float64, len(indices)))
        return cls(**{name: header[name] for name in FIELDS} | {"vectors": vectors}, place=stored.place)


def learn(
    problem: Problem,
    solver: Solver,
    rng: np.random.Generator,
    before: Online | None = None,
    *,
    w: FloatVector | None = None,
    places: LongVector | None = None,
    trace: Sequence[Epoch] = (),
    examples: int = 0,
    fixed: bool = False,
) -> tuple[Solution, Online]:
    """Make one epoch over the examples of `problem`; return the weights without a certificate, and the packed state.

    Parameters
    ----------
    problem, solver : the piece, and a solver that learns piece by piece
    rng : the random generator, that of `before` if there is one
    before : the solver after the last piece; None starts from `w`, or from zero
    places : the former place of each weight, -1 if it is new; None if none has moved
    trace : the epochs before
    examples, fixed : facts for the next piece (`Online`)
    """
    check(problem, solver)
    if not solver.online:
        raise UnsupportedError(
            f"{type(solver).__name__} needs all data at once; take one that learns piece by piece, such as "
            "perceptron, mira, sgd, pegasos or adagrad"
        )
    if before is None:
        state = solver.start(problem, w)
        if w is not None:
            solver.count_as_epoch(problem, state, examples)
    else:
        if places is None and before.n_weights != problem.n_weights:
            raise WidemarginError(f"the pieces before had other weights than these {problem.n_weights}")
        state = before.resume(solver, problem, places)
    last = trace[-1] if trace else Epoch(0, 0.0, 0, None, None, None, None, False)
    clock = Clock(problem.meter, last.seconds, last.oracle_calls)
    next(epochs(problem, solver, state, rng))
    w, calls, seconds = solver.weights(state).copy(), clock.calls, clock.seconds
    primal, epoch = problem.primal_estimate(w), len(trace) + 1
    row = Epoch(epoch, seconds, calls, primal, None, None, None, False)
    solution = Solution(w, (*trace, row), primal, None, None, False, "epochs", epoch, calls, seconds)
    return solution, Online.of(solver, state, rng, problem.n_weights, examples, fixed=fixed)
