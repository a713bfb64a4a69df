"""First-order chains: sequence labelling.

    ⟨w, φ(x, y)⟩ = begin[y_1] + Σ_t Σ_f x_tf W[f, y_t] + Σ_{t>1} (T[y_t-1, y_t] + Σ_g z_tg G[g, y_t-1, y_t]) + end[y_n]

x_t are the features of position t, z_t its optional features on the transition into it. The weights are one flat
vector that holds, in this order, W (features × labels), T (labels × labels), begin, end and G. The error of a sequence
is Σ_t cost[gold_t, y_t], by default the number of wrong labels.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.decoders.viterbi import viterbi
from widemargin.errors import DataError
from widemargin.sparse import Rows, coalesce, new_table
from widemargin.structures.base import Differences
from widemargin.structures.chain_weights import NO_ROWS, Chain, ChainWeights


class ChainData(NamedTuple):
    """Sequences laid end to end: features per position, optional features on transitions, gold labels, error costs."""

    indptr: LongVector
    features: Rows
    transition_features: Rows
    gold: IntVector
    costs: FloatMatrix


@kernel
def _add_features(features: Rows, t: int, weights: FloatMatrix, out: FloatVector) -> None:
    """out += Σ_f x_tf weights[f], over rows of any one length."""
    indices, values = features.indices, features.values
    n = len(out)
    k, end = features.indptr[t], features.indptr[t + 1]
    if len(values) == 0:
        # Four rows at a time: they come from memory side by side, and `out` is loaded and stored a quarter as often.
        while k + 4 <= end:
            first, second, third, fourth = (
                weights[indices[k]],
                weights[indices[k + 1]],
                weights[indices[k + 2]],
                weights[indices[k + 3]],
            )
            for j in range(n):
                out[j] += (first[j] + second[j]) + (third[j] + fourth[j])
            k += 4
        while k < end:
            row = weights[indices[k]]
            for j in range(n):
                out[j] += row[j]
            k += 1
    else:
        while k < end:
            row, value = weights[indices[k]], values[k]
            for j in range(n):
                out[j] += value * row[j]
            k += 1


@kernel
def _add_thin_features(features: Rows, t: int, weights: Rows, out: FloatVector) -> None:
    """out += Σ_f x_tf weights[f], over sparse rows of weights, some of them whole."""
    for k in range(features.indptr[t], features.indptr[t + 1]):
        begin, end = weights.indptr[features.indices[k]], weights.indptr[features.indices[k] + 1]
        value = features.values[k] if len(features.values) > 0 else 1.0
        # Unsigned, since an index that might be negative keeps loops from vectorising.
        if end - begin == len(out):
            for j in range(len(out)):
                out[j] += value * weights.values[np.uint64(begin + j)]
        else:
            for j in range(begin, end):
                out[weights.indices[np.uint64(j)]] += value * weights.values[np.uint64(j)]


@kernel
def _copy(source: FloatMatrix, target: FloatMatrix) -> None:
    # Loops rather than array expressions here and below: those bring in NumPy's shape errors, seconds of compilation.
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@kernel
def _decode(
    data: ChainData, weights: ChainWeights, batch: IntVector, starts: LongVector, error_scale: float, labels: IntVector
) -> None:
    n_labels = len(weights.begin)
    longest = 1
    for i in batch:
        longest = max(longest, data.indptr[i + 1] - data.indptr[i])
    emission = np.empty((longest, n_labels))
    arrival = np.empty((longest, n_labels))
    conditional = len(weights.conditional) > 0
    transition = np.empty((longest if conditional else 1, n_labels, n_labels))
    _copy(weights.transition, transition[0])
    flat = weights.conditional.reshape(len(weights.conditional), n_labels * n_labels)
    for position in range(len(batch)):
        first, last = data.indptr[batch[position]], data.indptr[batch[position] + 1]
        n = last - first
        if n == 0:
            continue
        for t in range(n):
            for label in range(n_labels):
                emission[t, label] = 0.0
            if error_scale != 0.0:
                for label in range(n_labels):
                    emission[t, label] = error_scale * data.costs[data.gold[first + t], label]
            if len(weights.emission) > 0:
                _add_features(data.features, first + t, weights.emission, emission[t])
            else:
                _add_thin_features(data.features, first + t, weights.thin_emission, emission[t])
            if conditional and t > 0:
                _copy(weights.transition, transition[t])
                _add_features(data.transition_features, first + t, flat, transition[t].reshape(n_labels * n_labels))
        out = labels[starts[position] : starts[position] + n]
        viterbi(emission[:n], transition[: n if conditional else 1], weights.begin, weights.end, arrival, out)


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
    # Not the literal 0, for which every callee would be compiled a second time.
    room = most = at_emission = data.indptr[0]
    for position in range(len(batch)):
        first, shift = data.indptr[batch[position]], starts[position]
        size = 4
        for t in range(first, data.indptr[batch[position] + 1]):
            right = labels[shift + t - first] == data.gold[t]
            if not right:
                errors[position] += data.costs[data.gold[t], labels[shift + t - first]]
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


@kernel
def _distinct(features: Rows, indptr: LongVector, batch: IntVector) -> IntVector:
    """The features that occur anywhere in the batch's sequences, in the order of their first appearance."""
    most = features.indptr[0]
    for i in batch:
        most += features.indptr[indptr[i + 1]] - features.indptr[indptr[i]]
    table = new_table(most)
    mask = len(table) - 1
    found = np.empty(most, dtype=np.int32)
    n = 0
    for i in batch:
        for k in range(features.indptr[indptr[i]], features.indptr[indptr[i + 1]]):
            feature = features.indices[k]
            h = (int(feature) * 40503) & mask
            while table[h] >= 0 and table[h] != feature:
                h = (h + 1) & mask
            if table[h] < 0:
                table[h] = feature
                found[n] = feature
                n += 1
    return found[:n]


