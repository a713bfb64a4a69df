"""Solvers: one file per family, each consuming cuts through the one protocol of `base`."""

from widemargin.solvers.base import Solver
from widemargin.solvers.dcd import DualCoordinateDescent
from widemargin.solvers.perceptron import Perceptron

SOLVERS: dict[str, Solver] = {
    "perceptron": Perceptron(),
    "dcd": DualCoordinateDescent(),
    "dcd-light": DualCoordinateDescent(sweeps=0),
}
"""Every solver by the name that estimators and the command line know it by."""

__all__ = ["SOLVERS", "DualCoordinateDescent", "Perceptron", "Solver"]
