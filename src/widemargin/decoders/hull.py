"""The search for the λ at which loss-augmented decoding finds the worst output under slack scaling.

    y_λ = argmax over y ≠ gold of s(y) + λ Δ(y),   wanted: the y_λ with the largest Δ(1 + s),   s(gold) = 0

The y_λ are the corners of the upper hull of the points (Δ, s): the smaller λ, the smaller the error. Along the hull
Δ(1 + s) rises, then falls; at y_λ it still rises if λ Δ < 1 + s. So two corners with the best one between them are soon
found: after a violator the next λ is (1 + s)/Δ, after any other output it is close to 0. From then on λ is the slope
between the two corners, until no corner lies between them.

Decoding may return outputs with Δ = 0: gold itself, if the decoder cannot leave it out, or other outputs without a
cost. Their Δ(1 + s) is 0, and they hide violators with a small error: a violator with the error Δ beats an output of
score s and error 0 at λ = (1 + s)/Δ at the latest, however low its own score. So after such an output the next λ is
1 + s, enough for errors of at least 1, and then grows further.

Sarawagi & Gupta (2008, §3) search the λ of the least upper bound F(λ) by golden section between given bounds. This
search ends at the same λ, in fewer decodes and without bounds.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, LongVector

SMALL = 1e-6  # a λ that almost ignores errors; among equal scores the larger error still wins
SLIGHT = 1e-9  # a difference this small may be rounding
GROWTH = 16.0  # factor of λ while no output with an error is found


@kernel
def next_scale(corners: FloatVector, scale: float, error: float, s: float) -> float:
    """Note the output with this Δ and s, found at λ = `scale`; return the next λ, 0 when the search is over.

    `corners` are Δ and s of the known corner below the best one, then of that above it; NaN until known.
    """
    # At the slope between the two corners, an output that does not beat them proves that no corner lies between.
    between = not (np.isnan(corners[0]) or np.isnan(corners[2]))
    if between and s + scale * error <= corners[1] + scale * corners[0] + SLIGHT * (1.0 + abs(corners[1])):
        return 0.0
    rising = scale * error < 1.0 + s
    if rising:
        corners[0], corners[1] = error, s
    else:
        corners[2], corners[3] = error, s
    width = corners[2] - corners[0]
    if not np.isnan(width):
        following = (corners[1] - corners[3]) / width if width > 0.0 else 0.0
    elif error > 0.0:
        following = (1.0 + s) / error
        if not rising and following <= 0.0:
            following = SMALL if scale > SMALL else 0.0
    else:
        following = max(1.0 + s, GROWTH * scale) if rising else 0.0
    return following if abs(following - scale) > SLIGHT * scale else 0.0


@kernel
def next_scales(
    corners: FloatMatrix, scales: FloatVector, active: LongVector, errors: FloatVector, s: FloatVector
) -> None:
    """Note an output of each of the `active` searches, found at its λ in `scales`, and write its next λ there."""
    for k in range(len(active)):
        search = active[k]
        scales[search] = next_scale(corners[search], scales[search], errors[k], s[k])
