"""Solvers: one file per family, each consuming cuts through the one protocol of `core.solver`."""

import ast
from collections.abc import Iterable
from dataclasses import fields, replace
from math import inf
from typing import Any, cast

from widemargin.core.solver import Solver
from widemargin.errors import WidemarginError
from widemargin.solvers.adadelta import AdaDelta
from widemargin.solvers.adagrad import AdaGrad
from widemargin.solvers.arow import AROW
from widemargin.solvers.auto import Auto
from widemargin.solvers.bundle import Bundle
from widemargin.solvers.cutting_plane import CuttingPlane, CuttingPlaneDual
from widemargin.solvers.dcd import DualCoordinateDescent
from widemargin.solvers.frank_wolfe import FrankWolfe
from widemargin.solvers.interior import Interior
from widemargin.solvers.lbfgs import LBFGS
from widemargin.solvers.mira import MIRA
from widemargin.solvers.one_slack import OneSlack
from widemargin.solvers.passive_aggressive import PassiveAggressive
from widemargin.solvers.pegasos import Pegasos
from widemargin.solvers.perceptron import Perceptron
from widemargin.solvers.proximal import ProximalPoint
from widemargin.solvers.sdm import OnlineCuttingPlane, SequentialDual
from widemargin.solvers.sgd import SGD

SOLVERS: dict[str, Solver] = {
    "auto": Auto(),
    "perceptron": Perceptron(),
    "mira": MIRA(),
    "pa": PassiveAggressive(),
    "arow": AROW(),
    "sgd": SGD(),
    "pegasos": Pegasos(),
    "adagrad": AdaGrad(),
    "adadelta": AdaDelta(),
    "dcd": DualCoordinateDescent(),
    "dcd-light": DualCoordinateDescent(sweeps=0),
    "cpd": CuttingPlaneDual(),
    "ocp": OnlineCuttingPlane(),
    "sdm": SequentialDual(),
    "n-slack": CuttingPlane(),
    "one-slack": OneSlack(),
    "interior": Interior(),
    "proximal": ProximalPoint(),
    "bcfw": FrankWolfe(),
    "bundle": Bundle(),
    "lbfgs": LBFGS(),
}
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


__all__ = [
    "AROW",
    "LBFGS",
    "MIRA",
    "SGD",
    "SOLVERS",
    "AdaDelta",
    "AdaGrad",
    "Auto",
    "Bundle",
    "CuttingPlane",
    "CuttingPlaneDual",
    "DualCoordinateDescent",
    "FrankWolfe",
    "Interior",
    "OneSlack",
    "OnlineCuttingPlane",
    "PassiveAggressive",
    "Pegasos",
    "Perceptron",
    "ProximalPoint",
    "SequentialDual",
    "Solver",
    "named_solver",
]
