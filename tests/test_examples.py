"""The examples run, and show what they say."""

import importlib.util
import runpy
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.core.solution import percent
from widemargin.data.generators import matchings
from widemargin.structures.custom import CustomExamples
from widemargin.testing import check_structure

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[1] / "examples"


def imported(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def matching():
    return imported("matching")


def test_learning_to_match(matching, capsys):
    before, after, model = matching.main(n_train=40, n_test=80)
    assert after > 0.8
    assert after - before > 0.5
    solution = model.solution_
    assert solution.certified
    assert solution.stopped == "gap"
    assert solution.gap <= model.tol
    first, second = capsys.readouterr().out.splitlines()
    assert f"{before:.1%}" in first
    assert f"{after:.1%}" in first
    assert second == str(solution)
    assert f"proven to be within {percent(solution.gap, '')} of the optimum" in second


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.booleans())
def test_the_matchings_decoded_are_the_best_of_all(matching, seed, augmented):
    problem = matching.Matching()
    (x,), (gold,) = matchings(1, seed, size=(1, 5), n_features=3)
    w = np.random.default_rng(seed).integers(-3, 4, size=3) * 0.5
    best = problem.decode(x, w, gold if augmented else None)

    def value(y):
        return problem.features(x, y) @ w + (problem.error(gold, y) if augmented else 0.0)

    assert value(best) == pytest.approx(max(value(y) for y in permutations(range(len(x)))))
    assert sorted(best) == list(range(len(x)))


def test_matching_is_a_sound_structure(matching):
    X, y = matchings(6, seed=3, size=(2, 4), n_features=4)
    check_structure(
        CustomExamples(matching.Matching(), X, y),
        enumerate_outputs=lambda i: ([partners] for partners in permutations(range(len(X[i])))),
        gold=y,
    )


def test_deduplicating(capsys):
    before, after, clusterer = imported("deduplicate").main(n_train=4, n_test=4)
    assert after > 0.85
    assert after > before
    *_, learnt, solution = capsys.readouterr().out.splitlines()
    assert learnt == f"  what was learnt: {after:.1%}"
    assert solution == str(clusterer.solution_)
    assert clusterer.solution_.certified


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_examples_do_nothing_on_import(path, capsys):
    module = imported(path.stem)
    assert callable(module.main)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("path", sorted((FOLDER / "gallery").glob("*.py")), ids=lambda path: path.stem)
def test_examples_of_the_gallery_run_and_draw(path, monkeypatch, capsys):
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    names = runpy.run_path(str(path))
    drawn = [*plt.get_fignums(), *names.get("pictures", []), *([names["picture"]] if "picture" in names else [])]
    plt.close("all")
    assert drawn
    assert capsys.readouterr().err == ""


def test_a_run_is_followed_by_any_writer():
    """What a writer is given is the trace, with nothing in place of what is not known."""
    written = []
    tagger = imported("tensorboard").main(lambda *each: written.append(each), n_train=20)
    names = {"objective": "primal", "lower bound": "dual", "gap": "gap", "dev score": "score", "seconds": "seconds"}
    for name, field in names.items():
        rows = [(getattr(row, field), row.epoch) for row in tagger.solution_.trace]
        assert [each[1:] for each in written if each[0] == name] == [row for row in rows if row[0] is not None]
    assert {name for name, _, _ in written} == {*names, "oracle calls"}


def test_numbers_are_printed_without_anything_installed(monkeypatch, capsys):
    example = imported("tensorboard")
    monkeypatch.setitem(example.sys.modules, "mlflow", None)
    example.writer("mlflow")("gap", 0.25, 3)
    first, second = capsys.readouterr().out.splitlines()
    assert "mlflow" in first
    assert "what to install" in first
    assert second == "epoch 3: gap 0.25"


def test_mlflow_and_tensorboard_are_called_as_they_want(monkeypatch):
    """By stand-ins with the same names."""
    example, calls = imported("tensorboard"), []
    module = SimpleNamespace(log_metric=lambda name, value, step: calls.append((name, value, step)))
    monkeypatch.setitem(example.sys.modules, "mlflow", module)
    example.writer("mlflow")("gap", 0.5, 1)

    class SummaryWriter:
        def __init__(self, folder):
            calls.append(folder)

        def add_scalar(self, name, value, step):
            calls.append((name, value, step))

    monkeypatch.setitem(example.sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=SummaryWriter))
    example.writer("tensorboard")("gap", 0.25, 2)
    assert calls == [("gap", 0.5, 1), "runs", ("gap", 0.25, 2)]
