"""Solvers: one file per family, each consuming cuts through the one protocol of `core.solver`.

A solver's file is imported on first use, so a run loads only its own.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any, cast

from widemargin._lazy import lazy_names
from widemargin.core.solver import Solver
from widemargin.errors import WidemarginError

if TYPE_CHECKING:
    from widemargin.solvers.adadelta import AdaDelta as AdaDelta
    from widemargin.solvers.adagrad import AdaGrad as AdaGrad
    from widemargin.solvers.arow import AROW as AROW
    from widemargin.solvers.auto import Auto as Auto
    from widemargin.solvers.bundle import Bundle as Bundle
    from widemargin.solvers.cutting_plane import CuttingPlane as CuttingPlane
    from widemargin.solvers.cutting_plane import CuttingPlaneDual as CuttingPlaneDual
    from widemargin.solvers.dcd import DualCoordinateDescent as DualCoordinateDescent
    from widemargin.solvers.frank_wolfe import FrankWolfe as FrankWolfe
    from widemargin.solvers.interior import Interior as Interior
    from widemargin.solvers.lbfgs import LBFGS as LBFGS
    from widemargin.solvers.mira import MIRA as MIRA
    from widemargin.solvers.one_slack import OneSlack as OneSlack
    from widemargin.solvers.passive_aggressive import PassiveAggressive as PassiveAggressive
    from widemargin.solvers.pegasos import Pegasos as Pegasos
    from widemargin.solvers.perceptron import Perceptron as Perceptron
    from widemargin.solvers.proximal import ProximalPoint as ProximalPoint
    from widemargin.solvers.sdm import OnlineCuttingPlane as OnlineCuttingPlane
    from widemargin.solvers.sdm import SequentialDual as SequentialDual
    from widemargin.solvers.sgd import SGD as SGD

_ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "auto": ("auto.Auto", {}),
    "perceptron": ("perceptron.Perceptron", {}),
    "mira": ("mira.MIRA", {}),
    "pa": ("passive_aggressive.PassiveAggressive", {}),
    "arow": ("arow.AROW", {}),
    "sgd": ("sgd.SGD", {}),
    "pegasos": ("pegasos.Pegasos", {}),
    "adagrad": ("adagrad.AdaGrad", {}),
    "adadelta": ("adadelta.AdaDelta", {}),
    "dcd": ("dcd.DualCoordinateDescent", {}),
    "dcd-light": ("dcd.DualCoordinateDescent", {"sweeps": 0}),
    "cpd": ("cutting_plane.CuttingPlaneDual", {}),
    "ocp": ("sdm.OnlineCuttingPlane", {}),
    "sdm": ("sdm.SequentialDual", {}),
    "n-slack": ("cutting_plane.CuttingPlane", {}),
    "one-slack": ("one_slack.OneSlack", {}),
    "interior": ("interior.Interior", {}),
    "proximal": ("proximal.ProximalPoint", {}),
    "bcfw": ("frank_wolfe.FrankWolfe", {}),
    "bundle": ("bundle.Bundle", {}),
    "lbfgs": ("lbfgs.LBFGS", {}),
}
"""For each name the class, as ``module.name``, and its parameters."""


@cache
def _make(name: str) -> Solver:
    place, parameters = _ROWS[name]
    module, _, kind = place.partition(".")
    made: Solver = getattr(import_module(f"{__name__}.{module}"), kind)(**parameters)
    return made


class _Solvers(Mapping[str, Solver]):
    def __getitem__(self, name: str) -> Solver:
        return _make(name)

    def __contains__(self, name: object) -> bool:
        return name in _ROWS

    def __iter__(self) -> Iterator[str]:
        return iter(_ROWS)

    def __len__(self) -> int:
        return len(_ROWS)


SOLVERS: Mapping[str, Solver] = _Solvers()
"""Every solver by its name in estimators and on the command line."""


def named_solver(name: Any, also: Iterable[str] = ()) -> Solver:
    """The solver `name`, which may be followed by parameters; the error for unknown names lists those in `also`, too.

    >>> named_solver("dcd(sweeps=3)")
    DualCoordinateDescent(sweeps=3, delta=1e-06, batch_size=None)
    >>> named_solver("mira(C=inf)").C
    inf
    """
    plain, bracket, _ = str(name).partition("(")
    if not isinstance(name, str) or plain not in SOLVERS:
        raise WidemarginError(f"there is no solver {name!r}; there are {', '.join([*SOLVERS, *also])}")
    if not bracket:
        return SOLVERS[plain]
    try:
        call = ast.parse("_" + name[len(plain) :], mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        parameters = {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}
        solver: Any = SOLVERS[plain]
        return replace(solver, **parameters)
    except WidemarginError:
        raise  # a value out of its range
    except (SyntaxError, ValueError, TypeError):
        known = ", ".join(each.name for each in fields(cast("Any", SOLVERS[plain])))
        raise WidemarginError(
            f"{name!r} is not of the form {plain}(parameter=value); its parameters are {known}"
        ) from None


def _value(node: ast.expr) -> Any:
    """A literal, or `inf`."""
    return inf if isinstance(node, ast.Name) and node.id == "inf" else ast.literal_eval(node)


_classes: dict[str, set[str]] = {}
for _place, _ in _ROWS.values():
    _classes.setdefault(_place.partition(".")[0], set()).add(_place.partition(".")[2])
__getattr__, __dir__, _names = lazy_names(__name__, {module: sorted(names) for module, names in _classes.items()})
__all__ = ["SOLVERS", "Solver", "named_solver", *_names]  # noqa: PLE0604 — they are strings
