"""The kind of part, and the kind of rounds, that a solver needs."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from widemargin.core.loop import check
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.parts.cocoa import Cocoa
from widemargin.parts.consensus import Consensus
from widemargin.parts.mixing import MixedPart, Mixing
from widemargin.parts.part import DualPart, Part

Rounds: TypeAlias = Literal["consensus", "cocoa"]
ROUNDS: dict[str, Callable[..., Solver]] = {"consensus": Consensus, "cocoa": Cocoa}


def part_of(problem: Problem, solver: Solver, number: int) -> Part:
    """Part `number` of a run of `solver`; `problem` holds the part's examples and the C of the whole run."""
    check(problem, solver)
    if solver.mixes:
        return MixedPart(problem, solver, number)
    return DualPart(problem, _local(solver), number)


def rounds_of(solver: Solver, local_epochs: int = 1, rounds: Rounds = "consensus") -> Solver:
    """A solver of the sum over parts, which run `solver`; `rounds` names the kind of rounds of a dual solver."""
    if rounds not in ROUNDS:
        raise WidemarginError(f"rounds must be one of {', '.join(ROUNDS)}, not {rounds!r}")
    if solver.mixes:
        return Mixing(local=repr(solver), epochs=local_epochs)
    return ROUNDS[rounds](local=repr(_local(solver)), epochs=local_epochs)


def _local(solver: Solver) -> Solver:
    own = solver.on_a_part()
    if own is None:
        raise UnsupportedError(
            f"{type(solver).__name__} needs all blocks at once, so it cannot work on several parts of the data; take a "
            "block-wise dual solver, such as auto, dcd, sdm or ocp, or one whose weights can be mixed, such as "
            "perceptron or adagrad"
        )
    return own
