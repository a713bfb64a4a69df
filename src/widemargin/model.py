"""Model files: a safetensors container with a JSON header. Nothing in it is ever executed.

The header (the container's metadata entry ``widemargin``) says which version of the format this is, what structure the
model predicts, and all that is small: labels, templates, a summary of training. What is large lies in tensors, which
are mapped into memory on loading and read only where prediction touches them.
"""

import json
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import AnyArray
from widemargin._version import __version__
from widemargin.data.atomic import replacing
from widemargin.errors import ModelFileError

FORMAT = 1
ENTRY = "widemargin"
DTYPES = {"F64": np.float64, "U64": np.uint64, "I64": np.int64, "I32": np.int32, "U8": np.uint8}


class ModelFile(NamedTuple):
    """What a model file holds."""

    header: dict[str, Any]
    tensors: dict[str, AnyArray]


def write_model(path: str | os.PathLike[str], header: Mapping[str, Any], tensors: Mapping[str, AnyArray]) -> None:
    """Write a model file; either all of it or nothing."""
    from safetensors.numpy import save_file  # noqa: PLC0415 — not needed by those who only train

    entry = json.dumps({"format": FORMAT, "written_by": f"widemargin {__version__}", **header}, ensure_ascii=False)
    with replacing(path, "wb") as stream:
        try:
            save_file({name: np.ascontiguousarray(each) for name, each in tensors.items()}, stream.name, {ENTRY: entry})
        except OSError:
            raise
        except Exception as error:
            # The container's own errors are not OSErrors even when the disk is full.
            raise OSError(str(error)) from error


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Map a model file into memory, refusing what is not one."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as stream:
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise ModelFileError(f"the model {name} cannot be read: {error.strerror}") from error
    except ValueError:
        raise ModelFileError(f"the model {name} is empty") from None
    layout, begin = _layout(name, content)
    header = _header(name, layout.pop("__metadata__", {}))
    tensors = {}
    for key, entry in layout.items():
        try:
            dtype, (first, last), shape = DTYPES[entry["dtype"]], entry["data_offsets"], entry["shape"]
            flat = np.frombuffer(content, dtype, (last - first) // np.dtype(dtype).itemsize, begin + first)
            tensors[key] = flat.reshape(shape)
        except (KeyError, TypeError, ValueError):
            raise ModelFileError(f"the model {name} is damaged at the tensor {key!r}; it may be truncated") from None
    return ModelFile(header, tensors)


def _layout(name: str, content: mmap.mmap) -> tuple[dict[str, Any], int]:
    """The container's JSON header and where its data begin."""
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > 100_000_000 or content[8:9] != b"{":
        raise ModelFileError(f"{name} is not a widemargin model")
    if len(content) < 8 + size:
        raise ModelFileError(f"the model {name} is truncated")
    try:
        layout = json.loads(content[8 : 8 + size])
        assert isinstance(layout, dict)
    except (ValueError, AssertionError):
        raise ModelFileError(f"{name} is not a widemargin model") from None
    return layout, 8 + size


def _header(name: str, metadata: Any) -> dict[str, Any]:
    if not isinstance(metadata, dict) or ENTRY not in metadata:
        raise ModelFileError(f"{name} is a safetensors file, but not a widemargin model")
    try:
        header: dict[str, Any] = json.loads(metadata[ENTRY])
        version = int(header["format"])
    except (ValueError, TypeError, KeyError):
        raise ModelFileError(f"the model {name} has a damaged header") from None
    if version > FORMAT:
        raise ModelFileError(
            f"the model {name} has format {version}, written by {header.get('written_by')}; "
            f"this is widemargin {__version__}, which reads up to format {FORMAT}: please upgrade"
        )
    return header
