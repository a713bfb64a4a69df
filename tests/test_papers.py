"""The five papers' runner: what is measured is stored, resumed and reported, and what fails is told."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[1] / "benchmarks" / "papers"
PAPER = """
from experiment import Claim, Experiment, Paper, Section, Table

def counted(bench):
    bench.tell("counting")
    with (bench.data / "visits").open("a") as file:
        file.write("x")
    return {"n": bench.size(100, 7)}

def impossible(bench):
    raise OSError(f"{bench.data} has no corpus")

def section(found):
    n = found["counted"]["n"]
    yield "A sentence with `code`."
    yield Table(("what", "number"), [("n", n), ("none", None), ("large", 12345.6)], "Numbers")
    yield Claim("There are many.", n > 50, f"{n} & more.")

EXPERIMENTS = Experiment("counted", counted), Experiment("impossible", impossible)
SECTIONS = Section("Table 1", ("counted",), section), Section("Table 2", ("counted", "impossible"), section)
PAPER = Paper("chang-yih", "A paper", "Cited.", "Data.", EXPERIMENTS, SECTIONS)
"""


@pytest.fixture
def run(tmp_path):
    """The command, with one paper replaced."""
    folder = tmp_path / "papers"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "chang_yih.py").write_text(PAPER, encoding="utf-8")
    (tmp_path / "visits").touch()

    def command(*options):
        return subprocess.run(
            [sys.executable, folder, "chang-yih", "--data", tmp_path, "--out", tmp_path / "out", *options],
            capture_output=True,
            encoding="utf-8",
            env=os.environ,
            check=False,
        )

    return command


def test_experiments_are_stored_resumed_and_reported(run, tmp_path):
    first = run("--quick")
    assert first.returncode == 1
    assert "counting" in first.stdout
    assert f"OSError: {tmp_path} has no corpus" in first.stderr
    stored = json.loads((tmp_path / "out/quick/chang-yih/counted.json").read_text(encoding="utf-8"))
    assert stored["measured"] == {"n": 7}
    assert stored["command"] == "python benchmarks/papers chang-yih --only counted --quick"
    assert not (tmp_path / "out/quick/chang-yih/impossible.json").exists()
    page = (tmp_path / "out/quick/report/chang-yih.md").read_text(encoding="utf-8")
    assert "| n | 7 |\n| none | – |\n| large | 12,346 |" in page
    assert "**There are many.** This does not hold here: 7 & more." in page
    assert "## Table 2\n\nNot run: impossible." in page
    html = (tmp_path / "out/quick/report/report.html").read_text(encoding="utf-8")
    assert "A sentence with <code>code</code>." in html
    assert "7 &amp; more." in html
    assert "0 of 1 claims hold.\n" in (tmp_path / "out/quick/report/claims.md").read_text(encoding="utf-8")

    assert run("--quick", "--only", "counted").returncode == 0
    assert (tmp_path / "visits").read_text(encoding="utf-8") == "x"
    assert run("--quick", "--only", "counted", "--again").returncode == 0
    assert (tmp_path / "visits").read_text(encoding="utf-8") == "xx"
