"""Data as tests hold them: corpora, rows of (index, value), and small examples with all their outputs."""

import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from widemargin.core.sparse import Rows


def corpus(name: str) -> Path:
    """The corpus file `name`, such as `wnut17/train.conll`; the test is skipped where there is none."""
    folder = Path(os.environ.get("WIDEMARGIN_DATA") or Path(__file__).parents[3] / "shared" / "data")
    path = folder / name
    if not path.exists():
        pytest.skip(f"{name} is not in {folder}; set WIDEMARGIN_DATA to the folder of the corpora")
    return path


def rows(lists, *, binary=False):
    """Lists of (index, value) as compressed rows; binary ones without values."""
    entries = [entry for row in lists for entry in row]
    return Rows(
        np.cumsum([0, *map(len, lists)], dtype=np.int64),
        np.array([index for index, _ in entries], dtype=np.int32),
        np.empty(0) if binary else np.array([value for _, value in entries], dtype=np.float64),
    )


def as_dicts(compressed):
    """Each row as a dict from index to value."""
    indptr, indices, values = (part.tolist() for part in compressed)
    return [dict(zip(indices[i:j], values[i:j], strict=True)) for i, j in pairwise(indptr)]


class Small(NamedTuple):
    """Examples so small that all their outputs can be listed."""

    examples: Any
    outputs: Callable[[int], Iterator[Any]]
    gold: Any
    position_errors: Callable[[int, Any], Any] | None = None
