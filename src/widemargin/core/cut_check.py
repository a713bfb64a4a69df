"""Checks that arrays from a file are working sets: kernels trust every link, range, place and index of them.

Stored ‖a‖², products and sums of α are computed again and may differ by rounding only, because wrong ones would prove
wrong bounds.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, LongVector
from widemargin.core.cuts import ALIVE, PER_SLOT, PLACES, SLOTS, USED, VACANT, WorkingSets
from widemargin.core.lookup import Lookup, dot_entered, enter, leave, new_lookup

ROUNDING = 1e-6  # relative; sums that solvers update step by step drift a little


def flaw(found: Mapping[str, AnyArray], fresh: WorkingSets, n_weights: int, *, products: bool) -> str:
    """Why arrays are not working sets of the blocks of `fresh` over this many weights; empty if they are."""
    if {part: (each.dtype, each.ndim) for part, each in found.items()} != {
        part: (each.dtype, each.ndim) for part, each in fresh._asdict().items()
    } or any(len(found[part]) != len(getattr(fresh, part)) for part in ("first", "size", "mass", "tally")):
        return "does not hold the arrays of cuts"
    checks = chain(_lists(WorkingSets(**found)), _cuts(WorkingSets(**found), n_weights, products))
    return next((complaint for holds, complaint in checks if not holds), "")


def _lists(sets: WorkingSets) -> Iterator[tuple[Any, str]]:
    """Conditions on the lists of all blocks, each with its complaint; each relies on those before it."""
    n_slots, n_used = int(sets.tally[SLOTS]), int(sets.tally[USED])
    sizes = {len(getattr(sets, part)) for part in PER_SLOT} == {n_slots}
    sizes &= len(sets.indices) == len(sets.values) == n_used and 0 <= sets.tally[PLACES] <= n_slots
    yield sizes, "has arrays of cuts that do not fit together"
    links = np.concatenate([sets.first, sets.after, sets.tally[[VACANT]]])
    yield ((links >= -1) & (links < n_slots)).all(), "has lists of cuts that lead astray"
    yield (np.bincount(links[links >= 0], minlength=1) <= 1).all(), "has lists of cuts that run in a circle"
    owner = _owners(sets)
    counts = np.bincount(owner[owner >= 0], minlength=len(sets.size))
    yield (owner != NOBODY).all() and (counts == sets.size).all(), "has other numbers of cuts than it says"


def _cuts(sets: WorkingSets, n_weights: int, products: bool) -> Iterator[tuple[Any, str]]:
    """Conditions on the cuts, each with its complaint; they rely on correct lists."""
    owner = _owners(sets)
    live = np.flatnonzero(owner >= 0)
    live = live[np.lexsort((sets.tail[live], sets.begin[live]))]
    begin, end, tail, alpha = sets.begin[live], sets.end[live], sets.tail[live], sets.alpha[live]
    ends = np.append(0, tail)  # of the entries that came before
    ordered = (ends[:-1] <= begin).all() and (begin <= end).all() and (end <= tail).all()
    yield ordered and ends[-1] <= sets.tally[USED], "has cuts whose entries are nowhere, or where others have theirs"
    yield (tail - begin).sum() == sets.tally[ALIVE], "has another number of entries than it says"
    yield (
        _have_entries(sets, live, n_weights),
        f"has indices that are not below {n_weights}, or impossible numbers",
    )
    yield np.isfinite(sets.b[live]).all(), "has cuts whose b is not a number"
    yield np.isfinite(alpha).all() and (alpha >= 0).all(), "has cuts with a negative α"
    mass = np.bincount(owner[live], alpha, len(sets.mass))
    close = np.abs(sets.mass - mass) <= ROUNDING * (mass.max(initial=0.0) + ROUNDING)
    yield close.all(), "has sums of α that are not the sums of its α"
    if products:
        lookup = new_lookup(int((end - begin).max(initial=0)))
        yield _have_products(sets, lookup), "has products that are not those of its cuts"


NOBODY, VACATED = -2, -1


@kernel
def _owners(sets: WorkingSets) -> LongVector:
    """The block of every slot; `VACATED` for vacant slots, `NOBODY` for those in no list."""
    owner = np.full(len(sets.after), NOBODY, dtype=np.int64)
    for block in range(-1, len(sets.first)):
        slot = np.int64(sets.first[block]) if block >= 0 else sets.tally[VACANT]
        while slot >= 0:
            owner[slot] = block
            slot = np.int64(sets.after[slot])
    return owner


@kernel
def _have_entries(sets: WorkingSets, live: LongVector, n_weights: int) -> bool:
    """Whether these cuts have valid indices, finite values, and the right norms."""
    for slot in live:
        norm = 0.0
        for k in range(sets.begin[slot], sets.end[slot]):
            if not 0 <= sets.indices[k] < n_weights:
                return False
            norm += sets.values[k] * sets.values[k]
        if not abs(norm - sets.norm[slot]) <= ROUNDING * norm or norm == np.inf:
            return False
    return True


@kernel
def _have_products(sets: WorkingSets, lookup: Lookup) -> bool:
    """Whether every cut has a place of its own in its block and the right products with the older cuts there."""
    for block in range(len(sets.first)):
        slot = sets.first[block]
        while slot >= 0:
            begin, end = sets.begin[slot], sets.end[slot]
            enter(sets.indices, sets.values, begin, end, lookup)
            older = sets.after[slot]
            fits = 0 <= sets.place[slot] < sets.tally[PLACES]
            # Only the products behind the newer cut exist, so each pair is checked once, from its newer side.
            while older >= 0 and fits:
                where = end + sets.place[older]
                fits = end <= where < sets.tail[slot] and sets.place[older] != sets.place[slot]
                if fits:
                    value = dot_entered(sets.indices, sets.values, sets.begin[older], sets.end[older], lookup)
                    most = ROUNDING * np.sqrt(sets.norm[slot] * sets.norm[older])
                    fits = abs(value - sets.values[where]) <= most
                older = sets.after[older]
            leave(sets.indices, begin, end, lookup)
            if not fits:
                return False
            slot = sets.after[slot]
    return True
