"""`widemargin compare`: the whole report from files, mistakes before any work, Ctrl-C."""

import csv
import json
import signal
from pathlib import Path

import pytest

from helpers.command_line import fail, run, succeed, written
from widemargin.cli.options import COMMA
from widemargin.core.solution import Epoch
from widemargin.report.comparison import FILES
from widemargin.report.progress import Progress
from widemargin.tasks.tag.model import Tagger


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    for name, n, seed in (("train", 80, 0), ("dev", 20, 1)):
        (folder / f"{name}.tsv").write_text(written("conll", n, seed), encoding="utf-8")
    return folder


def options(folder: Path, out: Path) -> list[object]:
    return ["compare", "--train", folder / "train.tsv", "--out", out, "--jobs", "1"]


def test_a_report_is_written_and_shown(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "report"
    choice = ["--solvers", "dcd, dcd(sweeps=1,delta=1e-5),perceptron", "--epochs", "12", "--dev", folder / "dev.tsv"]
    shown = succeed(*options(folder, out), *choice, "--templates", "word lower[-1..1]")
    assert {path.name for path in out.iterdir()} == set(FILES)
    for expected in ("dcd(sweeps=1,delta=1e-5)", "perceptron", "★", "s to 10 %", "score", str(out / "report.html")):
        assert expected in shown
    assert "fastest" in shown.splitlines()[0]
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert results["data"]["sequences"] == 80
    assert results["data"]["score"] == "f1"
    assert results["settings"]["templates"][0] == "word"
    assert [len(each["trace"]) <= 12 for each in results["runs"]] == [True] * 3
    rows = list(csv.DictReader((out / "table.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["solver"] for row in rows] == ["dcd", "dcd(sweeps=1,delta=1e-5)", "perceptron"]
    assert float(rows[0]["score"]) > 0.5


def test_results_as_json_or_not_at_all(folder: Path, tmp_path: Path) -> None:
    fast = [*options(folder, tmp_path), "--epochs", "1", "--solvers", "perceptron"]
    results = json.loads(succeed(*fast, "--json"))
    assert results["runs"][0]["epochs"] == 1
    assert results == json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert succeed(*fast, "--quiet") == ""


def test_a_solver_that_cannot_is_a_row(folder: Path, tmp_path: Path) -> None:
    shown = succeed(*options(folder, tmp_path), "--epochs", "1", "--loss", "hinge")
    assert "Not measured" in shown
    assert "DualCoordinateDescent minimises squared_hinge, not hinge" in shown
    assert "not hinge" in (tmp_path / "report.html").read_text(encoding="utf-8")


BAD_OPTIONS = {
    "--solvers dcd,nonsense": "there is no solver 'nonsense'",
    "--solvers dcd,": "has an empty name",
    "--solvers dcd(sweeps=": "is not of the form dcd(parameter=value)",
    "--solvers dcd --loss hinge": "not hinge",
    "--objective nonsense": "there is no objective 'nonsense'",
    "--loss squared": "'squared' is not one of",
    "--penalty l3": "'l3' is not one of",
    "--memory 0": "cut_memory must be a number above 0",
    "--C 0": "C must be a number above 0",
    "--epochs -1": "the stop rule epochs",
    "--epochs 0": "stopped before its first epoch",
    "--tol nan": "the stop rule gap",
    "--label nine": "no label column 'nine'",
    "--templates word|label": "reads the label column 'label'",
    "--dev none": "none cannot be read",
    "--jobs 0": "n_jobs must be",
}


@pytest.mark.parametrize("wrong", BAD_OPTIONS)
def test_bad_options_are_answered_by_one_sentence(folder: Path, wrong: str, tmp_path: Path) -> None:
    assert BAD_OPTIONS[wrong] in fail(*options(folder, tmp_path / "report"), *wrong.split())
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_cannot_be_written_is_noticed_before_any_work(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    for out in (file, file / "report"):
        assert str(file) in fail("compare", "--train", "none", "--out", out)
    taken = tmp_path / "taken"
    (taken / "report.png").mkdir(parents=True)
    assert "report.png is a folder" in fail("compare", "--train", "none", "--out", taken)
    own = tmp_path / "table.csv"
    own.write_text("a\tO\n", encoding="utf-8")
    assert "is read by this command" in fail("compare", "--train", own, "--out", tmp_path)
    assert file.read_text(encoding="utf-8") == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"file", "taken", "table.csv"}


def test_ctrl_c_reports_what_has_been_measured(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Progress, epoch: Epoch) -> None:
        if epoch.epoch == 5:  # beyond any warm-up
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "on_epoch", interrupt)
    result = run(*options(folder, tmp_path), "--solvers", "perceptron,dcd")
    assert result.exit_code == 130
    assert "interrupted; the report covers what was measured by then" in result.stdout
    first, second = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["runs"]
    assert (first["stopped"], len(first["trace"])) == ("interrupted", 5)
    assert second["failure"] == "interrupted before its first epoch was over"


def test_ctrl_c_before_anything_is_measured_writes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Progress, "on_epoch", lambda self, epoch: signal.raise_signal(signal.SIGINT))
    result = run(*options(folder, tmp_path / "report"))
    assert result.exit_code == 130
    assert "error: interrupted" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_commas_in_brackets_do_not_separate() -> None:
    assert COMMA.split("a,b(c=1,d=2),e(f=(1,2)),g") == ["a", "b(c=1,d=2)", "e(f=(1,2))", "g"]


def test_training_takes_the_same_function_options(folder: Path, tmp_path: Path) -> None:
    train = ["train", "tag", "--train", folder / "train.tsv", "--out", tmp_path / "m.wm", "--epochs", "2", "--json"]
    hinge = ["--solver", "sdm", "--loss", "hinge", "--objective", "margin", "--penalty", "l2", "--memory", "64"]
    assert json.loads(succeed(*train, *hinge))["certified"]
    parameters = Tagger.load(tmp_path / "m.wm").summary["parameters"]
    assert (parameters["loss"], parameters["objective"], parameters["cut_memory"]) == ("hinge", "margin", 64.0)
    for wrong, complaint in {
        "--solver dcd --loss hinge": "not hinge",
        "--solver dcd --penalty l1": "not l1",
        "--memory -1": "cut_memory must be a number above 0",
    }.items():
        assert complaint in fail(*train, *wrong.split())
