"""Checks for structures and solvers, the library's own and yours: plain functions that raise `AssertionError`."""

from widemargin.testing.solvers import check_solver
from widemargin.testing.structures import check_structure

__all__ = ["check_solver", "check_structure"]
