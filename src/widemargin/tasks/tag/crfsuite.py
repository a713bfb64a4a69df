"""Chains as CRFsuite has them (Okazaki 2007): chosen weights only, and its model files.

CRFsuite trains chosen pairs of a feature and a label, and chosen pairs of labels: those that occur in the data. All
other weights are fixed at 0, as are those of begin and end. w holds the chosen weights only: first those of W, a row of
labels per feature (`states`), then those of T (`pairs`). Most features occur with one or two labels, so w is many times
shorter than with all pairs, and sums over it are as much faster.

Its files hold first-order chains over named features: its attributes are the features of a `RecordExtractor`. They have
no weights for first and last labels, and none that depend on features of a transition.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from widemargin._jit import kernel
from widemargin._threads import run
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.examples import Differences
from widemargin.core.sparse import Rows, boundaries, coalesce, new_table, with_values
from widemargin.errors import UnsupportedError
from widemargin.files.lcrf import ChainFile, Weights, read_lcrf
from widemargin.structures.flat import Counts, Parts
from widemargin.structures.part_rows import distinct
from widemargin.tasks.tag.features import ChainExamples, ChainFeatures, ChainShape, ChainWeights, SummedFeatures
from widemargin.tasks.tag.model import Tagger
from widemargin.tasks.token_examples import join_weights
from widemargin.text.records import RecordExtractor

NO_WEIGHTS = np.empty(0)


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectedChain(ChainShape):
    """The shape of a chain model with chosen weights.

    Parameters
    ----------
    states : the labels that each feature has weights for, ascending; the rows' values are ignored
    pairs : k · L + l for each chosen transition from k to l, ascending
    """

    states: Rows
    pairs: LongVector

    def __post_init__(self) -> None:
        ChainShape(
            self.n_labels, self.n_features
        )  # raises if all pairs cannot be indexed: `gather` numbers all of them before it selects

    @cached_property
    def numbers(self) -> IntVector:
        """The index in w of every transition, begin and end; −1 where it is not chosen."""
        numbers = np.full(self.n_labels * (self.n_labels + 2), -1, dtype=np.int32)
        numbers[self.pairs] = np.arange(len(self.states.indices), self.n_weights)
        return numbers

    @property
    def n_weights(self) -> int:
        """The number of chosen weights."""
        return len(self.states.indices) + len(self.pairs)

    def parts(self, w: FloatVector) -> ChainWeights:
        """`w` as named arrays; W is a view of it."""
        L, n_states = self.n_labels, len(self.states.indices)
        shared = np.zeros(L * (L + 2))
        shared[self.pairs] = w[n_states:]
        emission = self.states._replace(values=w[:n_states])
        return ChainWeights(np.empty((0, L)), shared, np.empty((0, L, L)), thin_emission=emission)

    def examples(self, indptr: LongVector, features: Rows, gold: IntVector) -> "SelectedChainExamples":
        """Sequences for this chain (`ChainExamples`)."""
        return SelectedChainExamples(self, indptr, features, gold)


@kernel
def _select(psi: Rows, n_labels: int, states: Rows, shared: IntVector) -> Rows:
    """The entries of chosen weights, renumbered; `shared` numbers transitions, begin and end, −1 where not chosen."""
    at_transition = (len(states.indptr) - 1) * n_labels
    out = Rows(np.zeros(len(psi.indptr), dtype=np.int64), np.empty_like(psi.indices), np.empty_like(psi.values))
    write = out.indptr[0]
    for row in range(len(psi.indptr) - 1):
        for k in range(psi.indptr[row], psi.indptr[row + 1]):
            index, place = psi.indices[k], -1
            if index >= at_transition:
                place = int(shared[index - at_transition])
            else:
                # Most features have one or two labels, so that no search is quicker than looking at all of them.
                feature, label = index // n_labels, index % n_labels
                for j in range(states.indptr[feature], states.indptr[feature + 1]):
                    if states.indices[j] == label:
                        place = j
            if place >= 0:
                out.indices[write], out.values[write] = place, psi.values[k]
                write += 1
        out.indptr[row + 1] = write
    return Rows(out.indptr, out.indices[:write], out.values[:write])


@kernel
def _gather_counts(
    indptr: LongVector,
    features: Rows,
    states: Rows,
    pairs: LongVector,
    n_labels: int,
    batch: IntVector,
    counts: Counts,
    room: int,
    most: int,
) -> Rows:
    """The feature vectors of `counts`, of chosen weights only: at most `room` entries, `most` for one sequence."""
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    table, end = new_table(most), psi.indptr[0]
    for position in range(len(batch)):
        first, begin, n = indptr[batch[position]], counts.starts[position], counts.sizes[position]
        # A feature that recurs in the sequence writes its weights again; coalesce merges these in place, so that the
        # next sequence starts right after the merged entries and `room` is never exceeded.
        write = end
        for t in range(n):
            labels = counts.own[begin + t * n_labels : begin + (t + 1) * n_labels]
            for k in range(features.indptr[first + t], features.indptr[first + t + 1]):
                value = features.values[k] if len(features.values) > 0 else 1.0
                feature = features.indices[k]
                for j in range(states.indptr[feature], states.indptr[feature + 1]):
                    psi.indices[write], psi.values[write] = j, value * labels[states.indices[j]]
                    write += 1
        for j in range(len(pairs) if n > 0 else 0):
            psi.indices[write] = len(states.indices) + j
            psi.values[write] = counts.shared[position, pairs[j]]
            write += 1
        end = coalesce(psi.indices, psi.values, end, write, end, table)
        psi.indptr[position + 1] = end
    return Rows(psi.indptr, psi.indices[:end], psi.values[:end])


class SelectedFeatures(ChainFeatures):
    """The features of sequences for chosen weights; without features on transitions."""

    shape: SelectedChain

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        shape = self.shape
        return _select(super().gather(batch, parts), shape.n_labels, shape.states, shape.numbers)

    def gather_counts(self, batch: IntVector, counts: Counts) -> Rows:
        """Feature vectors of coefficients for all parts."""
        shape, sizes = self.shape, self.most_chosen[batch]
        room = int(sizes.sum()), int(sizes.max(initial=0))
        return _gather_counts(self.indptr, self.rows, shape.states, shape.pairs, shape.n_labels, batch, counts, *room)

    @cached_property
    def most_chosen(self) -> LongVector:
        """Upper bounds on the entries of the feature vectors of each sequence."""
        ends = boundaries(np.diff(self.shape.states.indptr)[self.rows.indices])
        return np.diff(ends[self.rows.indptr[self.indptr]]) + len(self.shape.pairs)

    def summed(self, batches: Sequence[IntVector]) -> "SelectedSums":
        """Sums over all sequences."""
        return SelectedSums(self, batches)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those of all transitions."""
        ends, features = self.shape.states.indptr, distinct(self.rows, self.indptr, batch)
        runs = np.stack([ends[features], ends[features + 1]], axis=1)
        shared = np.array([[ends[-1], self.n_weights]], dtype=np.int64)
        return np.concatenate([runs[runs[:, 0] < runs[:, 1]], shared])


