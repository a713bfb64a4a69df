"""Dependency trees: every token has a head, another token or the artificial root, and the arc to it has a label.

    ⟨w, φ(x, y)⟩ = Σ over arcs (h, m, l) of arc(h, m) + label(h, m, l)   [+ sibling(h, s, m)  [+ grandparent(g, h, m)]]

Features are hashed into one table of 2^bits weights (`keys`); with labels they have a weight per label, side by side.
Trees are projective or not, with one root or several. The error counts wrong arcs: those with the wrong head, and those
with the right head and the wrong label, each times its cost.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from widemargin._types import BoolVector, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.examples import Differences, Scale, at_positions, per_example
from widemargin.core.limits import check_memory, check_time
from widemargin.core.sparse import sums
from widemargin.errors import DataError, WidemarginError
from widemargin.tasks.parse.best import KINDS, best_trees
from widemargin.tasks.parse.crossing import crossing
from widemargin.tasks.parse.decode import DECODERS, WITH_GRANDPARENTS, Decoder, Order, Scores
from widemargin.tasks.parse.difference import difference
from widemargin.tasks.parse.keys import ARC, BETWEEN, GRANDPARENT, LABEL, LABEL_MODIFIER, SIBLING, STEPS, TreeKeys
from widemargin.tasks.parse.positions import every_sentence, worst_trees
from widemargin.tasks.parse.reads import reads
from widemargin.tasks.parse.scores import TreeData, part_scores

NANOSECONDS_PROJECTIVE = 0.45
"""Measured: times the cube of the length."""

NANOSECONDS_GRANDSIBLINGS = 0.4
"""Measured: times the fourth power of the length."""

MOST_SCORES = 1 << 20
"""How many part scores are held at a time, unless a single sentence has more."""


@dataclass(frozen=True, slots=True)
class Trees:
    """The kind of trees, and the layout of the weights.

    Parameters
    ----------
    n_labels : how many labels arcs have
    hash_bits : features share 2^hash_bits weights
    decoder : ``"projective"`` or ``"nonprojective"``
    order : 1; 2 for scores of pairs of siblings; or ``"grandsiblings"`` for those of grandparents as well
    single_root : whether exactly one token is attached to the root
    """

    n_labels: int
    hash_bits: int
    decoder: str = "projective"
    order: Order = 1
    single_root: bool = True

    def __post_init__(self) -> None:
        if (self.decoder, self.order) not in DECODERS:
            known = ", ".join(f"{name} of order {order}" for name, order in DECODERS)
            raise WidemarginError(f"there is no {self.decoder} decoder of order {self.order}; there are {known}")

    @property
    def siblings(self) -> bool:
        """Whether pairs of siblings are scored."""
        return self.order != 1

    @property
    def grandparents(self) -> bool:
        """Whether grandparents are scored."""
        return self.order == WITH_GRANDPARENTS

    @property
    def n_weights(self) -> int:
        """The length of the weight vector: the table, and room for the last slot's neighbours."""
        return (1 << self.hash_bits) + max(self.n_labels, len(STEPS) + 1)

    @property
    def decode(self) -> Decoder:
        """The kernel that decodes."""
        return DECODERS[self.decoder, self.order]

    def check_lengths(self, lengths: LongVector, source: str) -> None:
        """Raise if a sentence is too long to be parsed."""
        place, size = f"{source}, sentence", (lengths + 1).astype(np.float64)
        if self.decoder == "projective" and self.order == 1:
            check_time(
                NANOSECONDS_PROJECTIVE * 1e-9 * size**3,
                "projective parsing, whose time grows with the cube of the length",
                "Split the sentence, or train a model with the decoder nonprojective, whose time grows with the square",
                place,
            )
        if self.grandparents:
            check_time(
                NANOSECONDS_GRANDSIBLINGS * 1e-9 * size**4,
                "parsing with grandparents, whose time grows with the fourth power of the length",
                "Split the sentence, or train a model of order 2",
                place,
            )
        # Scores and labels of arcs and three tables for decoding; the scores of siblings; those of grandparents and
        # three tables for decoding.
        triples = 0.0 if not self.siblings else (5.0 if self.grandparents else 1.0)
        needed = 36.0 * size**2 + 8.0 * triples * size**3
        power = "cube" if self.siblings else "square"
        advice = "Split the sentence" + (", or train a model of order 1" if self.siblings else "")
        check_memory(needed, f"parsing, whose memory grows with the {power} of the length", advice, place)


