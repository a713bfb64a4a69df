"""The state of a run as JSON and arrays, and back: dataclasses of arrays, cuts and plain values.

Unpacked values must have the form of a fresh state: the same fields, arrays of the same kinds, values of the same
types. Arrays keep their shape, unless they begin empty; `core.solver.later` declares how long these may become. A file
of another form was written by another version, or by somebody who made its digest fit.

Kernels trust every link, range, place and index of cuts, so all are checked. Stored ‖a‖², products and sums of α are
computed again and may differ by rounding only, because wrong ones would prove wrong bounds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import chain
from typing import Any

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, LongVector
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import ALIVE, PER_SLOT, PLACES, SLOTS, USED, VACANT, WorkingSets
from widemargin.core.header import Place, flag, many, number, record, text, whole
from widemargin.core.problem import Trainable
from widemargin.core.products import Lookup, dot_entered, enter, leave, new_lookup
from widemargin.errors import ModelFileError, UnsupportedError

Arrays = dict[str, AnyArray]
RUN = Place("the checkpoint", "run")

VALUES = {
    bool: flag(),
    **dict.fromkeys((int, float), number(finite=False)),
    str: text(),
    dict: record({}),
    list: many(lambda value, place: value),
}
"""The fields of a solver's state, by the type that they have in a fresh one; None may become anything."""


def pack(value: Any, name: str, arrays: Arrays) -> Any:
    """`value` as JSON, with copies of its arrays in `arrays`: dataclasses of arrays, cuts and plain values."""
    if isinstance(value, np.ndarray):
        arrays[name] = value.copy()
        return {"array": name}
    if isinstance(value, CutStore):
        contents = value.contents()
        arrays.update({f"{name}.{part}": array for part, array in contents.items()})
        return {"cuts": {part: f"{name}.{part}" for part in contents}}
    if is_dataclass(value):
        parts = {each.name: pack(getattr(value, each.name), f"{name}.{each.name}", arrays) for each in fields(value)}
        return {"fields": parts}
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str | list | dict):
        return {"value": value}
    raise UnsupportedError(f"a checkpoint cannot hold {name}, a {type(value).__name__}")


def unpack(
    packed: Any, template: Any, arrays: Mapping[str, AnyArray], place: Place = RUN, problem: Trainable | None = None
) -> Any:
    """The value given to `pack`; dataclasses and cuts are filled into those of `template`, which has the same form.

    `problem` is the one that a solver's state belongs to.
    """
    kind, content = _kind(packed, place)
    if is_dataclass(template):
        names = [each.name for each in fields(template)]
        if kind != "fields" or not isinstance(content, dict) or list(content) != names:
            raise misfit(place, f"does not have the fields {', '.join(names)}")
        for each in fields(template):
            part, here = content[each.name], place.at(each.name)
            missing = part == {"value": None} and "None" in str(each.type)
            value = None if missing else unpack(part, getattr(template, each.name), arrays, here, problem)
            if each.type in (int, "int"):  # kernels are compiled for int64, and will add to it
                whole(at_least=-(2**62), at_most=2**62)(value, here)
            size = each.metadata.get("size")
            if isinstance(value, np.ndarray) and size and len(value) not in (0, getattr(problem, size)):
                raise misfit(here, f"has {len(value)} entries, not {getattr(problem, size)}")
            setattr(template, each.name, value)
        return template
    if isinstance(template, CutStore):
        if kind != "cuts" or not isinstance(content, dict):
            raise misfit(place, "holds no cuts")
        found = {part: _array(name, arrays, place.at(part)) for part, name in content.items()}
        from widemargin.core.packing import flaw  # only resumed runs need it

        assert problem is not None, "cuts are of a problem"
        complaint = flaw(found, template.sets, problem.n_weights, products=template.products)
        if complaint:
            raise misfit(place, complaint)
        template.restore(found)
        return template
    if kind == "array" and (template is None or isinstance(template, np.ndarray)):
        array = _array(content, arrays, place)
        if template is not None and not _is_like(array, template):
            raise misfit(place, f"is {array.dtype} of shape {array.shape}, not {template.dtype} of {template.shape}")
        return array.copy()
    if kind != "value" or isinstance(template, np.ndarray):
        raise misfit(place, f"is not a {type(template).__name__}")
    fresh = template.item() if isinstance(template, np.generic) else template
    return content if fresh is None else VALUES[type(fresh)](content, place)


def _kind(packed: Any, place: Place) -> tuple[Any, Any]:
    if not isinstance(packed, dict) or len(packed) != 1:
        raise misfit(place, "is not one of array, cuts, fields and value")
    ((kind, content),) = packed.items()
    return kind, content


def _is_like(array: AnyArray, fresh: AnyArray) -> bool:
    """Whether an array has the kind and the shape of a fresh one; an array that begins empty may have grown."""
    return array.dtype == fresh.dtype and (array.shape == fresh.shape or (array.ndim == fresh.ndim and not fresh.size))


def _array(name: Any, arrays: Mapping[str, AnyArray], place: Place) -> AnyArray:
    if not isinstance(name, str) or name not in arrays:
        raise misfit(place, "names an array that is not there")
    return arrays[name]


def misfit(place: Place, complaint: str) -> ModelFileError:
    """The error about a file that matches its digest but has another form."""
    return place.error(f"does not fit this version of widemargin: {place.field} {complaint}; start afresh")


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
            # A place that is too large would let later products be written beyond the room reserved for them.
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