class SelectedChainExamples(ChainExamples):
    """Sequences with their gold labels for a `SelectedChain`.

    `seen` holds the error that `difference` last found for each sequence.
    """

    kind: ClassVar[type[ChainFeatures]] = SelectedFeatures

    def __init__(self, shape: SelectedChain, indptr: LongVector, features: Rows, gold: IntVector) -> None:
        super().__init__(shape, indptr, features, gold)
        self.seen = np.zeros(self.n_examples)

    def contents(self) -> Any:
        """Everything but `seen`, for digests (`core.contents`)."""
        return self.features, self.gold

    def difference(self, batch: IntVector, outputs: IntVector) -> Differences:
        """Errors and the chosen feature differences of label sequences laid end to end."""
        found = super().difference(batch, outputs)
        self.seen[batch] = found.errors
        return found


@kernel
def _sum(positions: Rows, residual: FloatMatrix, states: Rows, first: int, last: int, out: FloatVector) -> None:
    """out[j] = Σ_t x_tf residual[t, label] for the weight j of f and a label, over a range of features f."""
    for feature in range(first, last):
        begin, end = states.indptr[feature], states.indptr[feature + 1]
        for j in range(begin, end):
            out[j] = 0.0
        for k in range(positions.indptr[feature], positions.indptr[feature + 1]):
            row = residual[positions.indices[k]]
            value = positions.values[k] if len(positions.values) > 0 else 1.0
            for j in range(begin, end):
                out[j] += value * row[states.indices[j]]


