"""Chains as a probability model: how label sequences differ from gold on average.

p(y) ∝ exp(⟨w, φ(x, y)⟩ + error_scale · Δ(y));   −log p(gold) = log Z − ⟨w, φ(x, gold)⟩
φ(x, gold) − E[φ(x, y)]:   Σ_t x_tf ([gold_t = l] − p(y_t = l)) at the weight W[f, l], and likewise for label pairs

The sums over sequences are those of `forward_backward`.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.sparse import Rows, new_table
from widemargin.decoders.forward_backward import Transitions, exponentiate, forward_backward, new_transitions
from widemargin.structures.feature_sums import append, append_features, count_features, sum_by_feature
from widemargin.tasks.tag.scores import ChainData, new_scores, part_scores, sequence_score
from widemargin.tasks.tag.weights import ChainWeights


@kernel
def _subtract_from_gold(gold: IntVector, labels: FloatMatrix, pairs: FloatMatrix) -> None:
    """Turn posteriors into indicators of the gold labels and pairs less posteriors."""
    for t in range(labels.shape[0]):
        for label in range(labels.shape[1]):
            labels[t, label] = -labels[t, label]
        labels[t, gold[t]] += 1.0
    for table in range(pairs.shape[0]):
        for k in range(pairs.shape[1]):
            for label in range(pairs.shape[2]):
                pairs[table, k, label] = -pairs[table, k, label]
    for t in range(1, len(gold)):
        pairs[0 if len(pairs) == 1 else t, gold[t - 1], gold[t]] += 1.0


@kernel
def _sum_tables(tables: FloatMatrix) -> None:
    """Add all tables to the first."""
    for t in range(1, tables.shape[0]):
        for k in range(tables.shape[1]):
            for label in range(tables.shape[2]):
                tables[0, k, label] += tables[t, k, label]


class Scratch(NamedTuple):
    """Arrays for the longest sequence of a batch."""

    emission: FloatMatrix
    transitions: Transitions
    forward: FloatMatrix
    backward: FloatMatrix
    labels: FloatMatrix
    pairs: FloatMatrix


@kernel
def new_scratch(data: ChainData, weights: ChainWeights, batch: IntVector) -> Scratch:
    """Room for any example of the batch, with the exponentials of shared transitions filled in."""
    emission, transition = new_scores(data, weights, batch)
    transitions = new_transitions(transition)
    exponentiate(transitions, data.indptr[0])
    forward, backward, labels = np.empty(emission.shape), np.empty(emission.shape), np.empty(emission.shape)
    return Scratch(emission, transitions, forward, backward, labels, np.empty(transition.shape))


@kernel
def _posteriors(
    data: ChainData, weights: ChainWeights, i: int, error_scale: float, scratch: Scratch, labels: FloatMatrix
) -> float:
    """Leave posteriors in `labels` and `pairs`; return log Z."""
    transitions = scratch.transitions
    n = part_scores(data, weights, i, error_scale, scratch.emission, transitions.scores)
    n_tables = min(n, len(transitions.scores))
    for t in range(1, n_tables):
        exponentiate(transitions, t)
    return forward_backward(
        scratch.emission[:n],
        transitions,
        weights.begin,
        weights.end,
        scratch.forward,
        scratch.backward,
        labels,
        scratch.pairs[:n_tables],
    )


@kernel
def posteriors(
    data: ChainData, weights: ChainWeights, batch: IntVector, starts: LongVector, out: FloatMatrix, log_z: FloatVector
) -> None:
    """out[starts[k] + t, l] = p(y_t = l) of example batch[k], and log_z[k] its log Z; weights may be thinned."""
    scratch = new_scratch(data, weights, batch)
    for position in range(len(batch)):
        log_z[position] = 0.0
        if starts[position] < starts[position + 1]:
            labels = out[starts[position] : starts[position + 1]]
            log_z[position] = _posteriors(data, weights, batch[position], 0.0, scratch, labels)


@kernel
def residuals(
    data: ChainData, weights: ChainWeights, i: int, error_scale: float, scratch: Scratch, labels: FloatMatrix
) -> float:
    """Leave indicators of gold less posteriors in `labels` and `scratch.pairs`; return −log p(gold)."""
    transitions, first = scratch.transitions, data.indptr[i]
    n = data.indptr[i + 1] - first
    emission, gold = scratch.emission[:n], data.gold[first : first + n]
    log_sum = _posteriors(data, weights, i, error_scale, scratch, labels)
    _subtract_from_gold(gold, labels, scratch.pairs[: min(n, len(transitions.scores))])
    return max(log_sum - sequence_score(emission, transitions.scores, weights.begin, weights.end, gold), 0.0)


@kernel
def expectation(
    data: ChainData, weights: ChainWeights, batch: IntVector, error_scale: float
) -> tuple[FloatVector, Rows]:
    """−log p(gold) of every sequence of the batch, and φ(x, gold) − E[φ(x, y)] without zeros. No thinned weights."""
    n_labels = len(weights.begin)
    n_pairs = n_labels * n_labels
    scratch = new_scratch(data, weights, batch)
    room, most = count_features(data.features, data.indptr, batch)
    room_pairs, most_pairs = count_features(data.transition_features, data.indptr, batch)
    room = room * n_labels + room_pairs * n_pairs + len(batch) * (n_pairs + 2 * n_labels)
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    table, names = new_table(max(most, most_pairs)), np.empty(max(most, most_pairs), dtype=np.int32)
    sums, pair_sums = np.empty((most, n_labels)), np.empty((most_pairs, n_pairs))

    at_emission = data.indptr[0]
    at_transition = at_emission + len(weights.emission) * n_labels
    at_begin = at_transition + n_pairs
    at_end = at_begin + n_labels
    errors = np.zeros(len(batch))
    write = psi.indptr[0]
    for position in range(len(batch)):
        first, n = data.indptr[batch[position]], data.indptr[batch[position] + 1] - data.indptr[batch[position]]
        if n > 0:
            labels, pairs = scratch.labels[:n], scratch.pairs[: min(n, len(scratch.pairs))]
            errors[position] = residuals(data, weights, batch[position], error_scale, scratch, labels)
            n_distinct = sum_by_feature(data.features, first, labels, table, names, sums)
            write = append_features(names, sums, n_distinct, at_emission, psi, write)
            if most_pairs > 0:
                flat = pairs.reshape(len(pairs), n_pairs)
                n_distinct = sum_by_feature(data.transition_features, first, flat, table, names, pair_sums)
                write = append_features(names, pair_sums, n_distinct, at_end + n_labels, psi, write)
            _sum_tables(pairs)
            write = append(pairs[0].reshape(n_pairs), at_transition, psi, write)
            write = append(labels[0], at_begin, psi, write)
            write = append(labels[n - 1], at_end, psi, write)
        psi.indptr[position + 1] = write
    return errors, Rows(psi.indptr, psi.indices[:write], psi.values[:write])
