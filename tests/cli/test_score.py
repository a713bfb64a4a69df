"""`score` compares two files, and says of predictions in a file what `evaluate` says of a model."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from helpers.command_line import fail, succeed, written
from helpers.files import TASK_FILES
from widemargin.tasks.parse.metrics import content_score
from widemargin.text.trees import Arc

UNLIKE = {
    "motif": ("auc", "error", "precision", "recall", "f1", "sites", "sites_found"),
    "rank": ("precision@2", "ndcg@2"),
}
"""Measures that need a model."""


def numbers(results: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in results.items() if isinstance(value, float)}


@pytest.mark.parametrize("task", TASK_FILES)
def test_scores_are_those_of_the_model(task: str, tmp_path: Path) -> None:
    """Trained hardly at all, so that there are mistakes to count."""
    row, model = TASK_FILES[task](), tmp_path / "a.wm"
    data, out = tmp_path / row.name, tmp_path / f"out-{row.name}"
    data.write_text(row.text, encoding="utf-8")
    succeed("train", task, "--train", data, "--out", model, "--epochs", "1", "--C", "0.001", "--quiet", *row.options)
    succeed("predict", model, data, "--out", out)
    chosen = ["--task", task] if task in ("segment", "motif", "coreference") else []
    results = json.loads(succeed("score", data, out, "--json", *chosen))
    assert results["task"] == task
    expected = numbers(json.loads(succeed("evaluate", model, data, "--json")))
    for name, value in numbers(results).items():
        assert value == pytest.approx(expected[name]), name
    assert set(expected) - set(numbers(results)) - set(UNLIKE.get(task, ())) == {
        name for name in expected if name.endswith("_per_second")
    }
    main = float(succeed("score", data, out, "--quiet", *chosen))
    assert any(math.isclose(main, value, abs_tol=1e-6) for value in expected.values())
    perfect = json.loads(succeed("score", data, data, "--json", *chosen))
    assert max(numbers(perfect).values()) == 1.0 or task == "summarise"  # references differ from each other


@pytest.mark.interpreted
def test_spans_by_type(tmp_path: Path) -> None:
    gold, predicted = tmp_path / "gold.tsv", tmp_path / "predicted.tsv"
    gold.write_text("in\tO\nNew\tB-city\nYork\tI-city\n\nLee\tB-name\n", encoding="utf-8")
    predicted.write_text("in\tO\nNew\tB-city\nYork\tO\n\nLee\tB-name\n", encoding="utf-8")
    results = json.loads(succeed("score", gold, predicted, "--json"))
    assert (results["accuracy"], results["sequence_accuracy"], results["f1"]) == (0.75, 0.5, 0.5)
    assert results["by_type"]["name"]["f1"] == 1.0
    assert results["by_type"]["city"]["recall"] == 0.0
    shown = succeed("score", gold, predicted)
    assert "Spans by type" in shown
    assert "Speed" not in shown


@pytest.mark.interpreted
def test_a_column_of_a_treebank_and_its_trees(tmp_path: Path) -> None:
    data = tmp_path / "a.conllu"
    data.write_text(TASK_FILES["parse"]().text, encoding="utf-8")
    assert json.loads(succeed("score", data, data, "--json"))["las"] == 1.0
    assert json.loads(succeed("score", data, data, "--json", "--label", "upos"))["label"] == "upos"
    without = json.loads(succeed("score", data, data, "--json", "--no-punctuation"))
    assert 0 < without["scored_tokens"] <= without["tokens"]
    assert "dependency trees" in fail("score", data, data, "--label", "upos", "--no-punctuation")


@pytest.mark.interpreted
def test_scores_of_content_words() -> None:
    """By hand: of two gold and three predicted content words, one is right."""
    gold = [[Arc(3, "det:poss"), Arc(3, "amod"), Arc(0, "root")]]
    predicted = [[Arc(3, "nmod"), Arc(3, "amod"), Arc(2, "root")]]
    assert content_score(gold, predicted)[:3] == (1 / 3, 1 / 2, 0.4)


@pytest.mark.interpreted
def test_rankings_by_scores_alone(tmp_path: Path) -> None:
    gold, predicted = tmp_path / "gold.svm", tmp_path / "scores.txt"
    gold.write_text("1 qid:1 1:1\n0 qid:1 1:2\n0 qid:2 1:1\n2 qid:2 1:3\n", encoding="utf-8")
    predicted.write_text("0.5\n-1e3\n3\n2.5\n", encoding="utf-8")
    assert json.loads(succeed("score", gold, predicted, "--json"))["mrr"] == 0.75
    predicted.write_text("0.5\nhigh\n3\n2.5\n", encoding="utf-8")
    assert fail("score", gold, predicted) == f"{predicted}, line 2: 'high' is not a score to rank documents by"
    predicted.write_text("0.5\n3\n2.5\n", encoding="utf-8")
    assert fail("score", gold, predicted) == (
        f"{predicted} does not fit {gold}: there are 3 documents, but 4 in the gold file"
    )


@pytest.mark.interpreted
def test_files_that_do_not_fit_are_named_with_the_line(tmp_path: Path) -> None:
    gold, predicted = tmp_path / "gold.tsv", tmp_path / "predicted.tsv"
    gold.write_text("a\tO\n\nb\tO\nc\tO\n", encoding="utf-8")
    predicted.write_text("a\tO\n\nb\tO\nd\tO\n", encoding="utf-8")
    assert fail("score", gold, predicted) == f"{predicted}, line 4: the word is 'd', but 'c' in {gold}, line 4"
    predicted.write_text("a\tO\n\nb\tO\n", encoding="utf-8")
    assert fail("score", gold, predicted) == f"{predicted}, line 3: there are 1 tokens, but 2 in {gold}, line 3"
    predicted.write_text("a\tO\n", encoding="utf-8")
    assert fail("score", gold, predicted) == (
        f"{predicted} does not fit {gold}: {predicted} has 1 sequences of tokens, but {gold} has 2"
    )
    lines = tmp_path / "predicted.jsonl"
    lines.write_text('{"tokens": ["a"], "label": ["O"]}\n{"tokens": ["b", "x"], "label": ["O", "O"]}\n', "utf-8")
    assert fail("score", gold, lines, "--label", "label") == (
        f"{lines}, line 2, token 2: the word is 'x', but 'c' in {gold}, line 4"
    )


@pytest.mark.interpreted
def test_what_cannot_be_compared(tmp_path: Path) -> None:
    data = tmp_path / "a.tsv"
    data.write_text(written("conll", 2, 1), encoding="utf-8")
    assert fail("score", "-", "-") == "only one of the files can be standard input"
    assert fail("score", "-", data) == "what standard input is about cannot be guessed; name the task by --task"
    assert fail("score", data, data, "--task", "custom") == "the task custom has no files to compare"
    assert json.loads(succeed("score", data, "-", "--json", stdin=data.read_bytes()))["accuracy"] == 1.0