class ChainExamples:
    """Sequences with their gold labels (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    chain : the shape of the model
    indptr : (n + 1,) where each sequence begins among the positions
    features : the features of each position, a row a position
    gold : the gold label of each position; None when the sequences are only to be decoded
    costs : (L, L) error of predicting the column's label where the row's is right; None counts wrong labels
    transition_features : the features on the transition into each position, a row a position
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
        transition_features: Rows | None = None,
    ) -> None:
        if costs is None:
            costs = 1.0 - np.eye(chain.n_labels)
        gold = np.empty(0, dtype=np.int32) if gold is None else gold
        self.chain = chain
        self.data = ChainData(indptr, features, transition_features or NO_ROWS, gold, costs)
        self.n_examples = len(indptr) - 1
        self.n_weights = chain.n_weights
        self.lengths = np.diff(indptr)
        # Measured: a nanosecond for 6 label pairs, and for 2 weights of features.
        per_position = chain.n_labels * (chain.n_labels / 6 + len(features.indices) / max(indptr[-1], 1) / 2) / 1000
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
        if data.costs.shape != (chain.n_labels, chain.n_labels) or np.diagonal(data.costs).any():
            raise DataError(f"costs must be {chain.n_labels} × {chain.n_labels} with zeros for right labels")

    def decode(self, w: FloatVector | ChainWeights, batch: IntVector, *, error_scale: float = 0.0) -> IntVector:
        """The best label sequences of the batch, end to end."""
        weights = w if isinstance(w, ChainWeights) else self.chain.parts(w)
        starts = self._starts(batch)
        labels = np.empty(starts[-1], dtype=np.int32)
        _decode(self.data, weights, batch, starts, error_scale, labels)
        return labels

    def difference(self, batch: IntVector, outputs: IntVector) -> Differences:
        """Errors and feature differences of label sequences laid end to end."""
        chain = self.chain
        return Differences(
            *_difference(self.data, chain.n_labels, chain.n_features, batch, self._starts(batch), outputs)
        )

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those of all transitions."""
        chain, data = self.chain, self.data
        emission = _distinct(data.features, data.indptr, batch)
        after_emission = chain.n_features * chain.n_labels
        after_end = after_emission + chain.n_labels * (chain.n_labels + 2)
        runs = [_runs(emission, chain.n_labels, 0), np.array([[after_emission, after_end]])]
        if chain.n_transition_features:
            conditional = _distinct(data.transition_features, data.indptr, batch)
            runs.append(_runs(conditional, chain.n_labels**2, after_end))
        return np.concatenate(runs)

    def _starts(self, batch: IntVector) -> LongVector:
        starts = np.zeros(len(batch) + 1, dtype=np.int64)
        np.cumsum(self.lengths[batch], out=starts[1:])
        return starts


def _runs(numbers: IntVector, width: int, offset: int) -> LongMatrix:
    begin = offset + numbers.astype(np.int64) * width
    return np.stack([begin, begin + width], axis=1)
