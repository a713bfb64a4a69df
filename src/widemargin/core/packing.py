"""The state of a run as JSON and arrays, and back: dataclasses of arrays, cuts and plain values.

What is unpacked must have the form of a fresh state: the same fields, arrays of the same kinds, values of the same
types. Arrays keep their shape, unless they begin empty. A file of another form was written by another version.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from widemargin._types import AnyArray
from widemargin.core.cut_store import PER_SLOT, CutStore
from widemargin.core.cuts import SLOTS, USED, VACANT
from widemargin.core.header import Place, flag, many, number, record, text, whole
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


def unpack(packed: Any, template: Any, arrays: Mapping[str, AnyArray], place: Place = RUN) -> Any:
    """The value given to `pack`; dataclasses and cuts are filled into those of `template`, which has the same form."""
    kind, content = _kind(packed, place)
    if is_dataclass(template):
        names = [each.name for each in fields(template)]
        if kind != "fields" or not isinstance(content, dict) or list(content) != names:
            raise _misfit(place, f"does not have the fields {', '.join(names)}")
        for each in fields(template):
            part, here = content[each.name], place.at(each.name)
            missing = part == {"value": None} and "None" in str(each.type)
            value = None if missing else unpack(part, getattr(template, each.name), arrays, here)
            if each.type in (int, "int"):  # a kernel may be compiled for nothing else
                whole(at_least=-(2**63), at_most=2**63 - 1)(value, here)
            setattr(template, each.name, value)
        return template
    if isinstance(template, CutStore):
        if kind != "cuts" or not isinstance(content, dict):
            raise _misfit(place, "holds no cuts")
        found = {part: _array(name, arrays, place.at(part)) for part, name in content.items()}
        if not _are_cuts(found, template.sets._asdict()):
            raise _misfit(place, "does not hold the arrays of cuts")
        template.restore(found)
        return template
    if kind == "array" and (template is None or isinstance(template, np.ndarray)):
        array = _array(content, arrays, place)
        if template is not None and not _is_like(array, template):
            raise _misfit(place, f"is {array.dtype} of shape {array.shape}, not {template.dtype} of {template.shape}")
        return array.copy()
    if kind != "value" or isinstance(template, np.ndarray):
        raise _misfit(place, f"is not a {type(template).__name__}")
    fresh = template.item() if isinstance(template, np.generic) else template
    return content if fresh is None else VALUES[type(fresh)](content, place)


def _kind(packed: Any, place: Place) -> tuple[Any, Any]:
    if not isinstance(packed, dict) or len(packed) != 1:
        raise _misfit(place, "is not one of array, cuts, fields and value")
    ((kind, content),) = packed.items()
    return kind, content


def _are_cuts(found: Mapping[str, AnyArray], fresh: Mapping[str, AnyArray]) -> bool:
    """Whether arrays have the kinds of fresh ones, fit together, and lead nowhere else."""
    if {part: (each.dtype, each.ndim) for part, each in found.items()} != {
        part: (each.dtype, each.ndim) for part, each in fresh.items()
    } or any(len(found[part]) != len(fresh[part]) for part in ("first", "size", "mass", "tally")):
        return False
    n_slots, n_used = int(found["tally"][SLOTS]), int(found["tally"][USED])
    links = np.concatenate([found["first"], found["after"], found["tally"][[VACANT]]])
    return (
        all(len(found[part]) == n_slots for part in PER_SLOT)
        and len(found["indices"]) == len(found["values"]) == n_used
        and bool(((links >= -1) & (links < n_slots)).all())
        and len(np.unique(links[links >= 0])) == np.count_nonzero(links >= 0)  # so no list runs in a circle
    )


def _is_like(array: AnyArray, fresh: AnyArray) -> bool:
    """Whether an array has the kind and the shape of a fresh one; what grows begins empty."""
    return array.dtype == fresh.dtype and (array.shape == fresh.shape or (array.ndim == fresh.ndim and not fresh.size))


def _array(name: Any, arrays: Mapping[str, AnyArray], place: Place) -> AnyArray:
    if not isinstance(name, str) or name not in arrays:
        raise _misfit(place, "names an array that is not there")
    return arrays[name]


def _misfit(place: Place, complaint: str) -> ModelFileError:
    """The error about a file that is whole, as its digest says, but of another form."""
    return place.error(f"does not fit this version of widemargin: {place.field} {complaint}; start afresh")
