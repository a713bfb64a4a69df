"""Training on several parts of the data at once, by consensus, CoCoA+ (Ma et al. 2015) or mixing; without a network.

Blocks are split into K parts. Part k holds its examples, cuts and α, and a copy of the common w. In a round it improves

    max over Δα   Σ b Δα − ⟨w, Δw_k⟩ − ½ σ′‖Δw_k‖² − (mass terms of its blocks),   Δw_k = Σ Δα a

and then w += Σ_k Δw_k. P and D are ½‖w‖² and sums over parts, so the certificate is as exact as that of one machine.

| file | holds |
| --- | --- |
| `messages` | messages between the driver and the parts, and the weights that they share |
| `part` | one part of a dual solver's run |
| `team` | the driver's side: the rounds of a run, lost parts, bytes moved |
| `cocoa`, `consensus`, `mixing` | the rounds, as solvers of the one training loop |
| `problem` | the sum over parts, which these solvers minimise |
"""

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
