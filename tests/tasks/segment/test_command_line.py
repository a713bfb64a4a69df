"""`widemargin train segment` and what follows it: round trips in every format, and one sentence for every mistake."""

import json
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from helpers.command_line import fail, succeed
from widemargin import load
from widemargin.data.generators import addresses
from widemargin.files.formats import read
from widemargin.metrics import span_scores
from widemargin.text.spans import spans

SUFFIXES = {"conll": "tsv", "jsonl": "jsonl", "xml": "xml"}


def written(format_: str, n: int, seed: int) -> str:
    """Addresses with segments marked as the format marks them."""
    pairs = list(zip(*addresses(n, seed), strict=True))
    if format_ == "conll":
        return "\n".join("".join(f"{t}\t{label}\n" for t, label in zip(*pair, strict=True)) for pair in pairs)
    if format_ == "jsonl":
        return "".join(json.dumps({"id": 1, "tokens": x, "spans": spans(y)}) + "\n" for x, y in pairs)
    rows = []
    for x, y in pairs:
        words = [escape(token) for token in x]
        for start, end, type_ in spans(y):
            words[start] = f"<{type_}>{words[start]}"
            words[end - 1] += f"</{type_}>"
        rows.append(f'<address n="{len(x)}">{" ".join(words)}</address>')
    return "<addresses>\n" + "\n".join(rows) + "\n</addresses>\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Training and test files and a model for each format."""
    folder = tmp_path_factory.mktemp("segments")
    for format_, suffix in SUFFIXES.items():
        for name, n, seed in (("train", 100, 0), ("dev", 30, 1), ("test", 40, 2)):
            (folder / f"{name}.{suffix}").write_text(written(format_, n, seed), encoding="utf-8")
        files = ["--train", folder / f"train.{suffix}", "--dev", folder / f"dev.{suffix}"]
        options = ["--out", folder / f"{format_}.wm", "--epochs", "6", "--json", "--quiet"]
        summary = json.loads(succeed("train", "segment", *files, *options))
        assert (summary["sequences"], summary["dev"]["metric"]) == (100, "f1")
        assert summary["dev"]["score"] > 0.6
    return folder


@pytest.mark.parametrize("format_", SUFFIXES)
def test_what_is_predicted_is_what_is_evaluated(folder: Path, format_: str, tmp_path: Path) -> None:
    model, test = folder / f"{format_}.wm", folder / f"test.{SUFFIXES[format_]}"
    out = tmp_path / f"out.{SUFFIXES[format_]}"
    assert succeed("predict", model, test, "--out", out) == ""
    results = json.loads(succeed("evaluate", model, test, "--json"))
    before, after = read(test), read(out)
    assert before.columns.sequences("word") == after.columns.sequences("word")
    gold, predicted = before.columns.sequences("label"), after.columns.sequences("label")
    assert results["scored"] == "spans"
    assert results["f1"] == span_scores(gold, predicted).micro.f1 == load(model).score(before.columns, gold) > 0.6
    assert json.loads(succeed("evaluate", model, out, "--json"))["f1"] == 1.0
    assert succeed("predict", model, out) == out.read_text(encoding="utf-8")


def test_all_formats_are_the_same_data(folder: Path) -> None:
    pairs = [(folder / f"{a}.wm", folder / f"test.{b}") for a in SUFFIXES for b in SUFFIXES.values()]
    scores = {succeed("evaluate", model, test, "--quiet") for model, test in pairs}
    assert len(scores) == 1


def test_segments_are_written_where_there_are_none(folder: Path) -> None:
    model = folder / "conll.wm"
    line = json.loads(succeed("predict", model, "-", stdin='{"tokens": ["12", "Main", "Street"]}\n'))
    assert [len(span) for span in line["spans"]] == [3] * len(line["spans"])
    assert line["spans"]
    assert "\tB-" in succeed("predict", model, "-", stdin="12\nMain\nStreet\n")
    assert "\tB-" in succeed("predict", model, "-", "--text", stdin="12 Main Street\n")
    text = succeed("predict", model, "-", stdin="<a><b>12 Main Street</b></a>\n")
    assert text.startswith("<a><b><")
    assert text.endswith("></b></a>\n")