class TreeExamples:
    """Sentences with their gold trees (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    trees : the kind of trees
    indptr : (n + 1,) where each sentence begins among the tokens
    keys : of the features of arcs
    heads, labels : of the gold arcs; a head is 0 for the root, else the number of a token in its sentence, from 1
    head_cost, label_cost : of a wrong head, and of a wrong label at the right head, which may not cost more
    source : where the sentences come from, for error messages
    """

    exact = True

    def __init__(
        self,
        trees: Trees,
        indptr: LongVector,
        keys: TreeKeys,
        heads: IntVector | None = None,
        labels: IntVector | None = None,
        *,
        head_cost: float = 1.0,
        label_cost: float = 1.0,
        source: str = "input",
    ) -> None:
        if not 0.0 <= label_cost <= head_cost or head_cost == 0.0:
            raise WidemarginError(
                f"a wrong label costs {label_cost:g} and a wrong head {head_cost:g}; both must be at least 0, and the "
                "wrong head must cost something, and not less than the label"
            )
        trees.check_lengths(np.diff(indptr), source)
        none = np.empty(0, dtype=np.int32)
        self.trees = trees
        self.data = TreeData(
            indptr,
            keys,
            (1 << trees.hash_bits) - 1,
            trees.n_labels,
            none if heads is None else heads,
            none if labels is None else labels,
            np.array([head_cost, label_cost], dtype=np.float64),
        )
        self.n_examples = len(indptr) - 1
        self.n_weights = trees.n_weights
        self.lengths = self.n_positions = np.diff(indptr)
        # Measured: about half a microsecond an arc, 20 nanoseconds a pair of siblings, and 30 a chain of two arcs.
        self.work = 0.5 * self.lengths * (self.lengths + 1.0)
        if trees.siblings:
            self.work += 0.02 * self.lengths**3
        if trees.grandparents:
            self.work += 0.03 * self.lengths**3 + 1e-3 * NANOSECONDS_GRANDSIBLINGS * self.lengths**4.0
        self._check()

    def _check(self) -> None:
        """Raise unless every index is within bounds: kernels do not check."""
        data, n_tokens = self.data, int(self.data.indptr[-1])
        for role in ("head", "modifier", "other"):
            rows = len(getattr(data.keys, role))
            if rows != n_tokens + 1:
                raise DataError(f"{n_tokens} tokens and the root need a row of keys each; there are {rows} as {role}")
        if len(data.heads):
            sizes = np.repeat(self.lengths, self.lengths)
            if len(data.heads) != n_tokens or np.any((data.heads < 0) | (data.heads > sizes)):
                raise DataError("heads must be token numbers in their sentences, or 0, for each token")
            if len(data.labels) != n_tokens or np.any((data.labels < 0) | (data.labels >= data.n_labels)):
                raise DataError(f"labels must be numbers from 0 to {data.n_labels - 1} for each token")

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> IntVector:
        """The best trees of the batch, end to end: for each token head · n_labels + label."""
        trees, n_labels = self.trees, self.trees.n_labels
        parts = []
        scales = per_example(error_scale, batch)
        for chunk in self._chunks(batch):
            sizes, starts = self.lengths[batch[chunk]], self._starts(batch[chunk])
            scores = self._scores(w, batch[chunk], scales[chunk])
            heads = np.empty(starts[-1], dtype=np.int32)
            trees.decode(scores, every_sentence(sizes, starts), trees.single_root, heads, np.empty(len(sizes)))
            modifiers = np.arange(len(heads)) - np.repeat(starts[:-1], sizes) + 1
            arcs = np.repeat(scores.at_arc, sizes) + heads * (np.repeat(sizes, sizes) + 1) + modifiers
            parts.append(heads * np.int32(n_labels) + scores.labels[arcs])
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)

    def decode_best(
        self, w: FloatVector, batch: IntVector, k: int, *, error_scale: Scale = 0.0
    ) -> tuple[IntVector, IntVector]:
        """The batch with each example repeated per output, and the `k` best trees, best first, end to end."""
        trees, scales = self.trees, per_example(error_scale, batch)
        counts, codes = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
        for chunk in self._chunks(batch):
            scores = self._room(batch[chunk])
            kind = KINDS[trees.decoder, trees.order]
            found = best_trees(self.data, w, batch[chunk], scales[chunk], scores, kind, trees.single_root, k)
            counts.append(found[0])
            codes.append(found[1])
        return np.repeat(batch, np.concatenate(counts)), np.concatenate(codes)

    def arc_scores(self, w: FloatVector, i: int) -> Scores:
        """The part scores of one sentence."""
        return self._scores(w, np.array([i], dtype=np.int32), np.zeros(1))

    def unreachable(self) -> dict[str, BoolVector]:
        """The gold trees that decoding cannot return (`core.examples.Unreachable`)."""
        data, trees = self.data, self.trees
        if not len(data.heads):
            return {}
        reasons = {}
        if trees.decoder == "projective":
            reasons["crossing arcs"] = crossing(data.indptr, data.heads)
        if trees.single_root:
            reasons["more than one root"] = sums(data.heads == 0, data.indptr) > 1
        return reasons

    def violator_bytes(self) -> FloatVector:
        """What `violators` may take: two trees for each token, and ψ if all heads are wrong and half as far off."""
        data = self.data
        tokens = np.arange(1, len(data.heads) + 1) - np.repeat(data.indptr[:-1], self.lengths)
        apart = sums(np.abs(data.heads - tokens), data.indptr) + 0.5 * self.lengths**2
        groups = np.diff(data.keys.edges)
        of_tokens = (
            4.0 * (groups[ARC] + groups[SIBLING] + groups[GRANDPARENT]) + 2.0 * groups[LABEL : LABEL_MODIFIER + 1].sum()
        )
        entries = self.lengths * of_tokens + 2.0 * groups[BETWEEN] * apart
        return self.lengths * (BYTES_PER_ENTRY * entries + 8.0 * self.lengths)

    def violators(self, w: FloatVector, batch: IntVector) -> Differences:
        """The worst trees that are wrong at each token (`core.examples.Positions`)."""
        errors, codes = [np.empty(0)], [np.empty(0, dtype=np.int32)]
        for chunk in self._chunks(batch):
            part = batch[chunk]
            scores = self._scores(w, part, np.zeros(len(part)))
            found = worst_trees(
                self.data, w, part, self._starts(part), scores, self.trees.decode, self.trees.single_root
            )
            errors.append(found[0])
            codes.append(found[1])
        all_errors = np.concatenate(errors)
        wrong = np.repeat(batch, self.lengths[batch])[all_errors > 0]
        return at_positions(all_errors, self.difference(wrong, np.concatenate(codes)).psi)

    def difference(self, batch: IntVector, outputs: IntVector) -> Differences:
        """Errors and feature differences of trees laid end to end."""
        return Differences(*difference(self.data, batch, self._starts(batch), outputs))

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of all arcs of the batch."""
        return reads(self.data, batch, self.n_weights)

    def _scores(self, w: FloatVector, batch: IntVector, scales: FloatVector) -> Scores:
        """The part scores of a batch."""
        scores = self._room(batch)
        part_scores(self.data, w, batch, scales, scores)
        return scores

    def _room(self, batch: IntVector) -> Scores:
        """Room for the part scores of a batch."""
        sizes = self.lengths[batch]
        arcs = (sizes + 1) ** 2
        triples = arcs * (sizes + 1) if self.trees.siblings else np.zeros_like(arcs)
        return Scores(
            sizes,
            np.cumsum(arcs) - arcs,
            np.cumsum(triples) - triples,
            np.empty(arcs.sum()),
            np.empty(arcs.sum(), dtype=np.int32),
            np.empty(triples.sum()),
            np.empty(triples.sum() if self.trees.grandparents else 0),
        )

    def _chunks(self, batch: IntVector) -> Iterator[slice]:
        """Pieces of the batch that have few enough part scores to hold."""
        done = np.cumsum((self.lengths[batch] + 1.0) ** (3 if self.trees.siblings else 2))
        if len(batch) and done[-1] <= MOST_SCORES:
            # The usual batch while training, where the rest of this takes as long as a short sentence.
            yield slice(0, len(batch))
            return
        numbers = done // MOST_SCORES
        edges = np.flatnonzero(np.diff(numbers, prepend=-1, append=np.inf))
        for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            yield slice(begin, end)

    def _starts(self, batch: IntVector) -> LongVector:
        starts = np.zeros(len(batch) + 1, dtype=np.int64)
        np.cumsum(self.lengths[batch], out=starts[1:])
        return starts
