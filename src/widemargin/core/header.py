"""The fields of a header: each declares once what its value must be, checks the value, and describes it in words.

    FIELDS = {"labels": names(), "hash_bits": whole(at_least=1, at_most=29), "calibration": optional(mapping(number()))}

A field is a function of a value and its place that returns the value, or raises an error that names the file, the field
and the value. Every value of a file passes such a function before other code reads it. Undeclared fields are ignored:
a later version may have added them.
"""

import math
from collections.abc import Callable, Mapping
from reprlib import Repr
from typing import Any, NamedTuple, TypeAlias

from widemargin.errors import ModelFileError

DEEPEST = 100
"""Headers that nest deeper are refused, since Python's stack is finite."""

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 40
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict = 2, 3, 2


class Place(NamedTuple):
    """A file, in words, and the name of a field in it; "" is the whole header."""

    file: str
    field: str = ""

    def at(self, name: object) -> "Place":
        """The place of a part of this field."""
        return Place(self.file, f"{self.field}.{name}" if self.field else str(name))

    def error(self, complaint: str) -> ModelFileError:
        """The error about this file: one line of characters that can be printed, whatever names the file holds."""
        sentence = f"{self.file} {complaint}".encode("utf-8", "backslashreplace").decode()
        return ModelFileError(sentence.replace("\n", "\\n").replace("\r", "\\r"))

    def damaged(self, complaint: str) -> ModelFileError:
        """The error that this file is damaged."""
        return self.error(f"is damaged: {complaint}")

    def wrong(self, value: Any, wanted: str) -> ModelFileError:
        """The error that the value here is not the wanted one."""
        return self.damaged(f"{_shorten(self.field) or 'its header'} is {_shorten(_SHORT.repr(value))}, not {wanted}")

    def missing(self) -> ModelFileError:
        """The error that this field is missing."""
        return self.damaged(f"it has no {_shorten(self.field)}")


class Range(NamedTuple):
    """Numbers of at least `least`, above `above`, at most `most` and below `below`; None sets no limit."""

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None

    def holds(self, value: float) -> bool:
        """Whether a number is in the range; NaN is in none with a limit."""
        low = (self.least is None or value >= self.least) and (self.above is None or value > self.above)
        return low and (self.most is None or value <= self.most) and (self.below is None or value < self.below)

    def __str__(self) -> str:
        """The range in words that follow "a number".

        >>> print(f"a number{Range(1, most=3)}, a number{Range(above=0.0, most=0.5)}, a number{Range()}")
        a number from 1 to 3, a number above 0 and at most 0.5, a number
        """
        if self.least is not None and self.most is not None:
            return f" from {_spell(self.least)} to {_spell(self.most)}"
        words = {"of at least": self.least, "above": self.above, "of at most": self.most, "below": self.below}
        said = [f" {word} {_spell(limit)}" for word, limit in words.items() if limit is not None]
        return " and".join(said).replace(" and of at", " and at")


def _spell(limit: float) -> str:
    return f"{limit:g}" if isinstance(limit, float) else str(limit)


Field: TypeAlias = Callable[[Any, Place], Any]
Fields: TypeAlias = Mapping[str, Field]


def _that(holds: Callable[[Any], bool], wanted: str) -> Field:
    def read(value: Any, place: Place) -> Any:
        if not holds(value):
            raise place.wrong(value, wanted)
        return value

    return read


def text(*, at_most: int | None = None) -> Field:
    """A text, perhaps of bounded length."""
    wanted = "a text" if at_most is None else f"a text of at most {at_most} characters"
    return _that(lambda value: isinstance(value, str) and (at_most is None or len(value) <= at_most), wanted)


def flag() -> Field:
    """True or false."""
    return _that(lambda value: type(value) is bool, "true or false")


def whole(*, at_least: int | None = None, at_most: int | None = None) -> Field:
    """A whole number.

    >>> whole(at_least=1)(0, Place("the model a.wm", "hash_bits"))
    Traceback (most recent call last):
        ...
    widemargin.errors.ModelFileError: the model a.wm is damaged: hash_bits is 0, not a whole number of at least 1
    """
    limits = Range(at_least, most=at_most)
    return _that(lambda value: type(value) is int and limits.holds(value), f"a whole number{limits}")