def test_taggers_and_segmenters_train_on_the_same_files(folder: Path, tmp_path: Path) -> None:
    succeed("train", "tag", "--train", folder / "train.xml", "--out", tmp_path / "t.wm", "--epochs", "2", "--quiet")
    assert float(succeed("evaluate", tmp_path / "t.wm", folder / "test.jsonl", "--quiet")) > 0.5
    assert "<city>" in succeed("predict", tmp_path / "t.wm", folder / "test.xml")


def test_inspect_shows_segments(folder: Path) -> None:
    model = load(folder / "xml.wm").model_
    results = json.loads(succeed("inspect", folder / "xml.wm", "--json", "--top", "3"))
    assert results["structure"] == "segment"
    assert results["size"]["segment_features"] == model.extractor.n_segment_features
    assert set(results["labels"]) == set(results["features"]) == set(results["lengths"]) == set(model.labels)
    weights, names = model.shape.parts(model.w), model.extractor.names()
    for j, label in enumerate(model.labels):
        best = results["features"][label]["positive"][0]
        name, _, role = best["name"].rpartition(" (")
        row = weights.roles[names.index(name)].reshape(3, -1)
        assert best["weight"] == weights.roles.reshape(-1, 3, len(model.labels))[:, :, j].max()
        assert best["weight"] == row[["first token)", "any token)", "last token)"].index(role), j]
        for each in results["segment_features"][label]["positive"]:
            assert each["weight"] == weights.segment[names[model.extractor.n_features :].index(each["name"]), j]
    text = succeed("inspect", folder / "xml.wm", "--label", "city")
    assert "Features of whole segments for and against city" in text
    assert "Lengths for and against city" in text


def test_options_of_segments(folder: Path, tmp_path: Path) -> None:
    penalties, lexicon = tmp_path / "p.json", tmp_path / "towns.txt"
    penalties.write_text('{"recall": {"city": 2}, "confusion": {"city": {"street": 0.5}}}', encoding="utf-8")
    lexicon.write_text("Leeds\nNew York\n", encoding="utf-8")
    options = ["--templates", "lower", "--lexicon", f"towns={lexicon}", "--segment-features", "lexicon,string"]
    files = ["--train", folder / "train.xml", "--out", tmp_path / "a.wm", "--penalties", penalties, "--epochs", "2"]
    succeed("train", "segment", *files, *options, "--quiet")
    model = load(tmp_path / "a.wm").model_
    assert "lexicon(towns)" in model.extractor.names()
    assert model.extractor.segment_features == ("lexicon", "string")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--max-length", "1"], "max_length allows segments of 1 tokens"),
        (["--segment-features", "sting"], "there is no segment feature 'sting'"),
        (["--templates", "transition:lower"], "describes pairs of labels"),
        (
            ["--lexicon", "a={folder}/train.tsv", "--templates", "bias", "--segment-features", "ends"],
            "no template",
        ),
        (["--penalties", "{folder}/train.tsv"], "train.tsv is not JSON"),
        (["--penalties", "{folder}/wrong.json"], "'accuracy' is not an object of costs"),
        (["--label", "word", "--templates", "bias"], "marks no span"),
        (["--format", "xml"], "line 1: not well-formed XML"),
    ],
)
def test_mistakes_are_answered_by_a_sentence(folder: Path, tmp_path: Path, options: list[str], complaint: str) -> None:
    (folder / "wrong.json").write_text('{"accuracy": {}}', encoding="utf-8")
    given = [option.format(folder=folder) for option in options]
    assert complaint in fail("train", "segment", "--train", folder / "train.tsv", "--out", tmp_path / "a.wm", *given)
    assert not (tmp_path / "a.wm").exists()
