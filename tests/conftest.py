"""Settings of all tests: they pass wherever they run, and what Hypothesis draws is the same in every run."""

import os
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Else PyTorch and BLAS have as many threads in each worker as there are cores, and mostly wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # only now: it looks for that

HOME = Path(os.path.expanduser("~"))
if not (HOME.is_dir() and os.access(HOME, os.W_OK)):
    # Else every process compiles for itself and the command line says so, where tests expect it to say nothing.
    folder = f"widemargin-{getattr(os, 'geteuid', int)()}"
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / folder))
os.environ["COLUMNS"] = "80"  # whatever the terminal has

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def never_written(allocate: Callable[..., Any]) -> Callable[..., Any]:
    """`allocate` with room full of what nobody gets away with reading: NaN that warns, indices far outside, True."""

    @wraps(allocate)
    def filled(*args: Any, **kwargs: Any) -> Any:
        room = allocate(*args, **kwargs)
        kind = room.dtype.kind if isinstance(room, np.ndarray) else ""
        if kind == "f":
            room.fill(np.nan)
            if room.dtype == np.float64:
                room.view(np.uint64).fill(SIGNALLING)
        elif kind == "i":
            room.fill(np.iinfo(room.dtype).min + 7)
        elif kind == "u":
            room.fill(np.iinfo(room.dtype).max - 7)
        elif kind == "b":
            room.fill(True)
        return room

    return filled


SIGNALLING = 0x7FF4000000000000
"""The bits of a NaN that NumPy warns of wherever it is computed with, also where nobody uses what comes out."""

if INTERPRETED:  # fresh memory is mostly zero: most tests pass with a kernel that reads what nobody has written
    np.empty, np.empty_like = never_written(np.empty), never_written(np.empty_like)

# Hypothesis has two clocks, and a machine may be busy.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "repeatable", settings.get_profile("patient"), derandomize=True, max_examples=15 if INTERPRETED else 100
)
settings.register_profile("thorough", settings.get_profile("patient"), max_examples=2000)
settings.register_profile("quick", settings.get_profile("repeatable"), max_examples=10)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C does what it does in a terminal, also in a run of the tests that ignores it (`nohup`, cron)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


ROWS = 2
"""How many rows of a parametrised test `make quick` runs."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--quick`: what one runs while working."""
    parser.addoption("--quick", action="store_true", help=f"no slow tests, no corpora, {ROWS} rows of each table")


def pytest_configure(config: pytest.Config) -> None:
    """Few examples of what Hypothesis draws, if time is short."""
    if config.getoption("--quick"):
        settings.load_profile("quick")


def draw_no_more_than_others(test: Callable[..., Any]) -> None:
    """Tests that say how many examples they draw mean compiled kernels and patient people."""
    own, most = getattr(test, "_hypothesis_internal_use_settings", None), settings().max_examples
    if own is not None and own.max_examples > most:
        test._hypothesis_internal_use_settings = settings(own, max_examples=most)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long if asked to."""
    if INTERPRETED or config.getoption("--quick"):
        for item in items:
            if isinstance(item, pytest.Function):
                draw_no_more_than_others(item.function)
    if not config.getoption("--quick"):
        return
    rows: Counter[str] = Counter()
    chosen, left = [], []
    for item in items:
        test = item.nodeid.partition("[")[0]
        long = item.get_closest_marker("slow") or item.get_closest_marker("corpus")
        rows[test] += not long
        (left if long or rows[test] > ROWS else chosen).append(item)
    items[:] = chosen
    config.hook.pytest_deselected(items=left)
