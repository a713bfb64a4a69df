"""Every task of the registry goes through every command: train, evaluate, predict, inspect, compare."""

import json
import re
from pathlib import Path

import pytest

from helpers.command_line import run, succeed
from helpers.files import TASK_FILES
from widemargin.report.comparison import FILES
from widemargin.tasks import TASKS, task
from widemargin.tasks.base import load_model


def test_every_task_has_a_row():
    assert set(TASK_FILES) == {name for name in TASKS if task(name).files is not None}


@pytest.fixture(scope="module", params=TASK_FILES)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    """The name of a task, its file, and a model."""
    folder = tmp_path_factory.mktemp(request.param)
    row, model = TASK_FILES[request.param](), folder / "a.wm"
    data = folder / row.name
    data.write_text(row.text, encoding="utf-8")
    options = ["--train", data, "--dev", data, "--out", model, "--epochs", "3", "--json", "--quiet", *row.options]
    results = json.loads(succeed("train", request.param, *options))
    assert results["weights"] > 0
    assert results["dev"]["metric"] == load_model(model).summary["metric"]
    assert 0.0 < results["dev"]["score"] <= 1.0
    assert results["C"] == task(request.param).kinds[load_model(model).kind].parameters.usual_C
    return request.param, data, model


def test_from_training_to_prediction(trained: tuple[str, Path, Path], tmp_path: Path) -> None:
    _, data, model = trained
    predictor, out = load_model(model), tmp_path / f"out{data.suffix}"
    results = json.loads(succeed("evaluate", model, data, "--json"))
    assert results[f"{predictor.reporter.counts}_per_second"] > 0
    shown = succeed("evaluate", model, data)
    assert f"{predictor.reporter.counts} per second" in shown
    main = float(succeed("evaluate", model, data, "--quiet"))
    assert any(value == pytest.approx(main, abs=1e-6) for value in results.values() if isinstance(value, float))
    chosen = ["--format", "svmlight"] if data.suffix == ".svm" else []
    succeed("predict", model, data, "--out", out, *chosen)
    again = float(succeed("evaluate", model, out, "--quiet"))
    assert again == 1.0
    inspected = json.loads(succeed("inspect", model, "--json"))
    assert inspected["size"]["weights"] == predictor.sizes["weights"]
    assert str(len(predictor.labels)) in succeed("inspect", model)


def test_comparison(trained: tuple[str, Path, Path], tmp_path: Path) -> None:
    name, data, _ = trained
    choice = ["--solvers", "dcd,perceptron", "--epochs", "3", "--quiet", *TASK_FILES[name]().options]
    succeed("compare", name, "--train", data, "--dev", data, "--out", tmp_path / "report", *choice)
    assert {path.name for path in (tmp_path / "report").iterdir()} == set(FILES)
    results = json.loads((tmp_path / "report" / "results.json").read_text(encoding="utf-8"))
    assert len(results["runs"]) == 2
    assert results["data"]["score"]


NAME = "\x1b]0;owned\x07[red]"  # sets the title of a terminal; and markup of the printer
HOSTILE = NAME + "\x9b31m\u202e"  # colours and turns text, too; with `LANG=C`, no file can be named so
ESCAPED = r"\x1b]0;owned\x07[red]"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
NAMED = {
    "tag": "city|street|High|Court",
    "segment": "city|street|High|Court",
    "parse": "det|nsubj|happy|car|NN",
    "bracket": "NP|NN|happy|car",
    "classify": "even",
    "rank": "",
    "cluster": "name|Anna|Berg",
    "coreference": "text|Ada|dog|PROPN",
    "summarise": "battery|screen",
    "graph": "left|right",
    "motif": "s0",
}
"""Labels, words and other names of the files of each task."""


@pytest.mark.parametrize(("name", "terminal"), [*((name, False) for name in TASK_FILES), ("tag", True)])
def test_nothing_in_a_file_commands_the_terminal(
    name: str, terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the names of files; and nothing that looks like markup of the printer is taken for it."""
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    row = TASK_FILES[name]()
    data, model, out = (tmp_path / f"{NAME}{each}" for each in (row.name, "a.wm", f"out-{row.name}"))
    spoilt = json.dumps(HOSTILE)[1:-1] if data.suffix == ".jsonl" else HOSTILE
    words = re.compile(rf"\b({NAMED[name]})\b") if NAMED[name] else re.compile("(?!)")
    data.write_text(words.sub(lambda found: found[0] + spoilt, row.text), encoding="utf-8")
    training = ["--train", data, "--epochs", "2", *row.options]

    def said(*arguments: object, code: int = 0) -> str:
        result = run(*arguments)
        assert result.exit_code == code, result.output
        own = re.compile(r"\x1b\[[0-9;]*m") if terminal else re.compile("(?!)")
        assert not CONTROL.search(own.sub("", result.output)), (arguments, result.output)
        assert "\x1b[31m" not in result.output
        return result.output

    assert ESCAPED in said("train", name, *training, "--dev", data, "--out", model)
    inspected = said("inspect", model)
    assert ESCAPED in said("evaluate", model, data)
    if name in ("tag", "parse"):  # reports of all tasks are made alike, and take long
        said("compare", name, *training, "--solvers", "dcd,perceptron", "--out", tmp_path / f"{NAME}report")
    assert NAME in json.loads(said("inspect", model, "--json"))["model"]
    said("inspect", model, "--card")
    said("predict", model, data, "--out", out, *(["--format", "svmlight"] if data.suffix == ".svm" else []))
    assert ESCAPED in said("score", data, out, "--task", name)
    assert ESCAPED in said("evaluate", model, tmp_path / f"{NAME}none", code=2)
    predictor = load_model(model)
    if predictor.reporter.explains:
        said("inspect", model, "--explain", data)
        said("inspect", model, "--label", HOSTILE, code=2)
    if predictor.reporter.draws:
        assert ESCAPED in said("predict", model, data, "--draw", "-")
    if len(predictor.labels) > 1 and any(HOSTILE in str(label) for label in predictor.labels):
        assert inspected.count(ESCAPED) > 2
    if name == "tag":
        said("calibrate", model, data)
        assert ESCAPED in said("inspect", model, "--explain", data, "--token", "2")
        assert ESCAPED in said("cluster-words", data, "--clusters", "2", "--min-count", "1", "--out", out)
        assert ESCAPED in said("predict", model, data, "--forced", "column1", "--out", out, code=2)
