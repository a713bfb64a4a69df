"""What several test files need."""

import os
from pathlib import Path

import pytest


def corpus(name: str) -> Path:
    """The corpus file `name`, such as `wnut17/train.conll`; the test is skipped where there is none."""
    folder = Path(os.environ.get("WIDEMARGIN_DATA") or Path(__file__).parents[2] / "shared" / "data")
    path = folder / name
    if not path.exists():
        pytest.skip(f"{name} is not in {folder}; set WIDEMARGIN_DATA to the folder of the corpora")
    return path
