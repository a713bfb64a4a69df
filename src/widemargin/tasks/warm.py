"""Warm starts: where a training run begins that continues the last one.

With the same examples, objective, loss and kind of solver, a dual solver goes on from its last cuts; α is scaled if C
has changed. If only some examples are the same, it goes on from their cuts. Otherwise training begins at the weights of
the last model, matched by the names of features and labels: new weights begin at zero, missing ones are dropped. Any
start is valid, so the certificate holds as it does for a cold start.

**Which cuts stay valid.** By its name, every label, feature and weight of the new examples gets the number that it had
before, or none; no two get the same number. An example is the same if its compiled arrays, in these numbers, have the
digest of an old example, and if the old labels and the costs among them still exist. Then each of its old outputs is
still an output, with the same Δ, and φ and the cut are the old ones with the weights renumbered. New labels only add
outputs. An example that gained or lost a feature, for instance through `min_count`, has another digest, and its cuts
are dropped. Names need not mean the same in both runs for any of this.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.core.checkpoint import fingerprint
from widemargin.core.contents import contents_digest
from widemargin.core.cut_store import Renumbering
from widemargin.core.examples import OnDisk
from widemargin.core.problem import Problem
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver, WarmStart
from widemargin.errors import WidemarginError

if TYPE_CHECKING:
    from widemargin.tasks.training import Warm


class Matched(NamedTuple):
    """The weights `w` of a model and, for each weight of new examples, its place in `w`; −1 if it is new.

    `numbers` holds such places of labels and features, for the `digests` of the examples.
    """

    w: FloatVector
    places: LongVector
    numbers: tuple[LongVector, ...]

    def weights(self) -> FloatVector:
        """The weights of the model in the layout of the new examples."""
        return np.append(self.w, 0.0)[self.places]


class Remembered(NamedTuple):
    """The origin of a run's cuts: the problem, each example's digest, number of blocks and weight, and C.

    `slacks` holds the slacks of all blocks at the final weights, if known; `model` is the model with these weights.
    """

    about: str
    digests: list[bytes]
    sizes: LongVector
    example_weight: FloatVector
    C: float
    slacks: FloatVector | None
    model: Any = None


def beginning(warm: "Warm", compiled: Any, problem: Problem, solver: Solver, digest: str | None) -> dict[str, Any]:
    """The start for `core.loop.fit`: the cuts of the same examples, the weights of the last model, or nothing."""
    if warm.model is None:
        return {}
    if warm.cuts is not None and digest is not None and digest == warm.digest:
        return {"cuts": warm.cuts}
    before, cuts = warm.remembered, None
    if before is not None and before.about == _about(problem, solver) and not isinstance(problem.examples, OnDisk):
        cuts = _kept_cuts(warm.cuts, before, compiled, problem)
    return {"w": weights_for(compiled, warm.model)} if cuts is None else {"cuts": cuts}


def remember(compiled: Any, problem: Problem, solver: Solver, solution: Solution) -> Remembered | None:
    """The facts that the next run needs to go on from this one's cuts; None if examples cannot be matched."""
    examples = compiled.examples
    if compiled.matched is None or solution.cuts is None or isinstance(examples, OnDisk):
        return None
    return Remembered(
        _about(problem, solver), examples.digests(), _sizes(problem), problem.example_weight, problem.C, solution.slacks
    )


