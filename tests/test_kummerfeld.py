"""The benchmark after Kummerfeld et al. (2015): from end to end on tiny corpora, and again where it was stopped."""

import importlib
import json
from pathlib import Path

import pytest

from widemargin.data.samples import labelled, reviews, small_texts
from widemargin.data.treebanks import treebank

FOLDER = Path(__file__).parents[1] / "benchmarks"
PANELS = ["ner", "coreference", "constituency", "projective", "nonprojective", "summarisation"]


@pytest.fixture
def kummerfeld(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("kummerfeld")


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def corpora(tmp_path):
    folder = tmp_path / "data"
    for part, seed in (("train", 1), ("dev", 2)):
        trees = treebank(12, seed=seed)
        written(folder / "ncbi-disease" / f"{part}.tsv", labelled(12))
        written(folder / "gum-open" / f"{part}.conllu", small_texts())
        written(folder / "ud-english-ewt" / f"{part}.conllu", trees.conllu())
        written(folder / "genia-treebank" / f"{part}.ptb", "".join(f"{tree}\n" for tree in trees.trees))
    for line in reviews(6).splitlines():
        topic = json.loads(line)
        texts = [each if isinstance(each, str) else "\n".join(each) for each in topic["documents"]]
        for number, text in enumerate(texts):
            written(folder / "opinosis" / "topics" / f"t{topic['id']}" / f"{number}.txt", text)
        for number, text in enumerate(topic["references"]):
            written(folder / "opinosis" / "summaries-gold" / f"t{topic['id']}" / f"{number}.txt", text)
    return folder


def test_all_linear_panels(kummerfeld, corpora, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["--data", str(corpora), "--out", str(out), "--tuning", "1", "--epochs", "2", "--jobs", "0"]
    assert kummerfeld.main([*command, "--panels", *PANELS]) == 0
    told = capsys.readouterr().out
    runs = {path: json.loads(path.read_text()) for path in (out / "runs").iterdir()}
    for panel in PANELS:
        for method in kummerfeld.PANELS[panel].methods:
            mine = [run for run in runs.values() if (run["panel"], run["method"]) == (panel, method)]
            assert len(mine) == len(kummerfeld.PANELS[panel].settings(method))
            assert sum(len(run["epochs"]) == 2 for run in mine) == 1, "only the best setting goes on"
            assert f"{panel}, {method}" in told
            for score, seconds, decoding in (epoch for run in mine for epoch in run["epochs"]):
                assert 0 <= score <= 1
                assert 0 < decoding < seconds
    assert (out / "figure.png").stat().st_size > 10_000
    table = (out / "table1.md").read_text()
    rows = [line for line in table.splitlines() if line.startswith("| Averaged perceptron |")]
    assert rows[0].count("1.0 · ") == len(PANELS)
    assert [f"{k}. *" in table for k in range(1, 6)] == [True] * 5

    lost = next(path for path, run in runs.items() if run["panel"] == "ner" and len(run["epochs"]) == 1)
    before, times = lost.read_text(), {path: path.stat().st_mtime_ns for path in runs}
    lost.unlink()
    assert kummerfeld.main([*command, "--panels", *PANELS]) == 0
    changed = [path for path in runs if path.stat().st_mtime_ns != times[path]]
    assert changed == [lost], "the others are there already"
    again = json.loads(lost.read_text())
    assert [row[0] for row in again["epochs"]] == [row[0] for row in json.loads(before)["epochs"]]


def test_what_cannot_be_run_is_an_error(kummerfeld, corpora, tmp_path, capsys):
    (corpora / "ncbi-disease" / "dev.tsv").unlink()
    command = ["--data", str(corpora), "--out", str(tmp_path / "out"), "--tuning", "1", "--epochs", "1", "--jobs", "0"]
    assert kummerfeld.main([*command, "--panels", "ner", "summarisation"]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == len(kummerfeld.PANELS["ner"].methods)
    assert all("ner" in error and "dev.tsv" in error for error in errors)
    assert "| Averaged perceptron | 1.0" in (tmp_path / "out" / "table1.md").read_text(), "the other panel was run"


def test_the_neural_panel(kummerfeld, corpora, tmp_path):
    pytest.importorskip("torch")
    command = ["--data", str(corpora), "--out", str(tmp_path), "--tuning", "1", "--epochs", "1", "--jobs", "0"]
    assert kummerfeld.main([*command, "--panels", "neural"]) == 0
    assert len(list((tmp_path / "runs").iterdir())) == 6
