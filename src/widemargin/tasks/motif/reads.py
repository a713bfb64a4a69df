"""How sequences are read: letters, length, order of the background, strands."""

from collections.abc import Sequence
from typing import NamedTuple

from widemargin._types import BoolVector, LongVector
from widemargin.tasks.motif.examples import MotifExamples
from widemargin.tasks.motif.letters import code, complement_of, n_contexts


class Reads(NamedTuple):
    """All that is needed, beside weights, to look for a motif."""

    letters: str
    length: int
    order: int
    both_strands: bool

    @property
    def n_contexts(self) -> int:
        """The number of weights of the background."""
        return n_contexts(len(self.letters), self.order)

    @property
    def complement(self) -> LongVector | None:
        """The number of each letter's complement; None if only one strand is read."""
        return complement_of(self.letters) if self.both_strands else None

    def examples(self, texts: Sequence[str], positive: BoolVector | None = None) -> MotifExamples:
        """Sequences as examples."""
        coded = code(texts, self.letters, self.order)
        return MotifExamples(
            coded, self.length, len(self.letters), self.n_contexts, positive, complement=self.complement
        )
