"""Solvers refuse parameters that make no sense, when they are made and not in the middle of a run."""

from dataclasses import fields, replace

import numpy as np
import pytest

from helpers import problem
from widemargin import Problem, SequenceTagger
from widemargin.errors import DataError, WidemarginError
from widemargin.solvers import SOLVERS, named_solver

NUMBERS = [(name, each.name) for name, solver in SOLVERS.items() for each in fields(solver) if each.type is not bool]
CHOICES = [
    (name, parameter)
    for name, parameter in NUMBERS
    if "choices" in SOLVERS[name].__dataclass_fields__[parameter].metadata
]
NUMBERS = [row for row in NUMBERS if row not in CHOICES]


def test_every_number_has_a_range():
    assert len(NUMBERS) >= 30
    for name, parameter in NUMBERS:
        field = next(each for each in fields(SOLVERS[name]) if each.name == parameter)
        assert "range" in field.metadata, (name, parameter)


@pytest.mark.parametrize(("name", "parameter"), NUMBERS)
@pytest.mark.parametrize("value", [-1, -0.5, float("nan"), float("inf"), "1", True])
def test_nonsense_is_refused(name, parameter, value):
    if value == float("inf") and (name, parameter) == ("mira", "C"):
        return  # a hard margin
    with pytest.raises(WidemarginError, match=f"{parameter} of {type(SOLVERS[name]).__name__} must be a"):
        replace(SOLVERS[name], **{parameter: value})


@pytest.mark.parametrize(("name", "parameter"), CHOICES)
@pytest.mark.parametrize("value", ["other", None, 1])
def test_other_words_are_refused(name, parameter, value):
    with pytest.raises(WidemarginError, match=f"{parameter} of {type(SOLVERS[name]).__name__} must be one of .*not"):
        replace(SOLVERS[name], **{parameter: value})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("auto(batch_size=-1)", "batch_size of Auto must be a whole number of at least 1, not -1"),
        ("auto(period=0)", "period of Auto must be a whole number of at least 1, not 0"),
        ("auto(share=1.5)", "share of Auto must be a number above 0 and at most 1, not 1.5"),
        ("adagrad(eta=-1.0)", "eta of AdaGrad must be a number above 0, not -1.0"),
        ("adagrad(eta=0)", "eta of AdaGrad must be a number above 0, not 0"),
        ("adadelta(rho=1.0)", "rho of AdaDelta must be a number of at least 0 and below 1, not 1.0"),
        ("dcd(sweeps=-3)", "sweeps of DualCoordinateDescent must be a whole number of at least 0, not -3"),
        ("dcd(sweeps=0.5)", "must be a whole number"),
    ],
)
def test_nonsense_in_names_is_refused(text, complaint):
    with pytest.raises(WidemarginError) as error:
        named_solver(text)
    assert complaint in str(error.value)


def test_values_of_other_types_get_the_errors_of_the_library():
    training, _ = problem("chain")
    with pytest.raises(WidemarginError, match="C must be a number above 0, not '1'"):
        Problem(training.examples, C="1")
    with pytest.raises(DataError, match="sample_weight must be a number per example, not 'ab'"):
        Problem(training.examples, sample_weight="ab")
    with pytest.raises(DataError, match=r"X\[0\] must be a sequence of positions"):
        SequenceTagger().fit(np.arange(10.0), [["a"]] * 10)
