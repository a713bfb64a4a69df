"""A plan of training: what parameters mean, worked out once."""

from dataclasses import fields
from typing import Literal, get_args, get_origin

import pytest

from widemargin import SequenceTagger
from widemargin.core.header import Range
from widemargin.core.stop import Stop
from widemargin.crfsuite.algorithms import parameters_of, plan_of
from widemargin.errors import WidemarginError
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import SOLVERS, Auto, ProximalPoint
from widemargin.tasks import estimators, kinds, plan
from widemargin.tasks.parameters import check_parameters
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag import TaggerParameters

X, Y = [["an", "ox"], ["the", "cow", "ran"]], [["D", "N"], ["D", "N", "V"]]


@pytest.mark.parametrize(
    ("given", "solver", "objective", "loss"),
    [
        ({}, "auto", "margin", "squared_hinge"),
        ({"objective": "likelihood"}, "lbfgs", "likelihood", "hinge"),
        ({"penalty": "l1"}, "proximal", "margin", "squared_hinge"),
        ({"penalty": "l1", "objective": "likelihood"}, "lbfgs", "likelihood", "hinge"),
        ({"solver": "crf"}, "lbfgs", "likelihood", "hinge"),
        ({"solver": "crf", "objective": "softmax-margin"}, "lbfgs", "softmax-margin", "hinge"),
        ({"solver": "bcfw"}, "bcfw", "margin", "hinge"),
        ({"solver": SOLVERS["dcd"], "objective": OBJECTIVES["slack"]}, "dcd", "slack", "squared_hinge"),
    ],
)
def test_a_plan_has_the_solver_that_runs(given, solver, objective, loss):
    found = Plan.of(TaggerParameters(**given))
    assert found.solver is SOLVERS[solver]
    assert found.objective is OBJECTIVES[objective]
    assert found.loss == loss
    assert found.record["objective"] == objective
    assert found.record["C"] == found.C == (2.0 if loss == "hinge" and solver == "lbfgs" else 0.1)


def test_parameters_of_a_solver_go_to_the_solver_that_runs():
    assert Plan.of(TaggerParameters(solver="auto(share=0.5)", penalty="l1")).solver == Auto(share=0.5)
    assert Plan.of(TaggerParameters(solver="crf(memory=3)")).solver.memory == 3
    assert isinstance(Plan.of(TaggerParameters(penalty="l1")).solver, ProximalPoint)


def test_a_plan_says_when_to_stop_with_which_seed_and_how_many_threads():
    found = Plan.of(TaggerParameters(max_seconds=9.0, patience=3, tol=0.5, random_state=None, n_jobs=3, cut_memory=7.0))
    assert found.stop == Stop(epochs=100, seconds=9.0, gap=0.5, patience=3)
    assert (found.seed, found.n_threads, found.cut_memory) == (None, 3, 7.0)


def test_another_trade_off_is_recorded():
    found = Plan.of(TaggerParameters(C=0.3)).at(5.0)
    assert found.C == found.record["C"] == found.record["parameters"]["C"] == 5.0


def test_mistakes_are_found_before_anything_is_compiled():
    for mistake in ({"solver": "foo"}, {"objective": "foo"}, {"n_jobs": 0}, {"tol": -1.0}, {"C": "much"}):
        with pytest.raises(WidemarginError):
            SequenceTagger(**mistake).fit(None, None)


def test_names_are_looked_up_once_a_fit(monkeypatch):
    asked = []
    look_up = plan.named_solver
    monkeypatch.setattr(plan, "named_solver", lambda name, **more: asked.append(name) or look_up(name, **more))
    SequenceTagger(solver="dcd(sweeps=1)", templates="lower").fit(X, Y)
    assert asked == ["dcd(sweeps=1)"]


@pytest.mark.parametrize("name", ["auto", "dcd", "one-slack", "lbfgs(memory=3)"])
def test_the_usual_trade_off_is_the_same_for_taggers_and_for_crfsuite(name):
    values = {each: parameter.default for each, parameter in parameters_of(name).items()}
    for objective in ("margin", "likelihood", "softmax-margin"):
        wanted = Plan.of(TaggerParameters(solver=name, objective=objective)).C
        assert wanted == plan_of(name, values | {"objective": objective}).C


def test_every_task_has_a_plan():
    for kind in estimators().values():
        parameters = kind.parameters
        if "structure" not in {each.name for each in parameters.__dataclass_fields__.values()}:
            assert parameters.usual_C == Plan.of(parameters()).C


DECLARED = {
    (kind.parameters, field.name): field
    for _, kind in kinds()
    for field in fields(kind.parameters)
    if get_origin(field.type) is Literal or field.metadata["range"] != Range()
}


@pytest.mark.parametrize(("cls", "name"), DECLARED, ids=lambda each: getattr(each, "__name__", each))
def test_values_beyond_what_a_parameter_declares_are_refused(cls, name):
    about = DECLARED[cls, name]
    least, above, most, _ = about.metadata["range"]
    if get_origin(about.type) is Literal:
        right, wrong = get_args(about.type), ["no such thing", None]
    else:
        right = [each for each in (least, most, (above or 0) + 1) if each is not None and each >= (least or 0)]
        wrong = [float("nan"), float("inf"), True, above if least is None else least - 1]
        wrong += [] if most is None else [most + 1]
    own = {"structure": object()} if cls.__name__ == "CustomParameters" else {}
    for value in right:
        check_parameters(cls(**own, **{name: value}))
    for value in wrong:
        with pytest.raises(WidemarginError, match=f"^{name} must be "):
            check_parameters(cls(**own, **{name: value}))
