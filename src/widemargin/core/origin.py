"""The problem that cuts belong to: they bound the slacks of its examples, and may exceed those of others.

Cuts hold for every C and every penalty. The same examples compiled anew are recognised by their contents.
"""

import hashlib
from typing import Any

from widemargin.core.contents import listed_digest
from widemargin.core.problem import Problem
from widemargin.errors import WidemarginError

BLOCKS, EXAMPLES = "number of blocks", "digest of the examples"
CHANGED = "features, gold outputs or costs have changed"


def facts(problem: Problem) -> dict[str, Any]:
    """What cuts depend on, but for the contents of the examples."""
    return {
        BLOCKS: problem.n_blocks,
        "number of weights": problem.n_weights,
        "loss": problem.loss,
        "objective": repr(problem.objective),
        "digest of the sample weights": hashlib.blake2b(problem.example_weight.tobytes(), digest_size=8).hexdigest(),
    }


class Origin:
    """The problem that cuts were found for.

    Its examples are digested when cuts meet others, and not before: most never do. Pickles hold the digest alone.
    """

    def __init__(self, problem: Problem) -> None:
        self._facts = facts(problem)
        self._examples: Any = problem.examples
        self._digest: str | None = None

    @property
    def digest(self) -> str:
        """The digest of the examples."""
        if self._digest is None:
            self._digest = listed_digest(self._examples)
        return self._digest

    def check(self, problem: Problem) -> None:
        """Raise unless `problem` has the same blocks with the same cuts."""
        for (name, old), new in zip(self._facts.items(), facts(problem).values(), strict=True):
            if new != old:
                other = f"another problem: its {name} is {old}, not {new}"
                if name == BLOCKS:
                    other = f"{old} blocks, but there are {new} now"
                raise WidemarginError(f"the cuts to start from are of {other}")
        if problem.examples is not self._examples and self.digest != listed_digest(problem.examples):
            raise WidemarginError(f"the cuts to start from are of other examples: {CHANGED} since")

    def __getstate__(self) -> dict[str, Any]:
        """The digest instead of the examples."""
        return {"_facts": self._facts, "_examples": None, "_digest": self.digest}
