"""Kernels that call kernels: the same results as in Python, and every array is freed once."""

import gc
import resource
import sys
from typing import NamedTuple

import numpy as np
import pytest

from widemargin import _jit
from widemargin._jit import kernel
from widemargin.core.loop import fit
from widemargin.data.generators import addresses
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.training import Data

layered = pytest.mark.skipif(_jit._WAY != "layered", reason="looks at kernels as widemargin._compiler makes them")


class Pair(NamedTuple):
    """Two arrays."""

    first: np.ndarray
    second: np.ndarray


@kernel
def entry(pair, row, column):
    return pair.first[row][column] + pair.second[column]


@kernel
def total(pair):
    result = 0.0
    for row in range(len(pair.first)):
        for column in range(len(pair.second)):
            result += entry(pair, row, column)
    return result


@kernel
def same(pair):
    return pair


@kernel
def part(values, begin):
    return values[begin:]


@kernel
def doubled(values):
    result = np.empty(len(values))
    for k in range(len(values)):
        result[k] = 2.0 * values[k]
    return result


@kernel
def through_all(pair, begin):
    """Arrays that are passed on, cut, allocated and dropped."""
    kept = same(pair).second
    result = doubled(part(kept, begin))
    for _ in range(3):
        result = doubled(part(result, 0))
    return same(pair), result


@kernel
def doubled_second(pair):
    """A new array from a NamedTuple that is the caller's."""
    return doubled(pair.second)


@kernel
def checked(values, at):
    if at >= len(values):
        raise IndexError("there is no such value")
    return values[at]


@kernel
def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


@kernel
def at(values, k):
    return values[k]


@kernel
def several(values, places):
    """Whole numbers as they come: known ones, short ones, long ones."""
    return at(values, 0) + at(values, -2) + at(values, places[1]) + at(values, len(values) - 1)


@kernel
def second(values):
    return checked(values, 1)


def pair():
    return Pair(np.arange(12.0).reshape(3, 4), np.arange(4.0))


def test_a_kernel_is_the_same_from_python_and_from_kernels():
    values = pair()
    assert part(values.second, 2).tolist() == [2.0, 3.0]
    assert total(values) == np.sum(values.first + values.second)


def test_arrays_are_freed_once():
    values = pair()
    before = [sys.getrefcount(each) for each in values]
    for _ in range(20):
        kept, result = through_all(values, 1)
        assert result.tolist() == [16.0, 32.0, 48.0]
        assert kept.second.tolist() == [0.0, 1.0, 2.0, 3.0]
        assert total(kept) == total(values)
    del kept, result
    assert [sys.getrefcount(each) for each in values] == before


def test_what_is_only_read_is_let_go():
    values = pair()
    before = [sys.getrefcount(each) for each in values]
    for _ in range(20):
        assert doubled_second(values).tolist() == [0.0, 2.0, 4.0, 6.0]
    assert [sys.getrefcount(each) for each in values] == before


@pytest.mark.parametrize("solver", ["auto", "dcd", "sdm", "bcfw", "one-slack", "perceptron", "mira", "adagrad", "crf"])
def test_training_lets_go_of_its_data(solver):
    parameters = TaggerParameters(solver=solver, max_epochs=3, tol=None)
    plan = Plan.of(parameters)
    compiled = compile_tags(parameters, Data(*addresses(10)))
    arrays = [compiled.examples.indptr, *compiled.examples.features.rows, compiled.examples.gold]
    before = [sys.getrefcount(each) for each in arrays]
    for _ in range(2):
        fit(plan.problem(compiled.examples), plan.solver, stop=plan.stop)
    gc.collect()
    assert [sys.getrefcount(each) for each in arrays] == before


def test_a_part_outlives_its_array():
    values = np.arange(1000.0)
    view = part(values, 990)
    del values
    np.full(1000, -1.0)
    assert view.tolist() == list(range(990, 1000))


@kernel
def either(values, other, first):
    """A variable that holds a part of an argument, or a new array."""
    row = values[0]
    if not first:
        row = doubled(other)
    total = 0.0
    for number in row:
        total += number
    return total


@kernel
def longest_row(values):
    """A part of an argument that is kept from one turn of a loop to the next, and returned."""
    best = values[0]
    for row in values:
        if row.sum() > best.sum():
            best = row
    return best


@kernel
def cut_again(values):
    """New arrays that go while their parts are still read, and parts that go while the array is still read."""
    total = 0.0
    for _ in range(10):
        values = doubled(values)[1:]
        first, rest = values[:1], (values[1:], values)
        values = rest[1]
        total += first[0] + Pair(rest[0], first).first[0]
    return total


@kernel
def written(n):
    """Rows of an array made here, in a NamedTuple made here."""
    pair = Pair(np.zeros((n, 3)), np.zeros(n))
    for k in range(n):
        pair.first[k][:] = k
        pair.second[k] = pair.first[k].sum() + checked(pair.first[k][1:], 0)
    picked = pair.first[np.array([n - 1, 0])]  # an index with arrays makes a new array
    return Pair(picked, pair.second)


def test_parts_and_new_arrays_in_one_variable():
    values, other = np.arange(6.0).reshape(2, 3), np.ones(2)
    before = [sys.getrefcount(each) for each in (values, other)]
    for _ in range(20):
        assert either(values, other, True) == 3.0
        assert either(values, other, False) == 4.0
        kept = longest_row(values)
        assert kept.tolist() == [3.0, 4.0, 5.0]
        del kept
    assert [sys.getrefcount(each) for each in (values, other)] == before


def test_no_memory_is_kept():
    numbers = np.arange(100_000.0)
    calls = [lambda: cut_again(numbers), lambda: written(30_000), lambda: either(numbers[None], numbers, False)]
    assert cut_again(np.arange(20.0)) == cut_again.py_func(np.arange(20.0))
    assert [each.tolist() for each in written(3)] == [each.tolist() for each in written.py_func(3)]
    for call in calls:
        call()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(100):
            call()
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # of 80,000 kilobytes made


def test_errors_come_through():
    assert second(np.arange(2.0)) == 1.0
    with pytest.raises(IndexError, match="no such value"):
        second(np.arange(1.0))


def test_a_kernel_may_call_itself():
    assert factorial(5) == 120


def test_whole_numbers_of_all_widths():
    values, places = np.array([1.0, 10.0, 100.0]), np.array([0, 1], dtype=np.int32)
    assert several(values, places) == 121.0


@layered
def test_kernels_that_python_does_not_call_have_one_version_and_no_machine_code():
    called = _jit._compile("layered", at.py_func, None)  # not kept, and so compiled here

    def calling(values, places):
        return called(values, 0) + called(values, -2) + called(values, places[1]) + called(values, len(values) - 1)

    assert _jit._compile("layered", calling, None)(np.arange(3.0), np.array([0, 1], dtype=np.int32)) == 4.0
    assert not called.overloads
    assert [str(k) for _, k in called._compiler.body.overloads] == ["int64"]
