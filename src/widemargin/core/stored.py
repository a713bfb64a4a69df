"""The contents of a file as its readers ask for them: every field and every tensor is checked when it is read.

Kernels trust their arguments, so every value returned here has the type, shape and range that were asked for. The sizes
that a header claims are compared with the stored tensors before anything is allocated.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from widemargin._types import AnyArray, FloatVector, IntVector, LongVector
from widemargin.core.header import Field, Fields, Place, check_depth, record
from widemargin.core.sparse import Rows
from widemargin.errors import ModelFileError, WidemarginError

T = TypeVar("T")


class Stored(NamedTuple):
    """A header, or an object in it, and all tensors of its file; the names of its own tensors have the `prefix`."""

    place: Place
    header: Any
    tensors: Mapping[str, AnyArray]
    prefix: str = ""

    def checked(self, fields: Fields, perhaps: Fields | None = None) -> dict[str, Any]:
        """The header, checked to have all of `fields`, and perhaps some of `perhaps`."""
        found: dict[str, Any] = record(fields, perhaps)(self.header, self.place)
        return found

    def part(self, name: str) -> "Stored":
        """An object in the header."""
        return self._replace(place=self.place.at(name), header=self.checked({name: record({})})[name])

    def within(self, name: str) -> "Stored":
        """An object in the header with tensors of its own, whose names begin with that of the object."""
        return self.part(name)._replace(prefix=f"{self.prefix}{name}.")

    def build(self, make: Callable[..., T], *args: Any, **options: Any) -> T:
        """The result of `make`; its errors become errors about the file."""
        try:
            return make(*args, **options)
        except ModelFileError:
            raise
        except WidemarginError as error:
            raise self.place.damaged(str(error)) from None
        except MemoryError:
            raise ModelFileError(f"{self.place.file} needs more memory than there is") from None

    def tensor(self, name: str, dtype: type[np.generic], shape: Sequence[int | None]) -> AnyArray:
        """The tensor `name`, checked to have this type and shape; None in the shape is any size."""
        if self.prefix + name not in self.tensors:
            raise self._tensor(name).missing()
        found = self.tensors[self.prefix + name]
        if found.dtype != dtype or not _is_like(found.shape, shape):
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise self._wrong_tensor(
                name, f"is {found.dtype} of shape {found.shape}, not {dtype.__name__} of ({wanted})"
            )
        return found

    def vector(self, name: str, dtype: type[np.generic], size: int | None = None) -> AnyArray:
        """The tensor `name`, a vector of this type, and of this size if given."""
        return self.tensor(name, dtype, [size])

    def indices(self, name: str, dtype: type[np.signedinteger[Any]], below: int) -> AnyArray:
        """The tensor `name`, a vector of numbers from 0 up to, but not including, `below`."""
        found = self.vector(name, dtype)
        if len(found) and not 0 <= found.min() <= found.max() < below:
            raise self._wrong_tensor(
                name, f"has numbers from {found.min()} to {found.max()}, not from 0 to {below - 1}"
            )
        return found

    def rows(self, name: str, n_rows: int, width: int) -> Rows:
        """The `n_rows` sparse rows that `packed_rows` packed, with indices below `width`."""
        indptr: LongVector = self.vector(f"{name}.indptr", np.int64, n_rows + 1)
        indices: IntVector = self.indices(f"{name}.indices", np.int32, width)
        values: FloatVector = self.vector(f"{name}.values", np.float64, len(indices))
        if indptr[0] != 0 or indptr[-1] != len(indices) or not (indptr[1:] >= indptr[:-1]).all():
            raise self._wrong_tensor(
                f"{name}.indptr", f"does not lead from 0 up to {len(indices)}, the number of indices"
            )
        return Rows(indptr, indices, values)

    def strings(self, name: str, n: int | None = None) -> Callable[[], list[str]]:
        """A function that decodes the strings of `packed_strings`; prediction never calls it for feature names."""
        text, lengths = self.vector(f"{name}.text", np.uint8), self.vector(f"{name}.lengths", np.int64, n)
        # Each length is checked, too: a sum of large numbers may overflow and be right by chance.
        if ((lengths < 0) | (lengths > len(text))).any() or lengths.sum() != len(text):
            raise self._wrong_tensor(f"{name}.lengths", f"does not add up to the {len(text)} bytes of the text")
        return partial(_decode, self._tensor(f"{name}.text"), text, lengths)

    def json(self, name: str, field: Field) -> Any:
        """The value that is stored as one string of JSON, because it is too large for a header."""
        place = self._tensor(f"{name}.text")
        (text,) = self.strings(name, 1)()
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise place.damaged(f"{place.field} is not JSON") from None
        check_depth(value, place)
        return field(value, Place(self.place.file, name))

    def _tensor(self, name: str) -> Place:
        return Place(self.place.file, f"tensor {self.prefix}{name}")

    def _wrong_tensor(self, name: str, complaint: str) -> ModelFileError:
        return self.place.damaged(f"its tensor {self.prefix}{name} {complaint}")


def packed_rows(name: str, rows: Rows) -> dict[str, AnyArray]:
    """Sparse rows as tensors."""
    return {f"{name}.{part}": array for part, array in rows._asdict().items()}


def packed_strings(name: str, strings: Sequence[str]) -> dict[str, AnyArray]:
    """A list of strings as two tensors whose names begin with `name`.

    >>> packed = packed_strings("names", ["a", "", "æ"])
    >>> Stored(Place("the model a.wm"), {}, packed).strings("names")()
    ['a', '', 'æ']
    """
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    return {
        f"{name}.text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{name}.lengths": np.array([len(each) for each in encoded], dtype=np.int64),
    }


def _decode(place: Place, text: AnyArray, lengths: LongVector) -> list[str]:
    content, ends = text.tobytes(), np.cumsum(lengths).tolist()
    try:
        return [
            content[begin:end].decode("utf-8", "surrogatepass") for begin, end in zip([0, *ends], ends, strict=False)
        ]
    except UnicodeDecodeError as error:
        raise place.damaged(f"{place.field} holds {error.object[:20]!r}, which is not UTF-8") from None


def _is_like(found: Sequence[int], wanted: Sequence[int | None]) -> bool:
    return len(found) == len(wanted) and all(w is None or f == w for f, w in zip(found, wanted, strict=True))
