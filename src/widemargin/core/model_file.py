"""Model files: a safetensors container with a JSON header. Nothing in it is ever executed.

The header (the container's metadata entry ``widemargin``) holds the version of the format, the structure that the model
predicts, and everything small: labels, templates, a summary of training. Everything large is in tensors, which are
mapped into memory on loading and read only where prediction touches them.

The safetensors library writes the files but does not read them: it would copy every tensor. The views made here copy
nothing, so a model of a gigabyte loads at once, and prediction pays only for the pages it touches.
"""

import json
import math
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import AnyArray
from widemargin._version import __version__
from widemargin.core.atomic import replacing
from widemargin.core.header import Place, check_depth, many, one_of, record, row, text, whole
from widemargin.errors import ModelFileError

FORMAT = 1
ENTRY = "widemargin"
DTYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "U64": np.uint64,
    "I64": np.int64,
    "I32": np.int32,
    "U8": np.uint8,
    "BOOL": np.bool_,
}
MOST = 1 << 48
TENSOR = record({"dtype": one_of(*DTYPES), "shape": many(whole(), at_most=8), "data_offsets": row(whole(), whole())})
"""An entry of the container; offsets count from the end of the container's header."""


class ModelFile(NamedTuple):
    """The contents of a model file."""

    header: dict[str, Any]
    tensors: dict[str, AnyArray]


def write_model(path: str | os.PathLike[str], header: Mapping[str, Any], tensors: Mapping[str, AnyArray]) -> None:
    """Write a model file, either completely or not at all."""
    from safetensors.numpy import save  # imported here since training alone does not need it

    entry = json.dumps({"format": FORMAT, "written_by": f"widemargin {__version__}", **header})
    content = save({name: np.ascontiguousarray(each) for name, each in tensors.items()}, {ENTRY: entry})
    with replacing(path, "wb") as stream:
        # Not with safetensors' save_file, which renames a temporary file onto its target, even if that is /dev/null.
        stream.write(content)


def map_file(path: str | os.PathLike[str]) -> mmap.mmap:
    """The bytes of a model file of any program; raise `ModelFileError` if it cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise ModelFileError(f"the model {os.fspath(path)} cannot be read: {error.strerror}") from error
    except ValueError:
        raise ModelFileError(f"the model {os.fspath(path)!r} is empty, or no file can have this name") from None


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Map a model file into memory; raise `ModelFileError` if it is not one."""
    name, content = os.fspath(path), map_file(path)
    layout, begin = _layout(name, content)
    header = _header(name, layout.pop("__metadata__", None))
    place = Place(f"the model {name}")
    tensors = {key: _tensor(content, begin, entry, place.at(key)) for key, entry in layout.items()}
    places = sorted(tuple(entry["data_offsets"]) for entry in layout.values())
    if [0, *(last for _, last in places)] != [*(first for first, _ in places), len(content) - begin]:
        raise place.damaged("its tensors do not fill the file one after the other; it may be truncated")
    return ModelFile(header, tensors)


def _tensor(content: mmap.mmap, begin: int, entry: Any, place: Place) -> AnyArray:
    """A view of the tensor that `entry` describes; the data begin at `begin`."""
    TENSOR(entry, place)
    for name, most in (("shape", len(content)), ("data_offsets", len(content) - begin)):
        many(whole(at_least=0, at_most=most))(entry[name], place.at(name))
    dtype, (first, last), shape = np.dtype(DTYPES[entry["dtype"]]), entry["data_offsets"], entry["shape"]
    # An empty tensor takes no bytes, whatever its other sizes are, but NumPy must be able to multiply even these.
    if last - first != math.prod(shape) * dtype.itemsize or math.prod(max(each, 1) for each in shape) > MOST:
        raise place.wrong(shape, f"the shape of {last - first} bytes of {entry['dtype']}")
    view: AnyArray = np.frombuffer(content, dtype, math.prod(shape), begin + first).reshape(shape)
    # Kernels would be compiled once more for unaligned arrays.
    return view if view.flags.aligned else view.copy()


def _layout(name: str, content: mmap.mmap) -> tuple[dict[str, Any], int]:
    """The container's JSON header and where its data begin."""
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > 100_000_000 or content[8:9] != b"{":
        raise ModelFileError(f"{name} is not a widemargin model")
    if len(content) < 8 + size:
        raise ModelFileError(f"the model {name} is truncated")
    layout = _parse(content[8 : 8 + size])
    if not isinstance(layout, dict):
        raise ModelFileError(f"{name} is not a widemargin model")
    return layout, 8 + size


def _header(name: str, metadata: Any) -> dict[str, Any]:
    if not isinstance(metadata, dict) or ENTRY not in metadata:
        raise ModelFileError(f"{name} is a safetensors file, but not a widemargin model")
    header = _parse(metadata[ENTRY]) if isinstance(metadata[ENTRY], str) else None
    if not isinstance(header, dict) or type(version := header.get("format")) is not int or version < 1:
        raise ModelFileError(f"the model {name} has a damaged header")
    check_depth(header, Place(f"the model {name}"))
    if version > FORMAT:
        raise ModelFileError(
            f"the model {name} has format {version}, written by {header.get('written_by')!s:.60}; "
            f"this is widemargin {__version__}, which reads up to format {FORMAT}: please upgrade"
        )
    return record({}, {"written_by": text()})(header, Place(f"the model {name}"))


def _parse(content: str | bytes) -> Any:
    """The value of this JSON; None if it is not JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
