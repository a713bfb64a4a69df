"""The worst label sequences of a chain that are wrong at each position (Sarawagi & Gupta 2008, §4.3.1), or anywhere.

    y^c = argmax over y with y_c ≠ gold_c of costs[truth_c, y_c] (1 − s(gold) + s(y))

One forward and one backward pass give the best s(y) for every label at every position. The sequences themselves are
traced from their position in both directions. Traces soon merge, so each step is looked up once and remembered.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.hull import SMALL, keep_worse, new_corners, next_scale
from widemargin.decoders.max_marginals import max_passes
from widemargin.tasks.tag.scores import ChainData, new_scores, part_scores, sequence_score
from widemargin.tasks.tag.weights import ChainWeights


@kernel
def _best_before(scores: FloatVector, table: FloatMatrix, label: int) -> int:
    """argmax over p of scores[p] + table[p, label]."""
    best = 0
    for p in range(1, len(scores)):
        if scores[p] + table[p, label] > scores[best] + table[best, label]:
            best = p
    return best


@kernel
def _best_after(emission: FloatVector, backward: FloatVector, table: FloatMatrix, label: int) -> int:
    """argmax over q of table[label, q] + emission[q] + backward[q]."""
    best = 0
    for q in range(1, len(emission)):
        if table[label, q] + (emission[q] + backward[q]) > table[label, best] + (emission[best] + backward[best]):
            best = q
    return best


@kernel
def _trace(
    emission: FloatMatrix,
    transition: FloatMatrix,
    forward: FloatMatrix,
    backward: FloatMatrix,
    steps: IntMatrix,
    position: int,
    label: int,
    out: IntVector,
) -> None:
    """Write the best sequence with `label` at `position`; steps[0] and [1] remember where labels lead, or −1."""
    n = len(emission)
    shared = len(transition) == 1
    out[position] = label
    for t in range(position, 0, -1):
        if steps[0, t, out[t]] < 0:
            steps[0, t, out[t]] = _best_before(forward[t - 1], transition[0 if shared else t], out[t])
        out[t - 1] = steps[0, t, out[t]]
    for t in range(position + 1, n):
        if steps[1, t, out[t - 1]] < 0:
            steps[1, t, out[t - 1]] = _best_after(emission[t], backward[t], transition[0 if shared else t], out[t - 1])
        out[t] = steps[1, t, out[t - 1]]


@kernel
def _worst_labels(
    truth: IntVector,
    costs: FloatMatrix,
    gold_score: float,
    forward: FloatMatrix,
    backward: FloatMatrix,
    errors: FloatVector,
    worst: IntVector,
) -> int:
    """The label of each position's violator and its error, −1 and 0 where there is none; return how many there are."""
    n_violators = 0
    for t in range(len(truth)):
        best, worst[t], errors[t] = 0.0, -1, 0.0
        for label in range(forward.shape[1]):
            cost = costs[truth[t], label]
            value = cost * (1.0 - gold_score + forward[t, label] + backward[t, label])
            if value > best:
                best, worst[t], errors[t] = value, label, cost
        if worst[t] >= 0:
            n_violators += 1
    return n_violators


@kernel
def violators(
    data: ChainData, weights: ChainWeights, batch: IntVector, starts: LongVector
) -> tuple[FloatVector, IntVector]:
    """The error at each position of the batch, 0 where there is no violator, and the violators' labels, end to end."""
    emission, transition = new_scores(data, weights, batch)
    forward, backward = np.empty(emission.shape), np.empty(emission.shape)
    steps = np.empty((2, *emission.shape), dtype=np.int32)
    worst = np.empty(len(emission), dtype=np.int32)
    errors = np.zeros(starts[len(batch)])
    labels = np.empty(4 * len(errors), dtype=np.int32)
    write = 0
    for k in range(len(batch)):
        n = part_scores(data, weights, batch[k], 0.0, emission, transition)
        if n == 0:
            continue
        max_passes(emission[:n], transition[:n], weights.begin, weights.end, forward, backward)
        first = data.indptr[batch[k]]
        gold, truth = data.gold[first : first + n], data.truth[first : first + n]
        gold_score = sequence_score(emission[:n], transition[:n], weights.begin, weights.end, gold)
        room = write + n * _worst_labels(
            truth, data.costs, gold_score, forward, backward, errors[starts[k] : starts[k] + n], worst
        )
        if room > len(labels):
            larger = np.empty(2 * room, dtype=np.int32)
            for j in range(write):
                larger[j] = labels[j]
            labels = larger
        for t in range(n):
            for label in range(emission.shape[1]):
                steps[0, t, label] = steps[1, t, label] = -1
        for t in range(n):
            if worst[t] >= 0:
                out = labels[write : write + n]
                _trace(emission[:n], transition[:n], forward, backward, steps, t, worst[t], out)
                write += n
    return errors, labels[:write]


@kernel
def _best_wrong(
    truth: IntVector, costs: FloatMatrix, forward: FloatMatrix, backward: FloatMatrix
) -> tuple[int, int, float]:
    """Where the best sequence with an error has one, its label there, and its score; label −1 if there is none."""
    position, wrong, best = 0, -1, -np.inf
    for t in range(len(truth)):
        for label in range(forward.shape[1]):
            if costs[truth[t], label] > 0.0 and forward[t, label] + backward[t, label] > best:
                position, wrong, best = t, label, forward[t, label] + backward[t, label]
    return position, wrong, best


@kernel
def hull_sequences(
    data: ChainData, weights: ChainWeights, batch: IntVector, starts: LongVector, most: int, labels: IntVector
) -> LongVector:
    """Write the worst sequences that decoding can find (`decoders.hull`); return how many decodes each has taken."""
    plain, transition = new_scores(data, weights, batch)
    emission, forward, backward = np.empty(plain.shape), np.empty(plain.shape), np.empty(plain.shape)
    steps = np.empty((2, *plain.shape), dtype=np.int32)
    found = np.empty(len(plain), dtype=np.int32)
    corners, n_decodes = new_corners(len(batch)), np.zeros(len(batch), dtype=np.int64)
    for k in range(len(batch)):
        n = part_scores(data, weights, batch[k], 0.0, plain, transition)
        first = data.indptr[batch[k]]
        gold, truth = data.gold[first : first + n], data.truth[first : first + n]
        out = labels[starts[k] : starts[k] + n]
        for t in range(n):
            out[t] = gold[t]
        gold_score = sequence_score(plain[:n], transition[:n], weights.begin, weights.end, gold) if n > 0 else 0.0
        scale, worst = SMALL if n > 0 else 0.0, 0.0
        while scale > 0.0 and n_decodes[k] < most:
            n_decodes[k] += 1
            for t in range(n):
                for label in range(plain.shape[1]):
                    emission[t, label] = plain[t, label] + scale * data.costs[truth[t], label]
                    steps[0, t, label] = steps[1, t, label] = -1
            max_passes(emission[:n], transition[:n], weights.begin, weights.end, forward, backward)
            position, wrong, best = _best_wrong(truth, data.costs, forward, backward)
            if wrong < 0:
                break
            _trace(emission[:n], transition[:n], forward, backward, steps, position, wrong, found[:n])
            error = 0.0
            for t in range(n):
                error += data.costs[truth[t], found[t]]
            s = best - scale * error - gold_score
            worst = keep_worse(worst, error * (1.0 + s), found[:n], out)
            scale = next_scale(corners[k], scale, error, s)
    return n_decodes
