"""Objectives: how decoded outputs become cuts."""

from widemargin.objectives.margin import Margin, Objective

__all__ = ["Margin", "Objective"]
