"""Choices of antecedents as a probability model.

    p(a) ∝ exp(⟨w, φ(m, a)⟩ + error_scale · Δ(a)),  with 0 instead of ⟨w, φ⟩ for a new entity
    ξ = −log Σ_{right a} p(a),   −∇ξ = Σ_a (q(a) − p(a)) φ(m, a),   q(a) = p(a) / Σ p over the right ones

The sum over all right antecedents is the likelihood of Durrett & Klein (2013), which is not convex. With one right
antecedent chosen, q is 1 there, and ξ = −log p(a) is convex.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector
from widemargin.core.examples import Differences
from widemargin.core.sparse import Draft, Rows, coalesce, new_table, with_room
from widemargin.tasks.coreference.keys import LinkKeys, features_per_link, link_scores, push_alone, push_pair
from widemargin.tasks.coreference.truth import NEW, Truth, cost_of_new, cost_of_wrong

TINY = 1e-15
"""Shares of a choice that are lost in the rounding of the others."""


@kernel
def log_sum(values: FloatVector) -> float:
    """log Σ exp(values); −∞ for none."""
    highest = -np.inf
    for k in range(len(values)):
        highest = max(highest, values[k])
    if highest == -np.inf:
        return highest
    total = 0.0
    for k in range(len(values)):
        total += np.exp(values[k] - highest)
    return highest + np.log(total)


@kernel
def _shares(truth: Truth, m: int, begin: int, scores: FloatVector, back: int, shares: FloatVector) -> float:
    """q of each choice, that of a new entity last; returns what gold scores: log Σ exp over right ones, or one of them.

    The only right choice is `back`, or all right ones if that is below 0.
    """
    n = len(scores) - 1
    for k in range(n):
        right = truth.right[begin + k] if back < 0 else n - k == back
        shares[k] = scores[k] if right else -np.inf
    shares[n] = scores[n] if (not truth.anaphoric[m] if back < 0 else back == NEW) else -np.inf
    total = log_sum(shares)
    for k in range(n + 1):
        shares[k] = np.exp(shares[k] - total)
    return total


@kernel
def _expectation(
    keys: LinkKeys, truth: Truth, w: FloatVector, batch: IntVector, scale: float, gold: IntVector
) -> Differences:
    draft = Draft(np.empty(64, dtype=np.int32), np.empty(64), new_table(32))
    surprise, indptr = np.zeros(len(batch)), np.zeros(len(batch) + 1, dtype=np.int64)
    write = keys.pairs[0]
    for position in range(len(batch)):
        m = batch[position]
        begin, n = keys.pairs[m], keys.pairs[m + 1] - keys.pairs[m]
        scores, shares = np.zeros(n + 1), np.empty(n + 1)
        link_scores(keys, m, w, scores)
        right = _shares(truth, m, begin, scores, gold[m] if len(gold) > 0 else -1, shares)
        for k in range(n):
            scores[k] += 0.0 if truth.right[begin + k] else scale * cost_of_wrong(truth, m)
        scores[n] += scale * cost_of_new(truth, m)
        total = log_sum(scores)
        surprise[position] = max(total - right, 0.0)
        linked, used = 0.0, 0
        for k in range(n):
            shares[k] -= np.exp(scores[k] - total)
            linked += shares[k]
            used += abs(shares[k]) > TINY
        draft = with_room(draft, write, keys.alone.shape[1] + used * features_per_link(keys))
        fill = push_alone(keys, m, linked, draft, write)
        for k in range(n):
            if abs(shares[k]) > TINY:
                fill = push_pair(keys, m, begin + k, shares[k], draft, fill)
        write = coalesce(draft.indices, draft.values, write, fill, write, draft.table)
        indptr[position + 1] = write
    return Differences(surprise, Rows(indptr, draft.indices[:write].copy(), draft.values[:write].copy()))


def expectation(
    keys: LinkKeys, truth: Truth, w: FloatVector, batch: IntVector, scale: float, gold: IntVector | None
) -> Differences:
    """ξ and −∇ξ of the mentions in the batch; `gold` has the right choice of every mention, None sums over all."""
    none = np.empty(0, dtype=np.int32)
    return Differences(*_expectation(keys, truth, w, batch, float(scale), none if gold is None else gold))


@kernel
def posteriors(keys: LinkKeys, w: FloatVector, batch: IntVector) -> Rows:
    """p of every choice of the batch's mentions, a row each; choices are numbered as outputs are."""
    indptr = np.zeros(len(batch) + 1, dtype=np.int64)
    for position in range(len(batch)):
        m = batch[position]
        indptr[position + 1] = indptr[position] + keys.pairs[m + 1] - keys.pairs[m] + 1
    choices, shares = np.empty(indptr[-1], dtype=np.int32), np.zeros(indptr[-1])
    for position in range(len(batch)):
        begin, end = indptr[position], indptr[position + 1]
        link_scores(keys, batch[position], w, shares[begin:end])
        total = log_sum(shares[begin:end])
        for k in range(begin, end):
            choices[k] = end - 1 - k
            shares[k] = np.exp(shares[k] - total)
    return Rows(indptr, choices, shares)
