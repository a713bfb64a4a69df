"""The state of a run as JSON and arrays, and back: dataclasses of arrays, cuts and plain values.

Unpacked values must have the form of a fresh state: the same fields, arrays of the same kinds, values of the same
types. Arrays keep their shape, unless they begin empty; `core.solver.later` declares how long these may become. Cuts
are checked to the last link (`core.cut_check`). A file of another form was written by another version, or by somebody
who made its digest fit.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from widemargin._types import AnyArray
from widemargin.core.cut_store import CutStore
from widemargin.core.header import Place, flag, many, number, record, text, whole
from widemargin.core.problem import Trainable
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
        from widemargin.core.cut_check import flaw  # only resumed runs need it

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
