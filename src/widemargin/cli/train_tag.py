"""`widemargin train tag`: sequence taggers."""

from typing import Any

from widemargin.cli.resources import read_costs
from widemargin.cli.training import train_model
from widemargin.training import TaggerSettings


def run(*, costs: str | None, **options: Any) -> int | None:
    """Train a tagger."""
    return train_model(TaggerSettings, lambda: {"costs": read_costs(costs)}, [costs], **options)
