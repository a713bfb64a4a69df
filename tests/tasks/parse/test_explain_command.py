"""`predict --draw` and `inspect --explain`: what they show is what the models predict."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from helpers.command_line import fail, succeed
from widemargin.data.treebanks import treebank
from widemargin.tasks.base import load_model
from widemargin.tasks.bracket.pictures import brackets_lines
from widemargin.tasks.parse.pictures import arcs_lines
from widemargin.text.columns import Columns

TEST = treebank(4, seed=1, non_projective=0.3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    train = treebank(25, seed=0)
    for name, bank in (("train", train), ("test", TEST)):
        (folder / f"{name}.conllu").write_text(bank.conllu(), encoding="utf-8")
        (folder / f"{name}.ptb").write_text(bank.brackets(), encoding="utf-8")
    (folder / "tags.conll").write_text("a\tX\nb\tY\n", encoding="utf-8")
    options = ["--solver", "perceptron", "--epochs", "2", "--quiet"]
    hashed = ["--hash-bits", "12"]
    succeed("train", "parse", "--train", folder / "train.conllu", "--out", folder / "p.wm", *options, *hashed)
    succeed("train", "bracket", "--train", folder / "train.ptb", "--out", folder / "b.wm", *options, *hashed)
    succeed("train", "tag", "--train", folder / "tags.conll", "--out", folder / "t.wm", *options)
    return folder


def test_trees_on_the_terminal(folder):
    arcs = load_model(folder / "p.wm").predict(TEST.columns)
    words, tags = TEST.columns.sequences("word"), TEST.columns.sequences("upos")
    expected = [line for parse in zip(words, arcs, tags, strict=True) for line in (*arcs_lines(*parse), "")]
    assert succeed("predict", folder / "p.wm", folder / "test.conllu", "--draw", "-").splitlines() == expected
    X = Columns({"word": TEST.columns["word"], "pos": TEST.columns["xpos"]}, TEST.columns.indptr)
    trees = load_model(folder / "b.wm").predict(X)
    expected = [line for tree in trees for line in (*brackets_lines(tree), "")]
    assert succeed("predict", folder / "b.wm", folder / "test.ptb", "--draw", "-").splitlines() == expected


@pytest.mark.parametrize(("model", "file"), [("p.wm", "test.conllu"), ("b.wm", "test.ptb")])
def test_pictures_instead_of_data_or_besides(folder, tmp_path, model, file):
    picture, out = tmp_path / "trees.svg", tmp_path / "out"
    assert succeed("predict", folder / model, folder / file, "--draw", picture) == ""
    texts = [each.text for each in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert set(TEST.columns["word"].values) <= set(texts)
    assert succeed("predict", folder / model, folder / file, "--draw", picture, "--out", out) == ""
    assert out.read_text(encoding="utf-8") == succeed("predict", folder / model, folder / file)


def test_only_trees_can_be_drawn(folder, tmp_path):
    assert "cannot be drawn" in fail("predict", folder / "t.wm", folder / "tags.conll", "--draw", "-")
    drawn = "predict", folder / "p.wm", folder / "test.conllu", "--draw"
    assert "does not end in .svg" in fail(*drawn, tmp_path / "picture.png")
    named = tmp_path / "test.svg"
    named.write_text((folder / "test.conllu").read_text(encoding="utf-8"), encoding="utf-8")
    assert "is read by this command" in fail("predict", folder / "p.wm", named, "--draw", named)


def explained(folder, model, file, *options):
    return json.loads(succeed("inspect", folder / model, "--explain", folder / file, "--json", *options))


def test_margins_of_all_arcs_and_the_reasons_for_one(folder):
    arcs = load_model(folder / "p.wm").predict(TEST.columns)[1]
    parts = explained(folder, "p.wm", "test.conllu", "--sentence", "2")["parts"]
    assert len(parts) == len(arcs)
    for token in (1, 3):
        answer = explained(folder, "p.wm", "test.conllu", "--sentence", "2", "--token", token)
        assert answer["chosen"]["part"].endswith(arcs[token - 1].label)
        assert answer["other"]["part"] == parts[token - 1]["instead"]
        assert answer["difference"] == pytest.approx(parts[token - 1]["margin"])
        assert sum(reason["difference"] for reason in answer["reasons"]) == pytest.approx(answer["difference"])
    head = next(h for h in range(len(arcs) + 1) if h not in (1, arcs[0].head))
    options = ["--token", "1", "--head", head, "--label", "obj"]
    other = explained(folder, "p.wm", "test.conllu", "--sentence", "2", *options)["other"]
    assert other["part"].startswith(f"{head} ")
    assert other["part"].endswith(", obj")


def test_margins_of_all_constituents_and_the_reasons_for_one(folder):
    parts = explained(folder, "b.wm", "test.ptb")["parts"]
    assert all(part["margin"] >= -1e-9 for part in parts)
    span = parts[1]["part"].split()[0]
    answer = explained(folder, "b.wm", "test.ptb", "--span", span)
    assert answer["difference"] == pytest.approx(parts[1]["margin"])
    assert sum(reason["difference"] for reason in answer["reasons"]) == pytest.approx(answer["difference"])


def test_tables_for_people(folder):
    out = succeed("inspect", folder / "p.wm", "--explain", folder / "test.conllu", "--token", "2", "--top", "3")
    assert out.startswith("chosen")
    assert "difference  template" in out
    assert "margin" in succeed("inspect", folder / "b.wm", "--explain", folder / "test.ptb")
    for model in ("p.wm", "b.wm"):
        out = succeed("inspect", folder / model)
        assert "hashed" in out
        assert json.loads(succeed("inspect", folder / model, "--json"))["size"]["weights_not_zero"] > 0


@pytest.mark.parametrize(
    ("model", "options", "complaint"),
    [
        ("p.wm", ["--token", "1"], "need --explain FILE"),
        ("p.wm", ["--explain", "test.conllu", "--sentence", "9"], "there is no sentence 9"),
        ("p.wm", ["--explain", "test.conllu", "--token", "99"], "there is no token 99"),
        ("p.wm", ["--explain", "test.conllu", "--token", "1", "--head", "1"], "cannot have the head 1"),
        ("p.wm", ["--explain", "test.conllu", "--span", "1:2"], "ask for a --token"),
        ("p.wm", ["--explain", "test.conllu", "--head", "1"], "give a --token"),
        ("b.wm", ["--explain", "test.ptb", "--token", "1"], "ask for a --span"),
        ("b.wm", ["--explain", "test.ptb", "--span", "1-2"], "not of the form M:N"),
        ("b.wm", ["--explain", "test.ptb", "--span", "0:2"], "there are no words 0 to 2"),
    ],
)
def test_what_cannot_be_explained(folder, monkeypatch, model, options, complaint):
    monkeypatch.chdir(folder)
    assert complaint in fail("inspect", model, *options)
