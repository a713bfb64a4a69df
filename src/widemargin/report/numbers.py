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


def bound(gap: float) -> str:
    """A proven share in per cent, rounded up: what is proven must not be overstated.

    >>> bound(0.0099101), bound(0.0), bound(5e-324)
    ('0.992 %', '0 %', '1e-99 %')
    """
    if gap <= 0:
        return "0 %"
    percent = min(max(100 * gap, 1e-99), 1e99)  # beyond which powers of 10 overflow
    scale = 10.0 ** (2 - math.floor(math.log10(percent)))
    return f"{math.ceil(percent * scale) / scale:.3g} %"


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
