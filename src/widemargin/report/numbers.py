"""Numbers as people read them, and as JSON can hold them."""

import math
from typing import Any

MARK, UNKNOWN = "★", "–"  # the best of a column; a cell without a value


def share(value: float) -> str:
    """A share in per cent.

    >>> share(0.94126)
    '94.13 %'
    """
    return f"{100 * value:.2f} %"


def brief(value: float) -> str:
    """A number with three significant digits, or all digits before the point; whole numbers stay as they are.

    >>> brief(0.0012345), brief(12.345), brief(12345.6), brief(0.0), brief(7)
    ('0.00123', '12.3', '12,346', '0', '7')
    """
    digits = 2 - math.floor(math.log10(abs(value))) if value and not isinstance(value, int) else 0
    return f"{value:,.{max(digits, 0)}f}"


def finite(value: Any) -> Any:
    """The same value with None for every number that JSON lacks, at any depth."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
