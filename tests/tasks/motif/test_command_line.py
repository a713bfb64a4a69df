"""Motifs from the command line: files in, tables, JSON lines, matrices and logos out."""

import json
from xml.etree import ElementTree

import pytest

from helpers.command_line import fail, succeed
from helpers.motifs import MOTIF, planted, planted_table
from widemargin.tasks.motif import seeds

FAST = ["--order", "0", "--epochs", "20", "--quiet", "--json"]


@pytest.fixture(autouse=True)
def few_words(monkeypatch):
    """Fewer beginnings are tried, since interpreted kernels are slow."""
    monkeypatch.setattr(seeds, "N_SEEDS", 5)


def fasta(texts):
    return "".join(f">s{i}\n{text}\n" for i, text in enumerate(texts))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text(planted_table(), encoding="utf-8")
    return path


@pytest.fixture
def model(table, tmp_path):
    path = tmp_path / "a.wm"
    succeed("train", "motif", "--train", table, "--length", "8", *FAST, "--out", path)
    return path


def test_predictions_as_a_table_and_as_json_lines(model, table):
    lines = succeed("predict", model, table).splitlines()
    assert lines[0] == "#id\tlabel\tscore\tstart\tend\tstrand\tsite\tsequence"
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines[1:]]
    answers = [json.loads(line) for line in succeed("predict", model, table, "--best", "2").splitlines()]
    assert len(rows) == len(answers) == 24
    for row, answer in zip(rows, answers, strict=True):
        assert (row["#id"], row["label"]) == (answer["id"], answer["label"])
        assert float(row["score"]) == pytest.approx(answer["score"], rel=1e-4)
        if row["label"] == "1":
            site = answer["site"]
            assert (row["start"], row["end"], row["strand"], row["site"]) == (
                str(site["start"]),
                str(site["end"]),
                site["strand"],
                site["letters"],
            )
            assert answer["alternatives"][0] == site
            assert row["sequence"][site["start"] : site["end"]] in (MOTIF, site["letters"]) or site["strand"] == "-"
        else:
            assert (row["start"], answer["site"]) == (".", None)


def test_evaluation_and_calibration(model, table):
    results = json.loads(succeed("evaluate", model, table, "--json"))
    assert results["sites_found"] > 0.9
    assert results["sites"] == 12
    assert "known sites found" in succeed("evaluate", model, table)
    succeed("calibrate", model, table, "--quiet")
    answers = [json.loads(line) for line in succeed("predict", model, table, "--confidence").splitlines()]
    assert all(0.0 <= answer["confidence"] <= 1.0 for answer in answers)


def test_matrix_and_logo(model, tmp_path):
    targets = [tmp_path / f"motif{suffix}" for suffix in (".meme", ".svg", ".png")]
    shown = succeed("inspect", model, *(word for path in targets for word in ("--export", path)))
    assert "Picture" in shown
    assert f"{MOTIF}, " in shown
    assert targets[0].read_text(encoding="utf-8").startswith("MEME version 4")
    picture = ElementTree.fromstring(targets[1].read_text(encoding="utf-8"))
    assert picture.tag.endswith("svg")
    assert targets[2].read_bytes().startswith(b"\x89PNG")
    assert "no format that the model can be written in; these are .meme" in fail("inspect", model, "--export", "a.pdf")
    same = model.rename(tmp_path / "b.svg")
    assert "is read by this command" in fail("inspect", same, "--export", same)


def test_files_of_one_class_each(tmp_path):
    texts, _, _ = planted()
    for name, chosen in (("positive", texts[::2]), ("negative", texts[1:12:2]), ("background", texts[13::2])):
        (tmp_path / f"{name}.fa").write_text(fasta(chosen), encoding="utf-8")
    options = ["--negative", tmp_path / "negative.fa", "--background", tmp_path / "background.fa", "--length", "3,8"]
    train = ["train", "motif", "--train", tmp_path / "positive.fa", *options, *FAST, "--out", tmp_path / "a.wm"]
    results = json.loads(succeed(*train))
    assert results["sequences"] == 24
    assert results["remarks"]["lengths"].startswith("8 (")
    assert json.loads(succeed("inspect", tmp_path / "a.wm", "--json"))["labels"] == ["-1", "1"]
    lines = succeed("predict", tmp_path / "a.wm", tmp_path / "positive.fa").splitlines()
    assert sum(line.split("\t")[1] == "1" for line in lines[1:]) >= 10
    assert "has no labels; a table has them in a column" in fail(
        "evaluate", tmp_path / "a.wm", tmp_path / "positive.fa"
    )
    assert "cannot be read" in fail(*train[:4], "--background", tmp_path / "no.fa", "--out", tmp_path / "b.wm")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--format", "conll"], "sequences with motifs are read from fasta or sequences files, not conll"),
        (["--label", "kind"], "there is no column 'kind'"),
        (["--alphabet", "A"], "the alphabet must be"),
    ],
)
def test_bad_options(table, tmp_path, options, complaint):
    assert complaint in fail("train", "motif", "--train", table, *options, "--quiet", "--out", tmp_path / "a.wm")
    assert not (tmp_path / "a.wm").exists()


def test_a_positive_sequence_that_is_too_short_is_named(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("#id\tlabel\tsequence\nlong\t1\tACGTACGTACGTA\nshort\t1\tACGT\nno\t0\tACGT\n", encoding="utf-8")
    complaint = fail("train", "motif", "--train", path, "--quiet", "--out", tmp_path / "a.wm")
    assert "a.tsv, line 3: the sequence 'short' is positive, but has 4 letters, fewer than the 11" in complaint
