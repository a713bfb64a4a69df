"""Objectives: how decoded outputs become cuts."""

from widemargin.objectives.base import Objective
from widemargin.objectives.margin import Margin

OBJECTIVES: dict[str, Objective] = {"margin": Margin()}
"""Every objective by the name that estimators and the command line know it by."""

__all__ = ["OBJECTIVES", "Margin", "Objective"]
