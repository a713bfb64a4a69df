"""Objectives: how decoded outputs become cuts."""

from widemargin.core.objective import Margin, Objective
from widemargin.objectives.positions import PositionWise
from widemargin.objectives.slack import ApproximateSlack, GoldenSlack, Slack
from widemargin.objectives.softmax import Softmax

OBJECTIVES: dict[str, Objective] = {
    "margin": Margin(),
    "slack": Slack(),
    "approximate-slack": ApproximateSlack(),
    "golden-slack": GoldenSlack(),
    "positions": PositionWise(),
    "softmax-margin": Softmax(),
    "likelihood": Softmax(error_scale=0.0),
}
"""Every objective by its name in estimators and on the command line."""

__all__ = ["OBJECTIVES", "ApproximateSlack", "GoldenSlack", "Margin", "Objective", "PositionWise", "Slack", "Softmax"]
