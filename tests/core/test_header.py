"""Fields of headers: each takes what it declares, and refuses all else in one sentence with file, field and value."""

import math

import pytest

from widemargin.core.header import (
    DEEPEST,
    Place,
    check_depth,
    flag,
    many,
    mapping,
    names,
    number,
    one_of,
    optional,
    plain,
    record,
    row,
    text,
    whole,
)
from widemargin.errors import ModelFileError

pytestmark = pytest.mark.interpreted

VALUES = [None, True, -1, 0, 3, 10**400, 0.5, math.inf, math.nan, "", "x", [], [1], ["a"], ["a", "a"], {}, {"a": 1}]


@pytest.mark.parametrize(
    ("field", "taken"),
    [
        (text(), ["", "x"]),
        (text(at_most=0), [""]),
        (flag(), [True]),
        (whole(), [-1, 0, 3, 10**400]),
        (whole(at_least=0, at_most=5), [0, 3]),
        (number(), [-1, 0, 3, 0.5]),
        (number(finite=False), [-1, 0, 3, 0.5, math.inf, math.nan]),
        (number(at_least=0.25), [3, 0.5]),
        (one_of(1, "x"), ["x"]),
        (optional(text()), [None, "", "x"]),
        (many(text()), [[], ["a"], ["a", "a"]]),
        (many(whole(), at_least=1), [[1]]),
        (names(), [[], ["a"]]),
        (names(str, int, at_least=1), [[1], ["a"]]),
        (mapping(whole()), [{}, {"a": 1}]),
        (mapping(whole(), keys=one_of("b")), [{}]),
        (mapping(whole(), at_least=1), [{"a": 1}]),
        (record({"a": whole()}), [{"a": 1}]),
        (record({}, {"a": text()}), [{}]),
        (row(text()), [["a"]]),
        (plain(), [*VALUES[:11], [], ["a"], ["a", "a"]]),
    ],
)
def test_a_field_takes_what_it_declares(field, taken):
    found = []
    for value in VALUES:
        try:
            found.append(field(value, Place("the model a.wm", "x")))
        except ModelFileError as error:
            sentence = str(error)
        else:
            assert found[-1] is value
            continue
        assert sentence.startswith("the model a.wm is damaged: ")
        assert len(sentence) < 250
        assert "\n" not in sentence
    assert [repr(each) for each in found] == [repr(each) for each in taken]


def refusal(field, value):
    with pytest.raises(ModelFileError) as caught:
        field(value, Place("the model a.wm"))
    return str(caught.value).removeprefix("the model a.wm is damaged: ")


def test_errors_name_the_field_and_the_value():
    fields = record({"rows": many(record({"gap": optional(number(at_least=0))}))}, {"kind": one_of("a", "b")})
    assert refusal(fields, []) == "its header is [], not an object"
    assert refusal(fields, {}) == "it has no rows"
    assert refusal(fields, {"rows": [{"gap": 1}, {}]}) == "it has no rows.1.gap"
    assert refusal(fields, {"rows": [{"gap": -1}]}) == "rows.0.gap is -1, not a finite number of at least 0"
    assert refusal(fields, {"rows": [], "kind": True}) == "kind is True, not 'a' or 'b'"
    assert refusal(whole(at_least=1, at_most=9), "x" * 1000).endswith("xxx', not a whole number from 1 to 9")


def test_errors_are_one_line_that_can_be_printed():
    sentence = refusal(mapping(whole()), {"a\nb\r\ud800": "c\nd"})
    assert sentence == "a\\nb\\r\\ud800 is 'c\\nd', not a whole number"
    sentence.encode()


def test_headers_may_not_nest_too_deep():
    value = []
    for _ in range(DEEPEST - 1):
        value = [value]
    check_depth({"a": 1}, Place("it"))
    check_depth(value, Place("it"))
    with pytest.raises(ModelFileError, match="nests deeper than 100"):
        check_depth({"a": value}, Place("it"))
