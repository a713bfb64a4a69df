"""From padded tensors to the flat part scores of `widemargin.structures`, and back: what structures of parts share.

The rows of example b are the first `lengths[b]` of those that padding gives to each, so that nothing is copied but
scores of other types than float64. Outputs are padded with −1.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from widemargin._types import AnyArray, BoolMatrix, FloatMatrix, FloatVector
from widemargin.structures.parts import Counts, Scores
from widemargin.torch.decoding import Batch, Sums
from widemargin.torch.structure import Structure
from widemargin.torch.tensors import Arrays, Tensors

T = TypeVar("T")


class Flat(Structure):
    """A structure of `widemargin.structures` over the scores of tensors."""

    @abstractmethod
    def flat(self, batch: Batch) -> tuple[Any, Scores]:
        """The structure, and the scores of the batch as it takes them."""

    @abstractmethod
    def shaped(self, batch: Batch, counts: Counts) -> Arrays:
        """Expected counts in the shapes of the tensors, with a first dimension for examples where they are shared."""

    def shared(self, batch: Batch) -> tuple[bool, ...]:
        """Which of the tensors are shared by all examples; by default none."""
        return (False,) * len(batch.scores)

    def best(self, batch: Batch) -> AnyArray:
        """The best output of each example."""

        def decode(part: Batch) -> AnyArray:
            structure, scores = self.flat(part)
            return _padded(structure.best(scores), self.inside(structure, part))

        return np.concatenate(self._of_shares(batch, decode))

    def best_k(self, batch: Batch, k: int) -> tuple[AnyArray, FloatMatrix]:
        """The k best outputs of each example."""

        def decode(part: Batch) -> tuple[AnyArray, FloatMatrix]:
            structure, scores = self.flat(part)
            counts, found, outputs = structure.best_k(scores, k)
            present, totals = np.arange(k) < counts[:, None], np.full((len(counts), k), -np.inf)
            totals[present] = found
            inside = self.inside(structure, part)[:, None]
            present_parts = present.reshape(present.shape + (1,) * (inside.ndim - 2))
            return _padded(outputs, present_parts & inside), totals

        outputs, totals = zip(*self._of_shares(batch, decode), strict=True)
        return np.concatenate(outputs), np.concatenate(totals)

    def totals(self, batch: Batch, outputs: AnyArray) -> FloatVector:
        """The scores of these outputs."""
        structure, scores = self.flat(batch)
        totals: FloatVector = structure.total(scores, outputs[self.inside(structure, batch)])
        return totals

    def sums(self, batch: Batch) -> Sums:
        """Sums over all outputs."""

        def summed(part: Batch) -> tuple[FloatVector, Arrays]:
            structure, scores = self.flat(part)
            log_z, counts = structure.sums(scores)
            return log_z, self.shaped(part, counts)

        totals, expectations = zip(*self._of_shares(batch, summed), strict=True)
        return Sums(np.concatenate(totals), tuple(map(np.concatenate, zip(*expectations, strict=True))))

    def draws(self, batch: Batch, n: int, rng: np.random.Generator) -> AnyArray:
        """`n` outputs of each example, drawn at random."""
        structure, scores = self.flat(batch)
        if not hasattr(structure, "sample"):
            return super().draws(batch, n, rng)
        inside = self.inside(structure, batch)
        drawn = [_padded(each, inside) for each in structure.sample(scores, n, rng)]
        return np.stack(drawn, axis=1) if n else np.empty((len(inside), 0, *inside.shape[1:]), dtype=np.int32)

    def _of_shares(self, batch: Batch, call: Callable[[Batch], T]) -> list[T]:
        """What `call` returns for consecutive parts of the batch, on several threads where that is worth it."""
        shared, found = self.shared(batch), dict[int, T]()

        def one(each: slice) -> None:
            scores = (
                array if all_share else array[each] for array, all_share in zip(batch.scores, shared, strict=True)
            )
            found[each.start] = call(Batch(tuple(scores), batch.lengths[each]))

        self.in_shares(batch, one)
        return [found[start] for start in sorted(found)] or [call(batch)]

    def inside(self, structure: Any, batch: Batch) -> BoolMatrix:
        """Which entries of padded outputs are no padding."""
        longest = structure.lengths(np.array([self.longest(cast("Tensors", batch.scores))]))  # looks at shapes alone
        inside: BoolMatrix = np.arange(longest[0]) < structure.lengths(batch.lengths)[:, None]
        return inside


def _padded(outputs: AnyArray, inside: AnyArray) -> AnyArray:
    """Outputs laid end to end in rows of their own."""
    padded = np.full(inside.shape + outputs.shape[1:], -1, dtype=np.int32)
    padded[inside] = outputs
    return padded
