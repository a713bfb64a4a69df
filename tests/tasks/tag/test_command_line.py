"""`calibrate`, and what `predict` and `evaluate` say besides labels."""

import json

import numpy as np
import pytest

from helpers.command_line import fail, run, succeed
from widemargin import SequenceTagger, load
from widemargin.text.spans import spans

WORDS = {"to": "O", "in": "O", "Rome": "B-CITY", "New": "B-CITY", "York": "I-CITY", "Ann": "B-NAME"}


def column_file(seed, n, extra=None):
    """Words and labels, one in ten of them wrong; `extra` makes a column in between."""
    rng, lines = np.random.default_rng(seed), []
    for _ in range(n):
        for _ in range(rng.integers(1, 7)):
            word = list(WORDS)[rng.integers(len(WORDS))]
            label = WORDS[word] if rng.random() < 0.9 else list(WORDS.values())[rng.integers(len(WORDS))]
            lines.append("\t".join([word, *([] if extra is None else [extra(word)]), label]))
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    for name, seed, n in (("train", 0, 60), ("dev", 1, 60), ("test", 2, 60)):
        (folder / f"{name}.tsv").write_text(column_file(seed, n), encoding="utf-8")
    for structure in ("tag", "segment"):
        succeed("train", structure, "--train", folder / "train.tsv", "--out", folder / f"{structure}.wm", "--quiet")
        model, out = folder / f"{structure}.wm", folder / f"calibrated-{structure}.wm"
        succeed("calibrate", model, folder / "dev.tsv", "--out", out, "--quiet")
    return folder


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def test_calibrate_tells_how_well_it_fits_and_keeps_it(folder, tmp_path):
    model = tmp_path / "model.wm"
    model.write_bytes((folder / "tag.wm").read_bytes())
    report = json.loads(succeed("calibrate", model, folder / "dev.tsv", "--json", "--plot", tmp_path / "plot.png"))
    assert set(report) == {"model", "data", "labels", "spans"}
    assert 0 <= report["labels"]["after"] <= 1
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert load(model).model_.calibration.curves.keys() == {"labels", "spans"}
    assert "expected calibration error" in succeed("calibrate", model, folder / "dev.tsv")
    results = json.loads(succeed("evaluate", model, folder / "test.tsv", "--json"))
    assert set(results["calibration"]) == {"labels", "spans"}
    assert "expected calibration error" in succeed("evaluate", model, folder / "test.tsv")
    assert "calibration" not in json.loads(succeed("evaluate", folder / "tag.wm", folder / "test.tsv", "--json"))


def test_confidence_and_alternatives_of_a_tagger(folder):
    model, file = folder / "calibrated-tag.wm", folder / "test.tsv"
    answers = objects(succeed("predict", model, file, "--confidence", "--best", 3))
    estimator = load(model)
    X = [answer["tokens"] for answer in answers]
    assert [answer["labels"] for answer in answers] == estimator.predict(X)
    assert np.concatenate([answer["confidence"] for answer in answers]).tolist() == pytest.approx(
        np.concatenate(estimator.confidence(X)).tolist()
    )
    for answer in answers:
        found = [(span["start"], span["end"], span["type"]) for span in answer["spans"]]
        assert found == [tuple(span) for span in spans(answer["labels"])]
        assert all(0 <= span["confidence"] <= 1 for span in answer["spans"])
        assert answer["alternatives"][0]["labels"] == answer["labels"]
        scores = [each["score"] for each in answer["alternatives"]]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)
    assert [set(each) for each in objects(succeed("predict", model, file, "--best", 1))] == [
        {"tokens", "labels", "alternatives"}
    ] * len(X)


def test_confidence_and_alternatives_of_a_segmenter(folder):
    model, file = folder / "calibrated-segment.wm", folder / "test.tsv"
    [answer, *_] = objects(succeed("predict", model, file, "--confidence", "--best", 2))
    assert set(answer) == {"tokens", "spans", "alternatives"}
    assert [span.pop("confidence") <= 1 for span in answer["spans"]] == [True] * len(answer["spans"])
    assert [list(span.values()) for span in answer["spans"]] == answer["alternatives"][0]["spans"]
    results = json.loads(succeed("evaluate", model, file, "--json"))
    assert set(results["calibration"]) == {"spans"}


def predicted(*args, stdin):
    return [line.split("\t")[-1] for line in succeed(*args, stdin=stdin).splitlines() if line]