def _kept_cuts(cuts: WarmStart, before: Remembered, compiled: Any, problem: Problem) -> WarmStart | None:
    """The cuts of examples that the last run had, too; None if there are no such examples."""
    matched = compiled.matched(before.model)
    free = defaultdict(list)
    for number, digest in reversed(list(enumerate(before.digests))):
        free[digest].append(number)
    found = [free[digest].pop() if free.get(digest) else -1 for digest in compiled.examples.digests(*matched.numbers)]
    old, sizes = np.array(found, dtype=np.int64), _sizes(problem)
    same = np.flatnonzero(old >= 0)
    same = same[sizes[same] == before.sizes[old[same]]]
    if not len(same):
        return None
    old_blocks, new_blocks = _blocks(before.sizes, old[same]), _blocks(sizes, same)
    blocks = np.full(before.sizes.sum(), -1)
    blocks[old_blocks] = new_blocks
    weights = np.full(len(matched.w), -1)
    known = np.flatnonzero(matched.places >= 0)
    weights[matched.places[known]] = known
    factors, seen = np.zeros(len(problem.c)), np.full(len(problem.c), np.nan)
    was = np.repeat(before.example_weight, before.sizes)[old_blocks]
    factors[new_blocks] = np.divide(problem.c[new_blocks], was, out=np.zeros(len(was)), where=was > 0)
    if before.slacks is not None and before.C == problem.C:
        seen[new_blocks] = np.where((problem.c[new_blocks] == was) & (was > 0), before.slacks[old_blocks], np.nan)
    return cuts.renumber(Renumbering(blocks, weights, problem.n_weights, factors, seen))


def _sizes(problem: Problem) -> LongVector:
    """The number of blocks of each example."""
    return np.bincount(problem.objective.blocks(problem.examples), minlength=problem.examples.n_examples)


def _blocks(sizes: LongVector, examples: LongVector) -> LongVector:
    """The numbers of the blocks of these examples."""
    counts = sizes[examples]
    first = (np.cumsum(sizes) - sizes)[examples] - (np.cumsum(counts) - counts)
    return np.repeat(first, counts) + np.arange(counts.sum())


def weights_for(compiled: Any, model: Any) -> FloatVector:
    """The weights of a trained model in the layout of the examples."""
    if compiled.matched is not None:
        weights: FloatVector = compiled.matched(model).weights()
        return weights
    if list(model.labels) != list(compiled.labels) or len(model.w) != compiled.examples.n_weights:
        raise WidemarginError(
            f"warm_start cannot go on from the last model: it has {len(model.labels)} labels and {len(model.w):,} "
            f"weights, but the new data need {len(compiled.labels)} and {compiled.examples.n_weights:,}, or they have "
            "others; fit a new estimator, or set warm_start=False"
        )
    return np.array(model.w, dtype=np.float64)


def moves(compiled: Any, model: Any, n_weights: int) -> LongVector | None:
    """The place of each weight of the examples in the training of `model`, −1 if new; None if no weight moves."""
    if compiled.matched is None:
        return None
    matched: Matched = compiled.matched(model)
    if len(matched.w) != n_weights:
        raise WidemarginError(f"the model has {len(matched.w):,} weights, but was trained with {n_weights:,}; fit anew")
    return None if np.array_equal(matched.places, np.arange(n_weights)) else matched.places


def places(new: Sequence[Any], old: Sequence[Any]) -> LongVector:
    """The place of each new name among the old ones; −1 if it is not there, or if an equal name has taken it.

    >>> places(["b", "c"], ["a", "b"]).tolist()
    [1, -1]
    """
    place = {name: k for k, name in enumerate(old)}
    return np.array([place.pop(name, -1) for name in new], dtype=np.int64)


def reorder_axes(numbers: AnyArray, *axes: LongVector) -> AnyArray:
    """The numbers with each axis in a new order, given by `places`; −1 for entries without a place.

    >>> reorder_axes(np.array([[1, 2], [3, 4]]), np.array([1, -1]), np.array([1, 0])).tolist()
    [[4, 3], [-1, -1]]
    """
    for axis, order in enumerate(axes):
        nothing = np.full([1 if k == axis else size for k, size in enumerate(numbers.shape)], -1)
        numbers = np.take(np.concatenate([numbers, nothing], axis=axis, dtype=numbers.dtype), order, axis=axis)
    return numbers


def digest_of(problem: Problem, solver: Solver) -> str | None:
    """A digest of everything that cuts depend on except C; None if the examples hold more than numbers and texts."""
    about = fingerprint(problem, solver) | {"C": None, "solver": type(solver).__name__}
    return contents_digest(repr(about), problem.examples)


def _about(problem: Problem, solver: Solver) -> str:
    """The solver, loss, penalty and objective, on which cuts and their α depend."""
    about = fingerprint(problem, solver)
    return repr([type(solver).__name__, *(about[name] for name in ("loss", "penalty", "objective"))])
