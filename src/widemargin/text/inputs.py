"""The kinds of sequences that users pass, and the extractor for each: tokens, columns, feature records, or matrices.

| one position of `X[i]` is | templates | it is taken as |
| --- | --- | --- |
| a string | any, or the default ones | a token |
| a dict | given | a token with named columns, ``{"word": …, "pos": …}`` |
| a list, set or dict | not given | ready-made features in python-crfsuite's conventions |
| a row of a NumPy or SciPy matrix | not given | feature values |
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from widemargin._types import AnyArray
from widemargin.core.header import one_of
from widemargin.core.sparse import boundaries
from widemargin.core.stored import Stored
from widemargin.errors import DataError, WidemarginError
from widemargin.text.attributes import Resources
from widemargin.text.columns import Column, Columns, LazyColumns, places
from widemargin.text.extractor import Extractor
from widemargin.text.matrices import MatrixExtractor
from widemargin.text.records import RecordExtractor
from widemargin.text.template_extractor import TemplateExtractor
from widemargin.text.template_sets import SETS, spelt_out
from widemargin.text.templates import DEFAULT_TEMPLATES


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
        chosen = DEFAULT_TEMPLATES if templates is None else spelt_out(templates, resources)
        return TemplateExtractor(chosen, resources, min_count=min_count, hash_bits=hash_bits)
    if _is_matrix(position):
        return MatrixExtractor()
    return RecordExtractor(min_count=min_count, hash_bits=hash_bits)


def prepare(X: Any, extractor: Extractor) -> Any:
    """`X` in the form that the extractor takes, checked."""
    if isinstance(extractor, TemplateExtractor):
        return as_columns(X)
    if isinstance(X, Columns):
        raise DataError("this model was trained on ready-made features; tokens in columns cannot be used with it")
    return _check_sequences(X)


def check_templates(extractor: Extractor, X: Any, y: Any) -> None:
    """Refuse templates that read the label column to be predicted, and a word that names no column."""
    if not isinstance(extractor, TemplateExtractor):
        return
    if X.n_tokens and len(extractor.texts) == 1 and extractor.columns_read == extractor.texts:
        check_word(extractor.texts[0], X)
    if not isinstance(y, Column):
        return
    for template in extractor.templates + extractor.transition_templates:
        for atom in template.atoms:
            if atom.attribute != "bias" and X[atom.column].codes is y.codes:
                raise WidemarginError(
                    f"the template {template.text!r} reads the label column {atom.column!r}, which is to be predicted"
                )


def check_word(word: str, X: Columns) -> None:
    """Refuse a word as the only template if it names no column; it may be a misspelt set of templates."""
    if word not in X:
        columns, sets = ", ".join(map(repr, X.names)), ", ".join(SETS)
        raise WidemarginError(
            f"{X.source} has no column {word!r}; it has {columns}. Nor is it a set of templates; there are {sets}"
        )


def as_columns(X: Columns | Sequence[Sequence[Any]]) -> Columns:
    """Sequences of strings, or of dicts from column names to strings, as columns; columns stay as they are.

    >>> as_columns([["to", "be"], [], ["or"]]).indptr.tolist()
    [0, 2, 2, 3]
    """
    if isinstance(X, Columns):
        return X
    sequences = _check_sequences(X)
    indptr = places(sequences)
    flat = list(chain.from_iterable(sequences))
    kinds = set(map(type, flat))
    if kinds <= {str}:
        return Columns(LazyColumns({"word": partial(list, flat)}, {}), indptr)
    names = list(flat[0]) if isinstance(flat[0], Mapping) else []
    for place, token in enumerate(flat):
        if not _is_token(token, names):
            i = int(np.searchsorted(indptr, place, side="right")) - 1
            wanted = f"a dict with strings as {', '.join(map(repr, names))}" if names else "a string"
            raise DataError(f"sequence {i}, position {place - indptr[i]}: {wanted} is wanted, not {token!r:.60}")
    if not names:
        return Columns(LazyColumns({"word": partial(list, [*map(str, flat)])}, {}), indptr)
    return Columns(LazyColumns({name: partial(_strings, flat, name) for name in names}, {}), indptr)


def as_tagged(X: Any) -> Columns:
    """Tagged sentences, pairs (words, tags) or anything else with the columns ``word`` and ``pos``, as columns.

    >>> as_tagged([(["to", "be"], ["TO", "VB"])])["pos"].values
    ['TO', 'VB']
    """
    if isinstance(X, Columns):
        return X
    # A tuple may also be a sentence of two words.
    if not all(
        isinstance(pair, tuple) and len(pair) == 2 and not isinstance(pair[0], str) for pair in _check_sequences(X)
    ):
        return as_columns(X)
    for i, (words, tags) in enumerate(X):
        if len(words) != len(tags):
            raise DataError(f"sentence {i} has {len(words)} words, but {len(tags)} tags")
    parts = ((name, chain.from_iterable(pair[k] for pair in X)) for k, name in enumerate(("word", "pos")))
    return Columns({name: Column.of(map(str, flat)) for name, flat in parts}, boundaries(len(words) for words, _ in X))


def _strings(tokens: Sequence[Mapping[str, str]], name: str) -> list[str]:
    return [token[name] for token in tokens]


def _is_token(token: Any, names: Sequence[str]) -> bool:
    if not names:
        return isinstance(token, str)
    return isinstance(token, Mapping) and all(isinstance(token.get(name), str) for name in names)


def drain(values: Any, *, nested: bool = False) -> Any:
    """The values of a generator or another iterator, which can be read only once, as a list; all else as it is.

    With `nested`, iterators in a list are read as well.

    >>> drain(iter("ab")), drain([iter("ab"), "c"], nested=True)
    (['a', 'b'], [['a', 'b'], 'c'])
    """
    if isinstance(values, Iterator):
        values = list(values)
    if nested and isinstance(values, list) and any(issubclass(kind, Iterator) for kind in set(map(type, values))):
        return [drain(each) for each in values]
    return values


def is_frame(values: Any) -> bool:
    """Whether this is a data frame, of any library: it has named columns."""
    return not isinstance(values, Columns) and hasattr(values, "columns") and hasattr(values, "shape")


def _check_sequences(X: Any) -> Any:
    if type(X) is list and set(map(type, X)) <= {list, tuple}:
        return X  # the usual case, checked quickly
    if isinstance(X, str | bytes | Mapping) or not (hasattr(X, "__len__") or _is_matrix(X)):
        raise DataError(f"X must be a list of sequences, not {type(X).__name__}")
    if is_frame(X):
        raise DataError("X is a data frame; widemargin.data.from_frame makes sequences from one with a row per token")
    if _is_matrix(X) and len(X.shape) == 2 and X.dtype.kind in "biufc":
        raise DataError(
            f"X is one matrix of shape {X.shape}; a list of matrices is wanted, one per sequence with a row per "
            "position: [X] for a single sequence"
        )
    for i, sequence in enumerate(X):
        if isinstance(sequence, str | bytes | Mapping) or not (hasattr(sequence, "__len__") or _is_matrix(sequence)):
            raise DataError(f"X[{i}] must be a sequence of positions, not {sequence!r:.60}{_remedy(sequence)}")
    return X


def _remedy(sequence: Any) -> str:
    if isinstance(sequence, str) and len(sequence.split()) > 1:
        return "; split texts into tokens"
    return "; a single sequence of tokens is given as [X]" if isinstance(sequence, str | Mapping) else ""


def _length(sequence: Any) -> int:
    return int(sequence.shape[0]) if _is_matrix(sequence) else len(sequence)


def lengths(X: Any) -> list[int]:
    """How many positions each sequence has."""
    return np.diff(X.indptr).tolist() if isinstance(X, Columns) else [_length(sequence) for sequence in X]


def _is_matrix(value: Any) -> bool:
    return hasattr(value, "dtype") and len(getattr(value, "shape", ())) > 0


def _first_position(X: Any) -> Any:
    """The first position of the first sequence that has one; a matrix itself if sequences are matrices; or None."""
    if isinstance(X, Columns):
        return None
    for sequence in _check_sequences(X):
        if _is_matrix(sequence) and len(sequence.shape) == 2:
            return sequence
        if _length(sequence):
            return next(iter(sequence))
    return None


KINDS: dict[str, type[TemplateExtractor] | type[RecordExtractor] | type[MatrixExtractor]] = {
    "templates": TemplateExtractor,
    "records": RecordExtractor,
    "matrix": MatrixExtractor,
}


def describe(extractor: Extractor) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """An extractor as JSON and arrays."""
    header, arrays = extractor.describe()
    kind = next(name for name, cls in KINDS.items() if isinstance(extractor, cls))
    return {"kind": kind, **header}, arrays


def restore(stored: Stored) -> Extractor:
    """The extractor that `describe` described."""
    return KINDS[stored.checked({"kind": one_of(*KINDS)})["kind"]].restore(stored)
