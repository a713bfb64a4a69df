"""Model files: a safetensors container with a JSON header. Nothing in it is ever executed.

The header (the container's metadata entry ``widemargin``) holds the version of the format, the structure that the model
predicts, and everything small: labels, templates, a summary of training. Everything large is in tensors, which are
mapped into memory on loading and read only where prediction touches them.

Reading is done here and not by the safetensors library: that copies every tensor, while these views copy nothing, so
that a model of a gigabyte is there at once and prediction pays only for the pages it touches. Its writer is used as is.
"""

import json
import math
import mmap
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import AnyArray
from widemargin._version import __version__
from widemargin.core.atomic import replacing
from widemargin.errors import ModelFileError

FORMAT = 1
ENTRY = "widemargin"
DTYPES = {"F64": np.float64, "U64": np.uint64, "I64": np.int64, "I32": np.int32, "U8": np.uint8, "BOOL": np.bool_}


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


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Map a model file into memory; raise `ModelFileError` if it is not one."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as stream:
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise ModelFileError(f"the model {name} cannot be read: {error.strerror}") from error
    except ValueError:
        raise ModelFileError(f"the model {name!r} is empty, or no file can have this name") from None
    layout, begin = _layout(name, content)
    header = _header(name, layout.pop("__metadata__", {}))
    tensors = {}
    for key, entry in layout.items():
        try:
            tensors[key] = _tensor(content, begin, entry)
        except (KeyError, TypeError, ValueError):
            raise ModelFileError(f"the model {name} is damaged at the tensor {key!r}; it may be truncated") from None
    places = sorted(tuple(entry["data_offsets"]) for entry in layout.values())
    if [0, *(last for _, last in places)] != [*(first for first, _ in places), len(content) - begin]:
        raise ModelFileError(f"the model {name} is damaged: its tensors do not fill the file one after the other")
    return ModelFile(header, tensors)


def vector(tensors: Mapping[str, AnyArray], name: str, dtype: type[np.generic]) -> AnyArray:
    """The tensor `name`, a vector of this `dtype`; KeyError or ValueError if a damaged file has none."""
    found = tensors[name]
    if found.ndim != 1 or found.dtype != dtype:
        raise ValueError(f"{name} is not a vector of {dtype.__name__}")
    return found


def _tensor(content: mmap.mmap, begin: int, entry: Any) -> AnyArray:
    """A view of the tensor that `entry` describes; the data begin at `begin`."""
    dtype, (first, last), shape = np.dtype(DTYPES[entry["dtype"]]), entry["data_offsets"], entry["shape"]
    if not all(type(number) is int and 0 <= number <= len(content) for number in (first, last, *shape)):
        raise ValueError("not a place in the file")
    if last - first != math.prod(shape) * dtype.itemsize:
        raise ValueError("the size does not match the shape")
    return np.frombuffer(content, dtype, math.prod(shape), begin + first).reshape(shape)


def _layout(name: str, content: mmap.mmap) -> tuple[dict[str, Any], int]:
    """The container's JSON header and where its data begin."""
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > 100_000_000 or content[8:9] != b"{":
        raise ModelFileError(f"{name} is not a widemargin model")
    if len(content) < 8 + size:
        raise ModelFileError(f"the model {name} is truncated")
    try:
        layout = json.loads(content[8 : 8 + size])
    except (ValueError, RecursionError):
        raise ModelFileError(f"{name} is not a widemargin model") from None
    return layout, 8 + size


def _header(name: str, metadata: Any) -> dict[str, Any]:
    if not isinstance(metadata, dict) or ENTRY not in metadata:
        raise ModelFileError(f"{name} is a safetensors file, but not a widemargin model")
    try:
        header: dict[str, Any] = json.loads(metadata[ENTRY])
        version = header["format"]
        if type(version) is not int or version < 1:
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelFileError(f"the model {name} has a damaged header") from None
    if version > FORMAT:
        raise ModelFileError(
            f"the model {name} has format {version}, written by {header.get('written_by')}; "
            f"this is widemargin {__version__}, which reads up to format {FORMAT}: please upgrade"
        )
    return header


def pack_strings(name: str, strings: Sequence[str]) -> dict[str, AnyArray]:
    """A list of strings as two arrays whose names begin with `name`."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    return {
        f"{name}.text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{name}.lengths": np.array([len(each) for each in encoded], dtype=np.int64),
    }


def unpack_strings(name: str, arrays: Mapping[str, AnyArray]) -> list[str]:
    """The list of strings that `pack_strings` stored.

    >>> unpack_strings("names", pack_strings("names", ["a", "", "æ"]))
    ['a', '', 'æ']
    """
    text = arrays[f"{name}.text"].tobytes()
    ends = np.cumsum(arrays[f"{name}.lengths"]).tolist()
    return [text[begin:end].decode("utf-8", "surrogatepass") for begin, end in zip([0, *ends], ends, strict=False)]
