"""Kernels over batches of chains: each sequence is copied to float64 scratch space, and decoded there.

Scores may be float32 or float64; sums and maxima are float64.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntMatrix, LongVector
from widemargin.decoders.forward_backward import exponentiate, forward_backward, new_transitions
from widemargin.decoders.kbest import kbest
from widemargin.decoders.viterbi import reach_of, viterbi


class ChainParts(NamedTuple):
    """Emissions (B, T, L); transitions (B, T, L, L), or (1, 1, L, L) where all share one table; begin and end (L,)."""

    emissions: AnyArray
    transitions: AnyArray
    begin: FloatVector
    end: FloatVector


@kernel
def first_wrong(outputs: IntMatrix, lengths: LongVector, n_labels: int) -> tuple[int, int]:
    """The first place of a label that does not exist; (−1, −1) if there is none."""
    for b in range(len(outputs)):
        for t in range(lengths[b]):
            if not 0 <= outputs[b, t] < n_labels:
                return b, t
    return -1, -1


@kernel
def _new_tables(parts: ChainParts) -> FloatMatrix:
    """Room for the transitions of one sequence; a table that all share is filled in."""
    L = parts.emissions.shape[2]
    tables = np.empty((parts.transitions.shape[1], L, L))
    if len(tables) == 1 and len(parts.transitions) > 0:
        _copy(parts.transitions[0, 0], tables[0])
    return tables


@kernel
def _copy(source: AnyArray, target: AnyArray) -> None:
    for k in range(source.shape[0]):
        for label in range(source.shape[1]):
            target[k, label] = source[k, label]


@kernel
def _load(parts: ChainParts, b: int, n: int, emission: FloatMatrix, tables: FloatMatrix) -> None:
    """Copy the scores of one sequence."""
    _copy(parts.emissions[b, :n], emission)
    if len(tables) > 1:
        for t in range(1, n):
            _copy(parts.transitions[b, t], tables[t])


@kernel
def decode(parts: ChainParts, lengths: LongVector, labels: IntMatrix) -> None:
    """Write the best labels of each sequence."""
    longest, n_labels = parts.emissions.shape[1:]
    emission, arrival, tables = np.empty((longest, n_labels)), np.empty((longest, n_labels)), _new_tables(parts)
    reach = reach_of(tables)
    for b in range(len(lengths)):
        n = lengths[b]
        if n > 0:
            _load(parts, b, n, emission, tables)
            viterbi(emission[:n], tables, reach, parts.begin, parts.end, arrival, labels[b, :n])


@kernel
def k_best(parts: ChainParts, lengths: LongVector, labels: IntMatrix, totals: FloatMatrix) -> None:
    """Write the best sequences of labels, (B, k, T), and their scores, (B, k)."""
    longest, n_labels = parts.emissions.shape[1:]
    k = totals.shape[1]
    emission, tables = np.empty((longest, n_labels)), _new_tables(parts)
    prefixes, origins = np.empty((longest, n_labels, k)), np.empty((longest + 1, n_labels, k), dtype=np.int32)
    room, found = np.empty(k * longest, dtype=np.int32), np.empty(k)
    for b in range(len(lengths)):
        n = lengths[b]
        if n == 0:
            totals[b, 0] = 0.0
            continue
        _load(parts, b, n, emission, tables)
        rows = room[: k * n].reshape(k, n)
        count = kbest(emission[:n], tables, parts.begin, parts.end, k, prefixes, origins, rows, found)
        for rank in range(count):
            totals[b, rank] = found[rank]
            for t in range(n):
                labels[b, rank, t] = rows[rank, t]


@kernel
def totals(parts: ChainParts, lengths: LongVector, labels: IntMatrix, out: FloatVector) -> None:
    """Write the score of each sequence of labels."""
    emissions, transitions = parts.emissions, parts.transitions
    several, by_token = len(transitions) > 1, transitions.shape[1] > 1
    for b in range(len(lengths)):
        n, total = lengths[b], 0.0
        for t in range(n):
            total += emissions[b, t, labels[b, t]]
        for t in range(1, n):
            total += transitions[b if several else 0, t if by_token else 0, labels[b, t - 1], labels[b, t]]
        out[b] = total + (parts.begin[labels[b, 0]] + parts.end[labels[b, n - 1]] if n > 0 else 0.0)


@kernel
def add_counts(parts: ChainParts, lengths: LongVector, labels: IntMatrix, weights: FloatVector) -> None:
    """Add the counts of each sequence, times its weight, to the four arrays."""
    emissions, transitions = parts.emissions, parts.transitions
    several, by_token = len(transitions) > 1, transitions.shape[1] > 1
    for b in range(len(lengths)):
        n, weight = lengths[b], weights[b]
        for t in range(n):
            emissions[b, t, labels[b, t]] += weight
        for t in range(1, n):
            transitions[b if several else 0, t if by_token else 0, labels[b, t - 1], labels[b, t]] += weight
        if n > 0:
            parts.begin[labels[b, 0]] += weight
            parts.end[labels[b, n - 1]] += weight


@kernel
def sums(parts: ChainParts, lengths: LongVector, out: FloatVector, labels: AnyArray, pairs: AnyArray) -> None:
    """Write log Z of each sequence, and the posteriors of labels (B, T, L) and of pairs, (B, T or 1, L, L)."""
    longest, n_labels = parts.emissions.shape[1:]
    emission, tables = np.empty((longest, n_labels)), _new_tables(parts)
    forward, backward = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    posterior, joint = np.empty((longest, n_labels)), np.empty(tables.shape)
    transitions = new_transitions(tables)
    if len(tables) == 1:
        exponentiate(transitions, 0)
    for b in range(len(lengths)):
        n = lengths[b]
        out[b] = 0.0
        if n == 0:
            continue
        _load(parts, b, n, emission, tables)
        if len(tables) > 1:
            for t in range(1, n):
                exponentiate(transitions, t)
        some = joint[:n] if len(tables) > 1 else joint
        out[b] = forward_backward(
            emission[:n], transitions, parts.begin, parts.end, forward, backward, posterior[:n], some
        )
        _copy(posterior[:n], labels[b])
        for t in range(len(some)):
            _copy(some[t], pairs[b, t])
