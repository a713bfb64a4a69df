"""Settings of all tests: what Hypothesis draws is the same in every run."""

import os

from hypothesis import settings

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=15 if INTERPRETED else 100)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("repeatable")
