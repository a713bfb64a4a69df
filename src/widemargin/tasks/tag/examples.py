"""First-order chains: sequence labelling.

    ⟨w, φ(x, y)⟩ = begin[y_1] + Σ_t Σ_f x_tf W[f, y_t] + Σ_{t>1} (T[y_t-1, y_t] + Σ_g z_tg G[g, y_t-1, y_t]) + end[y_n]

x_t are the features of position t, z_t its optional features on the transition into it. The weights are one flat
vector that holds, in this order, W (features × labels), T (labels × labels), begin, end and G. The error of a sequence
is Σ_t costs[truth_t, y_t], by default the number of wrong labels; truth_t is the gold label, or what is known of it
(`tasks.tag.partial`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.contents import digests_of_parts, old_numbers, parts_of_rows
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.examples import Differences, Scale, at_positions, per_example, whole_costs
from widemargin.core.sparse import NO_ROWS, Rows, coalesce, new_table, sums
from widemargin.decoders.viterbi import reach_of, viterbi
from widemargin.errors import DataError
from widemargin.structures.support import distinct, runs
from widemargin.tasks.tag.positions import hull_sequences, violators
from widemargin.tasks.tag.scores import ChainData, new_scores, part_scores
from widemargin.tasks.tag.search import best_sequences, max_marginals, scores, worst_sequences
from widemargin.tasks.tag.weights import Chain, ChainWeights

if TYPE_CHECKING:
    from widemargin.tasks.tag.totals import ChainTotals


@kernel
def _decode(
    data: ChainData, weights: ChainWeights, batch: IntVector, starts: LongVector, scales: FloatVector, labels: IntVector
) -> None:
    emission, transition = new_scores(data, weights, batch)
    arrival, reach = np.empty_like(emission), reach_of(transition)
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], scales[position], emission, transition)
        if n > 0:
            out = labels[starts[position] : starts[position] + n]
            viterbi(emission[:n], transition[:n], reach, weights.begin, weights.end, arrival, out)


@kernel
def _push_features(
    features: Rows, t: int, width: int, offset: int, plus: int, minus: int, psi: Rows, write: int
) -> int:
    """Append x_t at the label `plus` and −x_t at the label `minus`; return where the entries end."""
    for k in range(features.indptr[t], features.indptr[t + 1]):
        value = features.values[k] if len(features.values) > 0 else 1.0
        row = offset + features.indices[k] * width
        psi.indices[write], psi.values[write] = row + plus, value
        psi.indices[write + 1], psi.values[write + 1] = row + minus, -value
        write += 2
    return write


@kernel
def _push(psi: Rows, write: int, offset: int, plus: int, minus: int) -> int:
    if plus == minus:
        return write
    psi.indices[write], psi.values[write] = offset + plus, 1.0
    psi.indices[write + 1], psi.values[write + 1] = offset + minus, -1.0
    return write + 2


@kernel
def _difference(
    data: ChainData, n_labels: int, n_features: int, batch: IntVector, starts: LongVector, labels: IntVector
) -> tuple[FloatVector, Rows]:
    errors = np.zeros(len(batch))
    room = most = at_emission = 0
    for position in range(len(batch)):
        first, shift = data.indptr[batch[position]], starts[position]
        size = 4
        for t in range(first, data.indptr[batch[position] + 1]):
            right = labels[shift + t - first] == data.gold[t]
            if not right:
                errors[position] += data.costs[data.truth[t], labels[shift + t - first]]
                size += 2 * (data.features.indptr[t + 1] - data.features.indptr[t]) + 4
            if len(data.transition_features.indptr) > 1:
                size += 2 * (data.transition_features.indptr[t + 1] - data.transition_features.indptr[t])
        room, most = room + size, max(most, size)

    table = new_table(most)
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    at_transition = n_features * n_labels
    at_begin = at_transition + n_labels * n_labels
    at_end = at_begin + n_labels
    end = psi.indptr[0]
    for position in range(len(batch)):
        first, last = data.indptr[batch[position]], data.indptr[batch[position] + 1]
        shift = starts[position] - first
        write = end
        for t in range(first, last):
            gold, label = data.gold[t], labels[shift + t]
            if gold != label:
                write = _push_features(data.features, t, n_labels, at_emission, gold, label, psi, write)
            if t == first:
                write = _push(psi, write, at_begin, gold, label)
            else:
                plus = data.gold[t - 1] * n_labels + gold
                minus = labels[shift + t - 1] * n_labels + label
                write = _push(psi, write, at_transition, plus, minus)
                if plus != minus and len(data.transition_features.indptr) > 1:
                    write = _push_features(
                        data.transition_features, t, n_labels * n_labels, at_end + n_labels, plus, minus, psi, write
                    )
            if t == last - 1:
                write = _push(psi, write, at_end, gold, label)
        end = coalesce(psi.indices, psi.values, end, write, end, table)
        psi.indptr[position + 1] = end
    return errors, Rows(psi.indptr, psi.indices[:end], psi.values[:end])


class ChainExamples:
    """Sequences with their gold labels (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    chain : the shape of the model
    indptr : (n + 1,) where each sequence begins among the positions
    features : the features of each position, a row per position
    gold : the gold label of each position; None when the sequences are only to be decoded
    costs : (L, L) error of predicting the column's label where the row's is right; None counts wrong labels. Rows from
        L on are for positions where only a set of labels is known.
    truth : the row of `costs` for each position; None for that of its gold label
    transition_features : the features on the transition into each position, a row per position
    """

    exact = True

    def __init__(
        self,
        chain: Chain,
        indptr: LongVector,
        features: Rows,
        gold: IntVector | None = None,
        *,
        costs: FloatMatrix | None = None,
        truth: IntVector | None = None,
        transition_features: Rows | None = None,
    ) -> None:
        if costs is None:
            costs = 1.0 - np.eye(chain.n_labels)
        gold = np.empty(0, dtype=np.int32) if gold is None else gold
        self.chain = chain
        self.data = ChainData(
            indptr, features, transition_features or NO_ROWS, gold, gold if truth is None else truth, costs
        )
        self.n_examples = len(indptr) - 1
        self.n_weights = chain.n_weights
        self.lengths = self.n_positions = np.diff(indptr)
        # Measured: a nanosecond for 6 label pairs and for 2 weights of features, ten to fetch a feature's weights.
        n_features = len(features.indices) / max(indptr[-1], 1)
        per_position = (chain.n_labels**2 / 6 + n_features * (10 + chain.n_labels / 2)) / 1000
        self.work = self.lengths * per_position
        self._check()

    def _check(self) -> None:
        """Raise unless every index is within bounds: kernels do not check."""
        chain, data, n_positions = self.chain, self.data, int(self.data.indptr[-1])
        expected = {"features": (data.features, chain.n_features)}
        if chain.n_transition_features:
            expected["transition_features"] = (data.transition_features, chain.n_transition_features)
        for name, (rows, width) in expected.items():
            if len(rows.indptr) != n_positions + 1 or rows.indptr[-1] != len(rows.indices):
                raise DataError(f"there are {n_positions} positions, but {len(rows.indptr) - 1} rows of {name}")
            if len(rows.indices) and not 0 <= rows.indices.min() <= rows.indices.max() < width:
                raise DataError(f"{name} has an index outside 0 … {width - 1}")
        gold = data.gold
        if len(gold) and not (len(gold) == n_positions and 0 <= gold.min() <= gold.max() < chain.n_labels):
            raise DataError(f"gold must hold {n_positions} label numbers from 0 to {chain.n_labels - 1}")
        n_rows = chain.n_labels if data.truth is gold else max(chain.n_labels, len(data.costs))
        if data.costs.shape != (n_rows, chain.n_labels) or np.diagonal(data.costs).any():
            raise DataError(f"costs must be {n_rows} × {chain.n_labels} with zeros for right labels")
        if data.truth is not gold:
            self._check_truth(n_rows)

    def _check_truth(self, rows: int) -> None:
        gold, truth = self.data.gold, self.data.truth
        if len(truth) != len(gold) or (len(truth) and not 0 <= truth.min() <= truth.max() < rows):
            raise DataError(f"truth must hold {len(gold)} rows of costs from 0 to {rows - 1}")
        if self.data.costs[truth, gold].any():
            raise DataError("a gold label has a cost where it is right")

    def decode(self, w: FloatVector | ChainWeights, batch: IntVector, *, error_scale: Scale = 0.0) -> IntVector:
        """The best label sequences of the batch, end to end."""
        return self._decoded(self.data, w, batch, error_scale)

    def decode_best(
        self, w: FloatVector | ChainWeights, batch: IntVector, k: int, *, error_scale: Scale = 0.0
    ) -> tuple[IntVector, IntVector]:
        """The batch with each example repeated per output, and the `k` best label sequences, best first, end to end."""
        weights = w if isinstance(w, ChainWeights) else self.chain.parts(w)
        counts, labels = best_sequences(self.data, weights, batch, k, per_example(error_scale, batch))
        return np.repeat(batch, counts), labels

    def max_marginals(self, w: FloatVector | ChainWeights, batch: IntVector) -> FloatMatrix:
        """For each position of the batch, a row of scores: the best sequence's with each label there."""
        weights = w if isinstance(w, ChainWeights) else self.chain.parts(w)
        starts = self._starts(batch)
        best = np.empty((starts[-1], self.chain.n_labels))
        max_marginals(self.data, weights, batch, starts, best)
        return best

    def scores(self, w: FloatVector | ChainWeights, batch: IntVector, outputs: IntVector) -> FloatVector:
        """⟨w, φ(x_i, y)⟩ of the batch's outputs, label sequences laid end to end."""
        weights = w if isinstance(w, ChainWeights) else self.chain.parts(w)
        totals = np.zeros(len(batch))
        scores(self.data, weights, batch, self._starts(batch), outputs, totals)
        return totals

    def decode_hull(self, w: FloatVector, batch: IntVector, most_decodes: int) -> tuple[IntVector, LongVector]:
        """The worst label sequences that decoding can find (`core.examples.HullSearch`)."""
        starts = self._starts(batch)
        labels = np.empty(starts[-1], dtype=np.int32)
        n_decodes = hull_sequences(self.data, self.chain.parts(w), batch, starts, most_decodes, labels)
        return labels, n_decodes

    def decode_slack(self, w: FloatVector, batch: IntVector) -> IntVector:
        """The worst label sequences under slack scaling (`core.examples.ErrorCounts`)."""
        costs, unit = whole_costs(self.data.costs)
        starts = self._starts(batch)
        labels = np.empty(starts[-1], dtype=np.int32)
        worst_sequences(self.data, self.chain.parts(w), costs, unit, batch, starts, labels)
        return labels

    def slack_bytes(self) -> FloatVector:
        """What `decode_slack` takes: two tables of the best score for each token, label and number of errors."""
        costs, _ = whole_costs(self.data.costs)
        most = sums(costs.max(axis=1)[self.data.truth], self.data.indptr)
        return 16.0 * self.lengths * self.chain.n_labels * (most + 1.0)

    def violators(self, w: FloatVector, batch: IntVector) -> Differences:
        """The worst label sequences that are wrong at each position (`core.examples.Positions`)."""
        errors, labels = violators(self.data, self.chain.parts(w), batch, self._starts(batch))
        wrong = np.repeat(batch, self.lengths[batch])[errors > 0]
        return at_positions(errors, self.difference(wrong, labels).psi)

    def violator_bytes(self) -> FloatVector:
        """What `violators` may take: a sequence for each position, and its ψ if it is wrong everywhere."""
        entries = 4.0 * (self.lengths + 1.0)
        for rows in (self.data.features, self.data.transition_features):
            if len(rows.indptr) > 1:
                entries += 2.0 * np.diff(rows.indptr[self.data.indptr])
        return self.lengths * (BYTES_PER_ENTRY * entries + 8.0 * self.lengths)

    def difference(self, batch: IntVector, outputs: IntVector) -> Differences:
        """Errors and feature differences of label sequences laid end to end."""
        chain = self.chain
        return Differences(
            *_difference(self.data, chain.n_labels, chain.n_features, batch, self._starts(batch), outputs)
        )

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log p of the gold labels and the expected feature differences (`core.examples.Marginals`)."""
        from widemargin.tasks.tag.marginals import expectation  # most taggers are trained without probabilities

        return Differences(*expectation(self.data, self.chain.parts(w), batch, error_scale))

    def totals(self, batches: Sequence[IntVector], error_scale: float) -> "ChainTotals | None":
        """Sums over all sequences (`core.examples.SummedMarginals`); not with features on transitions."""
        from widemargin.tasks.tag.totals import ChainTotals

        return None if self.chain.n_transition_features else ChainTotals(self.chain, self.data, batches, error_scale)

    def probabilities(self, w: FloatVector | ChainWeights, batch: IntVector) -> tuple[FloatMatrix, FloatVector]:
        """p(y_t = l) for each position of the batch, a row each, and log Z of each example."""
        from widemargin.tasks.tag.marginals import posteriors

        starts, log_z = self._starts(batch), np.empty(len(batch))
        rows = np.empty((starts[-1], self.chain.n_labels))
        posteriors(self.data, w if isinstance(w, ChainWeights) else self.chain.parts(w), batch, starts, rows, log_z)
        return rows, log_z

    def digests(
        self,
        labels: LongVector | None = None,
        features: LongVector | None = None,
        transition_features: LongVector | None = None,
    ) -> list[bytes]:
        """A digest of each example, with other numbers for labels and features (`tasks.warm`)."""
        data, places = self.data, self.data.indptr
        assert data.truth is data.gold  # costs of labels that are known in part would have to be told apart as well
        labels = np.arange(self.chain.n_labels) if labels is None else labels
        old = old_numbers(labels)
        parts = [(places, labels[data.gold]), *parts_of_rows(places, data.features, features)]
        if self.chain.n_transition_features:
            parts += parts_of_rows(places, data.transition_features, transition_features)
        return digests_of_parts([data.costs[np.ix_(old, old)], len(parts)], *parts)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those of all transitions."""
        chain, data = self.chain, self.data
        emission = distinct(data.features, data.indptr, batch)
        after_emission = chain.n_features * chain.n_labels
        after_end = after_emission + chain.n_labels * (chain.n_labels + 2)
        parts = [runs(emission, chain.n_labels, 0), np.array([[after_emission, after_end]])]
        if chain.n_transition_features:
            conditional = distinct(data.transition_features, data.indptr, batch)
            parts.append(runs(conditional, chain.n_labels**2, after_end))
        return np.concatenate(parts)

    def _decoded(
        self, data: ChainData, w: FloatVector | ChainWeights, batch: IntVector, error_scale: Scale
    ) -> IntVector:
        weights = w if isinstance(w, ChainWeights) else self.chain.parts(w)
        starts = self._starts(batch)
        labels = np.empty(starts[-1], dtype=np.int32)
        _decode(data, weights, batch, starts, per_example(error_scale, batch), labels)
        return labels

    def _starts(self, batch: IntVector) -> LongVector:
        starts = np.zeros(len(batch) + 1, dtype=np.int64)
        np.cumsum(self.lengths[batch], out=starts[1:])
        return starts
