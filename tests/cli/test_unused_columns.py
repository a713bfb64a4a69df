"""`train` says once which columns of its file no template looks at."""

import json
from pathlib import Path

import pytest

from helpers.command_line import complaints, run, succeed
from helpers.files import TASK_FILES

ROW = "1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\tx\n2\tdog\tdog\tNOUN\tNN\tNumber=Sing\t0\troot\t_\ty\n\n"
SAYS = "columns not used: {}; name them in --templates\n"


def said(tmp_path: Path, name: str, text: str, *options: str, task: str = "tag") -> str:
    data = tmp_path / name
    data.write_text(text, encoding="utf-8")
    result = run("train", task, "--train", data, "--out", tmp_path / "a.wm", "--epochs", "1", *options)
    assert result.exit_code == 0
    return complaints(result.stderr)


@pytest.mark.interpreted
def test_columns_that_no_template_reads(tmp_path: Path) -> None:
    """Neither the label, nor numbers, trees and notes, nor a column in which every token has the same."""
    assert said(tmp_path, "a.conllu", ROW, "--label", "upos") == SAYS.format("lemma, xpos, feats")
    assert said(tmp_path, "a.conllu", ROW, "--label", "upos", "--templates", "word lemma|xpos") == SAYS.format("feats")
    assert said(tmp_path, "a.conllu", ROW, "--label", "upos", "--templates", "word lemma xpos feats") == ""
    assert said(tmp_path, "a.conllu", ROW, "--label", "upos", "--quiet") == ""
    assert said(tmp_path, "a.tsv", "a 1 x O\nb 2 x B\n") == SAYS.format("column2")
    assert said(tmp_path, "a.tsv", "a O\nb B\n") == ""
    assert said(tmp_path, "a.jsonl", '{"tokens": ["a", "b"], "pos": ["D", "N"], "tags": ["O", "B"]}\n') == SAYS.format(
        "pos"
    )


def test_parsers(tmp_path: Path) -> None:
    """Their own templates read all columns that are given; with tags of their own they read words by design."""
    given = ["--hash-bits", "8", "--tags", "given"]
    assert said(tmp_path, "a.conllu", ROW, *given, task="parse") == ""
    words = ["--templates", "head:lower modifier:upos", "--label-templates", "modifier:lower"]
    assert said(tmp_path, "a.conllu", ROW, *words, *given, task="parse") == SAYS.format("lemma, xpos, feats")
    assert said(tmp_path, "a.conllu", 3 * ROW, *words, "--hash-bits", "8", task="parse") == ""


@pytest.mark.parametrize("task", [name for name in TASK_FILES if name not in ("tag", "segment", "parse")])
def test_other_tasks_have_no_such_columns(task: str, tmp_path: Path) -> None:
    row = TASK_FILES[task]()
    assert said(tmp_path, row.name, row.text, *row.options, task=task) == ""


@pytest.mark.interpreted
def test_json_lists_them(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a 1 O\nb 2 B\n", encoding="utf-8")
    options = ["--train", tmp_path / "a.tsv", "--out", tmp_path / "a.wm", "--epochs", "1", "--json", "--quiet"]
    assert json.loads(succeed("train", "tag", *options))["unused_columns"] == ["column2"]
