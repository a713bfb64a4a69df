"""The record of training in words."""

import re
from pathlib import Path

import pytest

from helpers.command_line import run, written
from widemargin.core.solution import Solution
from widemargin.report.record import STOPPED


@pytest.mark.interpreted
def test_every_reason_to_stop_has_words() -> None:
    documented = re.findall(r'``"(\w+)"``', Solution.__doc__ or "")
    assert "precision" in documented
    assert set(documented) == set(STOPPED)


def test_training_until_rounding_hides_progress_is_told(tmp_path: Path) -> None:
    data, model = tmp_path / "a.tsv", tmp_path / "a.wm"
    data.write_text(written("conll", 10, 0), encoding="utf-8")
    options = ["--solver", "crf", "--C", "100", "--tol", "0", "--epochs", "2000", "--templates", "word"]
    told = run("train", "tag", "--train", data, "--out", model, *options)
    assert told.exit_code == 0
    assert "rounding hides any further progress" in told.stdout
