"""Every task of the registry goes through every command: train, evaluate, predict, inspect, compare."""

import json
from pathlib import Path

import pytest

from helpers.command_line import succeed
from helpers.task_files import TASK_FILES
from widemargin.report.comparison import FILES
from widemargin.tasks import TASKS, task
from widemargin.tasks.base import load_model


def test_every_task_has_a_row():
    assert set(TASK_FILES) == {name for name in TASKS if task(name).files is not None}


@pytest.fixture(params=TASK_FILES)
def trained(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, Path]:
    """The name of a task, its file, and a model."""
    row, model = TASK_FILES[request.param](), tmp_path / "a.wm"
    data = tmp_path / row.name
    data.write_text(row.text, encoding="utf-8")
    options = ["--train", data, "--dev", data, "--out", model, "--epochs", "3", "--json", "--quiet", *row.options]
    results = json.loads(succeed("train", request.param, *options))
    assert results["weights"] > 0
    assert results["dev"]["metric"] == load_model(model).summary["metric"]
    assert 0.0 < results["dev"]["score"] <= 1.0
    assert results["C"] == task(request.param).kinds[load_model(model).kind].load("parameters").usual_C
    return request.param, data, model


def test_from_training_to_prediction(trained: tuple[str, Path, Path], tmp_path: Path) -> None:
    _, data, model = trained
    predictor, out = load_model(model), tmp_path / f"out{data.suffix}"
    results = json.loads(succeed("evaluate", model, data, "--json"))
    assert results[f"{predictor.counts}_per_second"] > 0
    shown = succeed("evaluate", model, data)
    assert f"{predictor.counts} per second" in shown
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
