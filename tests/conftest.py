"""Settings of all tests: they pass wherever they run, and what Hypothesis draws is the same in every run."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HOME = Path(os.path.expanduser("~"))
if not (HOME.is_dir() and os.access(HOME, os.W_OK)):
    # Else every process compiles for itself and the command line says so, where tests expect it to say nothing.
    folder = f"widemargin-{getattr(os, 'geteuid', int)()}"
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / folder))
os.environ["COLUMNS"] = "80"  # whatever the terminal has

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

# Hypothesis has two clocks, and a machine may be busy.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "repeatable", settings.get_profile("patient"), derandomize=True, max_examples=15 if INTERPRETED else 100
)
settings.register_profile("thorough", settings.get_profile("patient"), max_examples=2000)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C does what it does in a terminal, also in a run of the tests that ignores it (`nohup`, cron)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