class SelectedSums(SummedFeatures):
    """The sums over all sequences, for chosen weights only."""

    features: SelectedFeatures

    def total(self, n_threads: int) -> FloatVector:
        """The sum over all batches; every thread takes features with about the same number of occurrences."""
        shape, positions = self.features.shape, self.positions
        states, total = shape.states, np.empty(shape.n_weights)
        ends = np.searchsorted(positions.indptr, np.linspace(0, positions.indptr[-1], n_threads + 1))
        ends[0], ends[-1] = 0, shape.n_features
        run(
            [partial(_sum, positions, self.rows, states, first, last, total) for first, last in pairwise(ends.tolist())]
        )
        total[len(states.indices) :] = self.shared.sum(axis=0)[shape.pairs]
        return total


def observed_states(
    features: Rows, gold: IntVector, n_features: int, n_labels: int, *, least: float = 0.0, all_labels: bool = False
) -> Rows:
    """The labels of each feature with which its values add up to `least` or more.

    With `all_labels`, a label that the feature never occurs with counts as a sum of 0, if the feature occurs at all.
    """
    from scipy.sparse import csr_array

    values = with_values(features).values
    labels = np.repeat(gold, np.diff(features.indptr))
    if all_labels:
        seen = np.unique(features.indices)
        never = np.repeat(seen, n_labels), np.tile(np.arange(n_labels, dtype=np.int32), len(seen))
        places = np.concatenate([features.indices, never[0]]), np.concatenate([labels, never[1]])
        values = np.concatenate([values, np.zeros(len(never[0]))])
    else:
        places = features.indices, labels
    counts = csr_array((values, places), shape=(n_features, n_labels))  # sums duplicates
    kept = counts.data >= least
    indptr = np.concatenate([[0], np.cumsum(kept)])[counts.indptr].astype(np.int64)
    return Rows(indptr, counts.indices[kept].astype(np.int32), NO_WEIGHTS)


def observed_pairs(
    indptr: LongVector, gold: IntVector, n_labels: int, *, least: float = 0.0, all_pairs: bool = False
) -> LongVector:
    """The pairs k · L + l of neighbouring labels that occur `least` times; `all_pairs` admits counts of 0."""
    inside = np.ones(len(gold), dtype=np.bool_)
    inside[indptr[:-1][indptr[:-1] < len(gold)]] = False
    at = np.flatnonzero(inside)
    counts = np.bincount(gold[at - 1].astype(np.int64) * n_labels + gold[at], minlength=n_labels * n_labels)
    return np.flatnonzero((counts >= least) & (all_pairs | (counts > 0)))


SUMMARY: dict[str, Any] = {"trained_by": "CRFsuite", "objective": "likelihood", "parameters": {}}
"""Files do not record how they were trained; CRFsuite gives probabilities after any training."""


def read_tagger(source: "str | os.PathLike[str] | bytes") -> Tagger:
    """The tagger in a CRFsuite file, given by its path or its bytes."""
    name = "in memory" if isinstance(source, bytes) else os.fspath(source)
    return tagger_of(read_lcrf(source), name)


def tagger_of(file: ChainFile, name: str) -> Tagger:
    """The tagger in a CRFsuite file; `name` is for messages."""
    extractor = RecordExtractor.of_alphabet(file.alphabet(name), partial(list, file.attributes))
    n = len(file.labels)
    shared = join_weights(file.table(), np.zeros(n), np.zeros(n))
    weights = ChainWeights(np.empty((0, n)), shared, np.empty((0, n, n)), thin_emission=file.rows())
    return Tagger(list(file.labels), extractor, weights, summary={**SUMMARY})


def chain_file(tagger: Tagger) -> ChainFile:
    """The tagger as the contents of a CRFsuite file; raise if such a file cannot hold it."""
    weights = tagger.weights if len(tagger.weights.emission) == 0 else tagger.weights.thin()
    if not isinstance(tagger.extractor, RecordExtractor) or tagger.extractor.hash_bits is not None:
        raise UnsupportedError(
            "only taggers of ready-made features can be written as CRFsuite's files; "
            f"this one has {'templates' if tagger.templates else 'features without names'}"
        )
    for part, what in (("begin", "first labels"), ("end", "last labels"), ("conditional", "features on transitions")):
        if getattr(weights, part).any():
            raise UnsupportedError(f"the tagger has weights for {what}, which CRFsuite's files cannot hold")
    rows, (source, target) = weights.thin_emission, np.nonzero(weights.transition)
    states = Weights(
        np.repeat(np.arange(len(rows.indptr) - 1, dtype=np.int32), np.diff(rows.indptr)), rows.indices, rows.values
    )
    transitions = Weights(source.astype(np.int32), target.astype(np.int32), weights.transition[source, target])
    return ChainFile(tagger.code_names, tagger.extractor.names(), states, transitions)
