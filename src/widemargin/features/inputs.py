"""What users pass as sequences, told apart once: tokens, tokens with columns, feature records, or matrices.

| one position of `X[i]` is | templates | it is taken as |
| --- | --- | --- |
| a string | any, or the default ones | a token |
| a dict | given | a token with named columns, ``{"word": …, "pos": …}`` |
| a list, set or dict | not given | ready-made features in python-crfsuite's conventions |
| a row of a NumPy or SciPy matrix | not given | feature values |
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widemargin.columns import Column, Columns, boundaries
from widemargin.errors import DataError
from widemargin.features.attributes import Resources
from widemargin.features.base import Extractor
from widemargin.features.matrices import MatrixExtractor
from widemargin.features.records import RecordExtractor
from widemargin.features.template_extractor import TemplateExtractor
from widemargin.features.templates import DEFAULT_TEMPLATES


def choose_extractor(
    X: Any,
    templates: str | Sequence[str] | None,
    resources: Resources,
    *,
    min_count: int = 1,
    hash_bits: int | None = None,
) -> Extractor:
    """The extractor for sequences like those of `X`."""
    position = _first_position(X)
    if templates is not None or isinstance(X, Columns) or isinstance(position, str):
        chosen = DEFAULT_TEMPLATES if templates is None else templates
        return TemplateExtractor(chosen, resources, min_count=min_count, hash_bits=hash_bits)
    if _is_matrix(position):
        return MatrixExtractor()
    return RecordExtractor(min_count=min_count, hash_bits=hash_bits)


def prepared(X: Any, extractor: Extractor) -> Any:
    """`X` in the form that the extractor takes, checked."""
    if isinstance(extractor, TemplateExtractor):
        return X if isinstance(X, Columns) else as_columns(X)
    if isinstance(X, Columns):
        raise DataError("this model was trained on ready-made features; tokens in columns cannot be used with it")
    return _checked(X)


def as_columns(X: Sequence[Sequence[Any]]) -> Columns:
    """Sequences of strings, or of dicts from column names to strings, as columns.

    >>> as_columns([["to", "be"], [], ["or"]]).indptr.tolist()
    [0, 2, 2, 3]
    """
    X = _checked(X)
    position = _first_position(X)
    names: Sequence[str] = list(position) if isinstance(position, Mapping) else ["word"]
    flat: dict[str, list[str]] = {name: [] for name in names}
    for i, sequence in enumerate(X):
        for t, token in enumerate(sequence):
            if isinstance(token, Mapping) != isinstance(position, Mapping):
                raise DataError(f"sequence {i}, position {t}: {token!r} is not of the same kind as the first token")
            for name in names:
                value = token.get(name) if isinstance(token, Mapping) else token
                if not isinstance(value, str):
                    raise DataError(f"sequence {i}, position {t}: a string is wanted as {name!r}, not {value!r}")
                flat[name].append(value)
    return Columns({name: Column.of(strings) for name, strings in flat.items()}, boundaries(map(_length, X)))


def _checked(X: Any) -> Any:
    if isinstance(X, str | bytes | Mapping) or not hasattr(X, "__len__"):
        raise DataError(f"X must be a list of sequences, not {type(X).__name__}")
    for i, sequence in enumerate(X):
        if isinstance(sequence, str | bytes | Mapping) or not (hasattr(sequence, "__len__") or _is_matrix(sequence)):
            raise DataError(f"X[{i}] must be a sequence of positions, not {sequence!r:.60}")
    return X


def _length(sequence: Any) -> int:
    return int(sequence.shape[0]) if _is_matrix(sequence) else len(sequence)


def lengths(X: Any) -> list[int]:
    """How many positions each sequence has."""
    return np.diff(X.indptr).tolist() if isinstance(X, Columns) else [_length(sequence) for sequence in X]


def _is_matrix(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _first_position(X: Any) -> Any:
    """The first position of all; the matrix itself where sequences are matrices, None where all are empty."""
    if isinstance(X, Columns):
        return None
    for sequence in _checked(X):
        if _is_matrix(sequence):
            return sequence
        if len(sequence):
            return sequence[0]
    return None