@pytest.mark.parametrize("structure", ["tag", "segment"])
def test_one_span_at_most(folder, structure):
    model, text = folder / f"{structure}.wm", "Rome in Rome in Rome\n"
    assert predicted("predict", model, "-", "--text", stdin=text).count("B-CITY") == 3
    assert predicted("predict", model, "-", "--text", "--at-most-one", "CITY", stdin=text).count("B-CITY") == 1


def test_constraints_as_options(folder):
    model = folder / "tag.wm"
    assert predicted("predict", model, "-", "--text", stdin="Rome York") == ["B-CITY", "I-CITY"]
    forbidden = predicted("predict", model, "-", "--text", "--forbid", "B-CITY:I-CITY", stdin="Rome York")
    assert forbidden != ["B-CITY", "I-CITY"]
    assert predicted("predict", model, "-", "--text", "--bio", stdin="York")[0] != "I-CITY"


def test_constraints_as_columns(folder):
    model, names = folder / "tag.wm", ["--columns", "word,limit,label"]
    text = "Rome\tO,B-NAME\tO\nin\t*\tO\nRome\t_\tO\n"
    labels = predicted("predict", model, "-", *names, "--allowed", "limit", stdin=text)
    assert labels[0] in ("O", "B-NAME")
    assert labels[1:] == ["O", "B-CITY"]
    text = "Rome\tB-NAME\tO\nin\t_\tO\n"
    assert predicted("predict", model, "-", *names, "--forced", "2", stdin=text) == ["B-NAME", "O"]
    both = ["--forced", "limit", "--allowed", "label"]
    text = "Rome\tB-NAME\tO,B-NAME\nin\t_\t*\n"
    assert predicted("predict", model, "-", *names, *both, stdin=text) == ["B-NAME", "O"]


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        (["--confidence"], "Rome\tO\n", "not calibrated for labels; calibrate it on labelled data"),
        (["--forbid", "O:Q"], "Rome\tO\n", "--forbid O:Q does not name two labels of the model"),
        (["--at-most-one", "Q"], "Rome\tO\n", "there is no span type 'Q'"),
        (["--at-most-one", "CITY", "--best", 2], "Rome\tO\n", "alternatives cannot be found under at_most_one"),
        (["--allowed", "nowhere"], "Rome\tO\n", "has no label column 'nowhere'"),
        (["--allowed", "label"], "Rome\tO\n\nRome\tB,C\n", "sequence 2, token 1: the column label names the label 'B'"),
        (["--forced", "label", "--bio"], "Rome\tO\n\nYork\tI-CITY\n", "for sequence 1 complies with the constraints"),
    ],
)
def test_mistakes(folder, options, text, message):
    assert message in fail("predict", folder / "tag.wm", "-", *options, stdin=text)


def test_mistakes_in_calibrating(folder, tmp_path):
    model, dev = folder / "tag.wm", folder / "dev.tsv"
    assert "is read by this command" in fail("calibrate", model, dev, "--out", dev)
    plot = tmp_path / "both"
    assert "both be written" in fail("calibrate", model, dev, "--out", plot, "--plot", plot)
    assert run("predict", model, dev, "--best", 0).exit_code == 2


def test_labels_that_are_numbers(tmp_path):
    X, y = [["a", "b"], ["b", "a", "a"]] * 5, [[0, 1], [1, 0, 0]] * 5
    SequenceTagger(templates=["word"], max_epochs=3).fit(X, y).save(tmp_path / "model.wm")
    (tmp_path / "dev.tsv").write_text("a\t0\nb\t1\n\nb\t0\n", encoding="utf-8")
    report = json.loads(succeed("calibrate", tmp_path / "model.wm", tmp_path / "dev.tsv", "--json"))
    assert report["labels"]["right"] == pytest.approx(2 / 3)
    assert predicted("predict", tmp_path / "model.wm", "-", "--forced", "2", stdin="a\t1\nb\t_\n") == ["1", "1"]


