"""Digests of contents: the same examples made twice agree, before and after training; any change shows."""

from functools import cached_property

import numpy as np
import pytest

from helpers import STRUCTURES, Sign
from widemargin.core.contents import contents_digest, listed_digest
from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.solvers import Perceptron
from widemargin.structures.custom import custom_examples


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_structure_is_known_by_its_contents(name):
    one, other = STRUCTURES[name]().examples, STRUCTURES[name]().examples
    before = listed_digest(one)
    assert listed_digest(other) == before
    fit(Problem(one), Perceptron(), stop=Stop(epochs=1))
    assert listed_digest(one) == before


def test_structures_differ():
    assert len({listed_digest(make().examples) for make in STRUCTURES.values()}) == len(STRUCTURES)


class Cautious(Sign):
    """A structure with a price, and with things that it remembers."""

    def __init__(self, price=1.0):
        self.price, self._decoded = price, {}

    def error(self, y, y_hat):
        return self.price * (y != y_hat)

    def decode(self, x, w, y=None):
        self._decoded[len(self._decoded)] = x
        return super().decode(x, w, y)


class Generous(Cautious):
    def error(self, y, y_hat):
        return 0.5 * self.price * (y != y_hat)


class Token:
    """An input that is an object."""

    def __init__(self, value):
        self.value = value

    def __mul__(self, y):
        return self.value * y

    __rmul__ = __mul__

    @cached_property
    def derived(self):
        return self.value + 1


def own(structure=Cautious, price=1.0, X=(1.0, -2.0, 3.0), y=(1, -1, -1)):
    return custom_examples(structure(price), [Token(x) for x in X], list(y))


def test_examples_of_ones_own_structures():
    one = own()
    before = listed_digest(one)
    assert contents_digest(one) is None
    fit(Problem(one), Perceptron(), stop=Stop(epochs=2))
    one.X[0].derived  # noqa: B018 — remembered from now on
    assert listed_digest(one) == listed_digest(own()) == before
    changed = [own(y=(1, 1, -1)), own(X=(1.0, -2.0, 3.5)), own(price=2.0), own(Generous), own(X=(1.0, 2.0, 3.0))]
    assert len({before, *map(listed_digest, changed)}) == 6


def test_shared_objects_are_looked_at_once_and_those_that_refer_to_themselves_end():
    large, circle = np.zeros(1 << 20), {"name": "a"}
    circle["itself"] = circle
    assert listed_digest([(i, large) for i in range(5000)]) != listed_digest([(i, large) for i in range(4999)])
    assert listed_digest([large, large]) == listed_digest([large, large.copy()])
    assert listed_digest(circle) != listed_digest(circle | {"name": "b"})