def number(*, at_least: float | None = None, at_most: float | None = None, finite: bool = True) -> Field:
    """A number; with `finite` False also NaN and infinities."""
    limits = Range(at_least, most=at_most)
    return _that(
        lambda value: type(value) in (int, float) and _is_float(value, finite) and limits.holds(value),
        f"a {'finite ' * finite}number{limits}",
    )


def one_of(*values: Any) -> Field:
    """One of these values, and of their type: `true` is not 1."""
    return _that(
        lambda value: any(type(value) is type(each) and value == each for each in values),
        " or ".join(map(repr, values)) if len(values) < 3 else f"one of {', '.join(map(repr, values))}",
    )


def plain() -> Field:
    """A value that stands for itself: a text, a number, true, false, null or a list of texts."""
    return _that(
        lambda value: (
            all(isinstance(each, str) for each in value)
            if isinstance(value, list)
            else value is None or isinstance(value, str | int | float)
        ),
        "a text, a number, true, false, null or a list of texts",
    )


def optional(field: Field) -> Field:
    """Null, or a value of this kind."""
    return lambda value, place: value if value is None else field(value, place)


def many(field: Field, *, at_least: int = 0, at_most: int | None = None) -> Field:
    """A list with these values."""
    limits = Range(at_least or None, most=at_most)
    a_list = _that(
        lambda value: isinstance(value, list) and limits.holds(len(value)),
        f"a list{limits}{' values' * (limits != Range())}",
    )

    def read(value: Any, place: Place) -> Any:
        for k, each in enumerate(a_list(value, place)):
            field(each, place.at(k))
        return value

    return read


def row(*fields: Field) -> Field:
    """A list with one value of each kind."""
    a_list = _that(
        lambda value: isinstance(value, list) and len(value) == len(fields), f"a list of {len(fields)} values"
    )

    def read(value: Any, place: Place) -> Any:
        for k, (field, each) in enumerate(zip(fields, a_list(value, place), strict=True)):
            field(each, place.at(k))
        return value

    return read


def names(*kinds: type, at_least: int = 0) -> Field:
    """A list of distinct values of one type, which is one of the `kinds`; texts unless said otherwise."""
    kinds = kinds or (str,)
    called = " or all ".join(
        {str: "texts", int: "whole numbers", float: "numbers", bool: "flags"}[kind] for kind in kinds
    )
    return _that(
        lambda value: (
            isinstance(value, list)
            and len(value) >= at_least
            and (not value or type(value[0]) in kinds)
            and all(type(each) is type(value[0]) for each in value)
            and len(set(value)) == len(value)
        ),
        f"a list of distinct values, all {called}" + (f", {at_least} or more" if at_least else ""),
    )


def mapping(field: Field, *, keys: Field | None = None, at_least: int = 0) -> Field:
    """An object with values of one kind and any names, or with names that `keys` allows."""
    an_object = _that(
        lambda value: isinstance(value, dict) and len(value) >= at_least,
        "an object" + (f" with {at_least} or more fields" if at_least else ""),
    )

    def read(value: Any, place: Place) -> Any:
        for name, each in an_object(value, place).items():
            if keys is not None:
                keys(name, place)
            field(each, place.at(name))
        return value

    return read


def record(fields: Fields, perhaps: Fields | None = None) -> Field:
    """An object with all of `fields`, and perhaps some of `perhaps`."""
    an_object = _that(lambda value: isinstance(value, dict), "an object")

    def read(value: Any, place: Place) -> Any:
        an_object(value, place)
        for name, field in fields.items():
            if name not in value:
                raise place.at(name).missing()
            field(value[name], place.at(name))
        for name, field in (perhaps or {}).items():
            if name in value:
                field(value[name], place.at(name))
        return value

    return read


def check_depth(header: Any, place: Place) -> None:
    """Raise an error about values that nest too deep for the functions that walk through them."""
    level = [header]
    for _ in range(DEEPEST):
        level = [
            each
            for value in level
            if isinstance(value, dict | list)
            for each in (value.values() if isinstance(value, dict) else value)
            if isinstance(each, dict | list)
        ]
        if not level:
            return
    raise place.damaged(f"its header nests deeper than {DEEPEST}")


def _is_float(value: float, finite: bool) -> bool:
    """Whether this fits a float, and is finite if it must be; whole numbers in JSON can be larger than any float."""
    try:
        return math.isfinite(value) or not finite
    except OverflowError:
        return False


def _shorten(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