@pytest.mark.parametrize("structure", ["tag", "segment"])
def test_unknown_labels_in_files(folder, tmp_path, structure):
    rng = np.random.default_rng(0)
    lines = (folder / "train.tsv").read_text(encoding="utf-8").splitlines()
    kept = [line if not line or rng.random() < 0.7 else line.split("\t")[0] + "\t_" for line in lines]
    (tmp_path / "train.tsv").write_text("\n".join(kept) + "\n", encoding="utf-8")
    n_unknown = sum(line.endswith("_") for line in kept)
    model = tmp_path / "m.wm"
    shown = succeed("train", structure, "--train", tmp_path / "train.tsv", "--dev", folder / "dev.tsv", "--out", model)
    assert f"{n_unknown} labels are filled in by the model" in shown
    assert "rounds" in shown
    assert "_" not in load(model).classes_
    results = json.loads(succeed("evaluate", model, tmp_path / "train.tsv", "--json"))
    assert results["not_scored"] == n_unknown
    assert results["accuracy"] > 0.8
    assert "tokens whose label is unknown" in succeed("evaluate", model, tmp_path / "train.tsv")
    assert "\t_" not in succeed("predict", model, tmp_path / "train.tsv")


def test_how_unknown_labels_and_alternatives_are_written(tmp_path):
    file, model = tmp_path / "a.tsv", tmp_path / "m.wm"
    file.write_text("to\tO\nRome\tB|C\nnow\t?\n\nin\tO\nRome\tB\nnow\t_\n\nat\tC\n", encoding="utf-8")
    train = ["train", "tag", "--train", file, "--out", model, "--quiet"]
    succeed(*train)
    assert set(load(model).classes_) == {"O", "B|C", "?", "B", "C"}
    succeed(*train, "--unknown", "?", "--alternatives", "|")
    assert set(load(model).classes_) == {"O", "B", "C", "_"}
    results = json.loads(succeed("evaluate", model, file, "--json"))
    assert (results["not_scored"], results["accuracy"]) == (1, 1.0)
    succeed(*train, "--unknown", "")
    assert set(load(model).classes_) == {"O", "B|C", "?", "B", "C", "_"}
    assert "not_scored" not in json.loads(succeed("evaluate", model, file, "--json"))
    file.write_text("to\t_\nRome\t_\n", encoding="utf-8")
    assert fail(*train) == "there is no labelled position to learn from"


def test_unknown_labels_in_json_lines_and_in_features(tmp_path):
    file, model = tmp_path / "a.jsonl", tmp_path / "m.wm"
    file.write_text(
        '{"tokens": ["to", "Rome"], "tags": ["O", null]}\n{"tokens": ["Rome"], "tags": ["B"]}\n', encoding="utf-8"
    )
    succeed("train", "tag", "--train", file, "--out", model, "--quiet")
    assert set(load(model).classes_) == {"O", "B"}
    row = "{}\t{}\t_\tX\tX\t{}\t0\t_\t_\t_\n"
    treebank = tmp_path / "a.conllu"
    treebank.write_text(row.format(1, "she", "Case=Nom") + row.format(2, "is", "_") + "\n", encoding="utf-8")
    succeed("train", "tag", "--train", treebank, "--label", "feats", "--out", model, "--quiet")
    assert set(load(model).classes_) == {"Case=Nom", "_"}
    assert json.loads(succeed("evaluate", model, treebank, "--json"))["accuracy"] == 1.0


def test_sets_schemes_and_passes_on_the_command_line(folder, tmp_path):
    model, out = tmp_path / "m.wm", tmp_path / "out.tsv"
    (tmp_path / "run.toml").write_text(
        'templates = "ner"\nscheme = "bioes"\npasses = 2\nnearby = 1\nepochs = 2\n', encoding="utf-8"
    )
    data = ["train", "tag", "--train", folder / "train.tsv", "--dev", folder / "dev.tsv", "--out", model, "--quiet"]
    succeed(*data, "--config", tmp_path / "run.toml")
    about = json.loads(succeed("inspect", model, "--json"))
    assert {"longshape[1]", "guess[2]", "nearby"} <= set(about["templates"])
    assert "a first one finds" in succeed("inspect", model)
    succeed("predict", model, folder / "test.tsv", "--out", out)
    found = {line.split("\t")[-1] for line in out.read_text(encoding="utf-8").splitlines() if line}
    assert found <= set(WORDS.values())
    scores = json.loads(succeed("evaluate", model, folder / "test.tsv", "--json"))
    assert scores["accuracy"] == json.loads(succeed("score", folder / "test.tsv", out, "--json"))["accuracy"]
    assert "there are default, pos, chunk, ner, bio" in fail(*data, "--templates", "set(x)")
    assert "default, pos, chunk, ner, bio" in " ".join(succeed("train", "tag", "--help").split())
    assert "needs passes=2" in fail(*data, "--nearby", "2")
