"""`widemargin warm` leaves nothing to compile for the runs that come after it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.command_line import fail
from widemargin.data.samples import SAMPLES
from widemargin.tasks import TASKS, task

COMPILING = """
import sys
from widemargin import _jit
from widemargin.cli.commands import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print(end.code, _jit.seconds_compiling() > 0.0)
"""


def test_every_task_has_a_sample() -> None:
    assert set(SAMPLES) == {name for name in TASKS if task(name).files is not None}


def run(cache: Path, *arguments: object) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    command = [sys.executable, "-W", "ignore", "-c", COMPILING, *map(str, arguments)]
    environment["NUMBA_CACHE_DIR"] = str(cache)
    return subprocess.run(
        command, env=environment, capture_output=True, encoding="utf-8", check=True, timeout=600
    ).stdout


@pytest.mark.slow
def test_after_it_nothing_is_compiled(tmp_path: Path) -> None:
    name, text, options = SAMPLES["classify"]()
    data, model = tmp_path / name, tmp_path / "a.wm"
    data.write_text(text, encoding="utf-8")
    first, where, end = run(tmp_path / "cache", "warm", "classify").splitlines()
    assert first.startswith("classify: ")
    assert where.startswith(f"compiled kernels are in {tmp_path / 'cache'}")
    assert end == "0 True"
    assert run(tmp_path / "cache", "warm", "classify", "--quiet") == "0 False\n"
    arguments = ("train", "classify", "--train", data, "--out", model, "--quiet", *options)
    assert run(tmp_path / "cache", *arguments) == "0 False\n"
    assert run(tmp_path / "cache", "predict", model, data, "--out", tmp_path / "out.svm") == "0 False\n"


def test_a_task_that_does_not_exist() -> None:
    assert fail("warm", "tag", "knit").startswith("there is no task 'knit' to warm up; there are tag, segment")
