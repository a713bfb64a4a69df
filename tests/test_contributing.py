"""The examples in CONTRIBUTING.md work when they are put where they say, with the rows that they name."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import widemargin
from helpers.command_line import fail, succeed
from widemargin import Problem, files, objectives, solvers, tasks
from widemargin.files.formats import FORMATS, Format
from widemargin.tasks.classify.examples import ClassExamples
from widemargin.testing import check_solver
from widemargin.text.matrices import as_matrix

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = re.findall(r"```python\n# src/widemargin/(\S+)\n(.*?)```", PAGE, flags=re.DOTALL)
ROWS = dict(re.findall(r'The row in `\S+`: `"([^"]+)": (.+?)`', PAGE))


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The files of the page as parts of the library."""
    before = set(sys.modules)
    for name, text in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for package in (files, objectives, solvers, tasks):
        folder = package.__name__.partition(".")[2]
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / folder)])
    yield
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def examples() -> ClassExamples:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.integers(3, size=20).astype(np.int32)
    matrix = as_matrix(X)
    return ClassExamples(matrix.rows, matrix.width, 3, y, intercept=1.0)


def test_the_page_has_an_example_of_each() -> None:
    assert set(ROWS) == {"plain-perceptron", "scaled-margin", "slashes", "threshold"}
    assert len(FILES) == 4


@pytest.mark.usefixtures("added")
def test_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(solvers._ROWS, "plain-perceptron", ast.literal_eval(ROWS["plain-perceptron"]))
    check_solver(solvers.SOLVERS["plain-perceptron"], Problem(examples(), C=1.0))
    X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    classifier = widemargin.LinearClassifier(solver="plain-perceptron(eta=0.5)", tol=None, n_jobs=1).fit(X, y)
    assert classifier.predict(X).tolist() == y


@pytest.mark.usefixtures("added")
def test_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    from widemargin.objectives.scaled_margin import ScaledMargin

    row = eval(ROWS["scaled-margin"], {"ScaledMargin": ScaledMargin})
    monkeypatch.setitem(objectives.OBJECTIVES, "scaled-margin", row)
    X, y = [[0.0], [1.0], [0.9], [4.0]], [0, 0, 1, 1]
    options = {"tol": 1e-6, "n_jobs": 1}
    scaled = widemargin.LinearClassifier(objective="scaled-margin", **options).fit(X, y).solution_
    halved = widemargin.LinearClassifier(costs={(0, 1): 0.5, (1, 0): 0.5}, **options).fit(X, y).solution_
    assert scaled.certified
    assert scaled.primal == pytest.approx(halved.primal, rel=1e-5)


@pytest.mark.usefixtures("added")
def test_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "slashes", eval(ROWS["slashes"], {"Format": Format}))
    data, model = tmp_path / "a.slashes", tmp_path / "a.wm"
    data.write_text("the/D dog/N barks/V\n\n1/2/Q dogs/N bark/V\n", encoding="utf-8")
    succeed("train", "tag", "--train", data, "--out", model, "--templates", "word", "--quiet")
    assert succeed("predict", model, data) == data.read_text(encoding="utf-8")
    data.write_text("the/D\ndog\n", encoding="utf-8")
    assert "a.slashes, line 2: expected word/TAG: 'dog'" in fail("predict", model, data)


@pytest.mark.usefixtures("added")
def test_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tasks.TASKS, "threshold", ast.literal_eval(ROWS["threshold"]))
    (call,) = re.findall(r"`widemargin\.(Threshold\(\)\.fit\(.*?\))`", PAGE)
    estimator = eval(f"widemargin.{call}", {"widemargin": widemargin})
    assert estimator.solution_.certified
    assert estimator.predict([0, 3, 7, 20]) == [False, False, True, True]
    estimator.save(tmp_path / "a.wm")
    assert widemargin.load(tmp_path / "a.wm").predict([3, 7]) == [False, True]
    assert "This model predicts which numbers are large." in succeed("inspect", tmp_path / "a.wm", "--card")
    assert "number" in succeed("inspect", tmp_path / "a.wm")
    assert "unit : float, default=1.0" in type(estimator).__doc__


def test_files_that_the_page_links_to_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", PAGE):
        assert (Path(__file__).parents[1] / target).exists(), target
