"""Models that were opened lately: programs that open their model for every sentence do not read it every time.

A model is known by its file's identity, size and times. Clocks of file systems tick every few milliseconds only, so a
file that was written just now may be written again without a trace: such a file is read anew. Large files are not
kept, and of others the latest few.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

MOST, LARGEST, SETTLED = 4, 1 << 25, 2 * 10**9
"""How many models are kept, of files of up to how many bytes, and after how many nanoseconds a file is settled."""

_recent: OrderedDict[tuple[int, ...], Any] = OrderedDict()


def recent(about: os.stat_result, read: Callable[[], Any]) -> Any:
    """The model in a file that `about` tells of, which `read` reads if it is not known."""
    if about.st_size > LARGEST or time.time_ns() - max(about.st_mtime_ns, about.st_ctime_ns) < SETTLED:
        return read()
    key = about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
    model = _recent.pop(key, None)
    _recent[key] = model = read() if model is None else model
    while len(_recent) > MOST:
        _recent.popitem(last=False)
    return model
