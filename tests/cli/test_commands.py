"""The command `widemargin`: round trips in every format, pipes, and one sentence for every mistake."""

import json
import logging
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import save_file

from helpers.command_line import LOADED, complaints, fail, python, run, succeed, written
from widemargin import SequenceTagger, _jit
from widemargin.cli import train as train_module
from widemargin.cli.commands import main
from widemargin.cli.program import CommandLine
from widemargin.cli.train import Keep
from widemargin.core import model_file as model_module
from widemargin.core.solution import Epoch
from widemargin.files.formats import read
from widemargin.files.given import read_clusters
from widemargin.report.progress import Progress
from widemargin.tasks.tag.model import Tagger
from widemargin.text.attributes import Resources
from widemargin.text.template_sets import templates_of
from widemargin.text.templates import parse_templates

FORMATS = {"conll": "tsv", "conllu": "conllu", "jsonl": "jsonl"}
LABELS = {"conll": "label", "conllu": "xpos", "jsonl": "tags"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Training, development and test files and a model for each format."""
    folder = tmp_path_factory.mktemp("cli")
    for format_, suffix in FORMATS.items():
        for name, n, seed in (("train", 150, 0), ("dev", 30, 1), ("test", 40, 2)):
            (folder / f"{name}.{suffix}").write_text(written(format_, n, seed), encoding="utf-8")
        train, dev = folder / f"train.{suffix}", folder / f"dev.{suffix}"
        args = ["--train", train, "--dev", dev, "--out", folder / f"{format_}.wm", "--epochs", "8", "--json", "--quiet"]
        summary = json.loads(succeed("train", "tag", *args))
        assert (summary["sequences"], summary["label"], summary["certified"]) == (150, LABELS[format_], True)
        assert summary["dev"]["metric"] == "f1"
        assert summary["dev"]["score"] > 0.6
    return folder


def others(format_: str, text: str) -> list[object]:
    """All of a file but its labels."""
    if format_ == "jsonl":
        return [{**json.loads(line), "tags": None} for line in text.splitlines()]
    column = 2 if format_ == "conll" else 4
    return [[field for i, field in enumerate(line.split("\t")) if i != column] for line in text.split("\n")]


@pytest.mark.parametrize("format_", FORMATS)
def test_what_is_predicted_is_what_is_evaluated(folder: Path, format_: str, tmp_path: Path) -> None:
    model, test, out = (
        folder / f"{format_}.wm",
        folder / f"test.{FORMATS[format_]}",
        tmp_path / f"out.{FORMATS[format_]}",
    )
    assert succeed("predict", model, test, "--out", out) == ""
    results = json.loads(succeed("evaluate", model, test, "--json"))
    gold, predicted = (read(path, format=format_).columns[LABELS[format_]].strings() for path in (test, out))
    assert results["accuracy"] == np.mean([g == p for g, p in zip(gold, predicted, strict=True)])
    assert results["accuracy"] > 0.7
    assert set(results["by_type"]) == {label[2:] for label in [*gold, *predicted] if label != "O"}
    assert results["scored"] == "spans"
    assert results["tokens"] == len(gold)
    assert set(results["seconds"]) == {"reading", "features", "decoding"}
    assert json.loads(succeed("evaluate", model, out, "--json"))["f1"] == 1.0


@pytest.mark.parametrize("format_", FORMATS)
def test_everything_but_the_labels_survives_prediction(folder: Path, format_: str) -> None:
    model, test = folder / f"{format_}.wm", folder / f"test.{FORMATS[format_]}"
    once = succeed("predict", model, test)
    assert others(format_, once) == others(format_, test.read_text(encoding="utf-8"))
    assert once != test.read_text(encoding="utf-8")
    # Where the labels are the predicted ones already, not a byte changes.
    assert succeed("predict", model, "-", "--format", format_, stdin=once) == once


def test_line_ends_and_runs_of_blanks_survive_prediction(folder: Path) -> None:
    text = "1  Main   O\r\nStreet  2 \t O\r\n\r\nParis 3 O"
    model = folder / "conll.wm"
    labels = [line.split()[-1] for line in succeed("predict", model, "-", stdin=text.encode()).splitlines() if line]
    expected = "1  Main   {}\r\nStreet  2 \t {}\r\n\r\nParis 3 {}".format(*labels)
    result = run("predict", model, "-", stdin=text.encode())
    assert result.stdout_bytes == expected.encode()


def test_labels_are_appended_where_there_are_none(folder: Path) -> None:
    assert succeed("predict", folder / "conll.wm", "-", stdin="Main\t4\nStreet\t6\n").count("\t") == 4
    assert succeed("predict", folder / "conllu.wm", "-", stdin="Main\nStreet\n").count("\t") == 2
    line = succeed("predict", folder / "jsonl.wm", "-", stdin='{"tokens": ["Main", "Street"], "id": 1e0}\n')
    assert line.startswith('{"tokens": ["Main", "Street"], "id": 1e0, "tags": ["')
    other = succeed(
        "predict", folder / "jsonl.wm", "-", "--label", "mine", stdin='{"tokens": ["Main"], "tags": ["O"]}\n'
    )
    assert '"tags": ["O"], "mine": [' in other


def test_plain_text_becomes_columns(folder: Path) -> None:
    out = succeed("predict", folder / "conllu.wm", "-", "--text", stdin="12  High Street\n\nParis\u00a0 France\r\n")
    assert [line.split("\t")[0] for line in out.split("\n")] == ["12", "High", "Street", "", "Paris", "France", "", ""]
    tagger = Tagger.load(folder / "conllu.wm")
    assert [line.split("\t")[1] for line in out.split("\n")[:3]] == tagger.predict([["12", "High", "Street"]])[0]


def test_evaluation_reads_well_and_repeats(folder: Path) -> None:
    model, test = folder / "conllu.wm", folder / "test.conllu"
    shown = succeed("evaluate", model, test)
    for expected in ("accuracy", "Spans by type", "postcode", "Most frequent confusions", "tokens per second"):
        assert expected in shown
    first, second = (json.loads(succeed("evaluate", model, test, "--json", "--jobs", jobs)) for jobs in (1, 2))
    assert first["tokens_per_second"] > 0.0
    for results in (first, second):
        del results["tokens_per_second"], results["seconds"]
    assert first == second
    assert succeed("evaluate", model, test, "--quiet") == f"{first['f1']:.6f}\n"


def test_evaluation_names_labels_that_training_did_not_have(folder: Path) -> None:
    data = "Main\t4\tB-street\nStreet\t6\tB-new\n"
    assert json.loads(succeed("evaluate", folder / "conll.wm", "-", "--json", stdin=data))["unseen_labels"] == {
        "B-new": 1
    }
    assert "Labels that training did not have" in succeed("evaluate", folder / "conll.wm", "-", stdin=data)


def test_labels_that_mark_no_spans_are_scored_one_by_one(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "length.wm"
    args = ["--label", "2", "--templates", "word lower suffix2", "--epochs", "4", "--quiet", "--out", model]
    assert succeed("train", "tag", "--train", folder / "train.tsv", *args) == ""
    results = json.loads(succeed("evaluate", model, folder / "test.tsv", "--json"))
    assert (results["label"], results["scored"]) == ("column2", "labels")
    assert results["f1"] == pytest.approx(results["accuracy"])
    predicted = succeed("predict", model, folder / "test.tsv").splitlines()
    original = (folder / "test.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[::2] for line in predicted] == [line.split("\t")[::2] for line in original]


def test_inspection_tells_what_was_learnt(folder: Path) -> None:
    model = folder / "conllu.wm"
    results = json.loads(succeed("inspect", model, "--top", "3", "--json"))
    assert succeed("inspect", model, "--top", "3", "--json") == succeed("inspect", model, "--top", "3", "--json")
    tagger = Tagger.load(model)
    weights = tagger.weights.flat()
    assert results["size"]["weights"] == len(weights)
    assert results["size"]["weights_not_zero"] == np.count_nonzero(weights)
    parts = tagger.chain.parts(weights)
    for number, label in enumerate(tagger.labels):
        strongest = results["features"][label]
        names = {name: row for row, name in enumerate(tagger.extractor.names())}
        assert [parts.emission[names[each["name"]], number] for each in strongest["positive"]] == [
            each["weight"] for each in strongest["positive"]
        ]
        for sign, sides in ((1.0, strongest["positive"]), (-1.0, strongest["negative"])):
            largest = np.sort(sign * parts.emission[:, number])[::-1][:3]
            assert [sign * each["weight"] for each in sides] == [weight for weight in largest if weight > 0]
    best = results["transitions"]["positive"][0]
    before, after = np.unravel_index(parts.transition.argmax(), parts.transition.shape)
    assert best == {"name": f"{tagger.labels[before]} → {tagger.labels[after]}", "weight": parts.transition.max()}
    shown = succeed("inspect", model, "--label", "B-city")
    for expected in ("certificate", "proven", "Features for and against B-city", "Transitions", "B-city → I-city"):
        assert expected in shown
    assert "against B-street" not in shown
    assert "'B-none'" in fail("inspect", model, "--label", "B-none")


def test_features_on_transitions_and_hashed_ones_can_be_inspected(folder: Path, tmp_path: Path) -> None:
    shared = ["train", "tag", "--train", folder / "train.tsv", "--epochs", "3", "--quiet", "--out", tmp_path / "t.wm"]
    succeed(*shared, "--templates", "lower transition:shape")
    strongest = json.loads(succeed("inspect", tmp_path / "t.wm", "--json"))["features_on_transitions"]["positive"]
    assert all(each["name"].startswith("transition:shape=") and " → " in each["name"] for each in strongest)
    assert len(strongest) == 10
    succeed(*shared, "--hash-bits", "10")
    assert json.loads(succeed("inspect", tmp_path / "t.wm", "--json"))["size"]["features"] == 1024


def test_named_columns_lexicons_clusters_and_costs(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cities.txt").write_text("Berlin\n\nNew York\n", encoding="utf-8")
    (tmp_path / "brown.txt").write_text("0010\tStreet\t7\n0011\tRoad\t3\n", encoding="utf-8")
    (tmp_path / "costs.json").write_text('{"B-city": 2, "O": {"B-city": 0.5}}', encoding="utf-8")
    (tmp_path / "templates.txt").write_text(
        "lower[-1..1] size  # comment\nlexicon(cities) cluster(brown,3)", encoding="utf-8"
    )
    model = tmp_path / "m.wm"
    files = ["--lexicon", f"cities={tmp_path}/cities.txt", "--clusters", f"brown={tmp_path}/brown.txt"]
    data = ["--train", folder / "train.tsv", "--columns", "word,size,field", "--label", "field"]
    more = ["--templates", tmp_path / "templates.txt", "--costs", tmp_path / "costs.json", "--min-count", "2"]
    shown = succeed(
        "train", "tag", *data, *files, *more, "--out", model, "--epochs", "3", "--curves", tmp_path / "c.png"
    )
    assert "certificate" in shown
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    about = json.loads(succeed("inspect", model, "--json"))
    assert about["data"]["columns"] == ["word", "size", "field"]
    assert about["templates"][-2:] == ["lexicon(cities)", "cluster(brown,3)"]
    assert json.loads(succeed("evaluate", model, folder / "test.tsv", "--json"))["label"] == "field"
    assert "no column 'size'" in fail("predict", model, "-", stdin="Berlin\n")
    assert "no template makes use of the lexicon" in fail(
        "train", "tag", *data, *files, "--templates", "word", "--out", model
    )


def test_resources_get_templates_of_their_own() -> None:
    clusters = {"brown": {"a": "01"}, "other": {"a": "x"}}
    templates = [each.text for each in parse_templates(templates_of("default", Resources({"cities": []}, clusters)))]
    assert {"lexicon(cities)[-1]", "cluster(brown,4)", "cluster(other)"} <= set(templates)
    assert "cluster(other,4)" not in templates


@pytest.mark.parametrize("text", ["010\ta\t3\n011\tb\t1\n", "a\t010\nb\t011\n"])
def test_both_forms_of_cluster_files_are_understood(text: str, tmp_path: Path) -> None:
    (tmp_path / "clusters").write_text(text, encoding="utf-8")
    assert read_clusters([("c", str(tmp_path / "clusters"))]) == {"c": {"a": "010", "b": "011"}}


def test_ctrl_c_saves_the_model(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Progress, epoch: Epoch) -> None:
        if epoch.epoch == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "on_epoch", interrupt)
    result = run("train", "tag", "--train", folder / "train.tsv", "--out", tmp_path / "m.wm", "--epochs", "1000")
    assert result.exit_code == 130
    assert "interrupted; the model as it was by then has been saved" in result.stdout
    monkeypatch.undo()
    assert json.loads(succeed("inspect", tmp_path / "m.wm", "--json"))["training"]["stopped"] == "interrupted"


def test_training_is_resumed_where_ctrl_c_left_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: Keep, epoch: Epoch) -> None:
        if epoch.epoch == 2:
            signal.raise_signal(signal.SIGINT)

    whole, part, checkpoint = tmp_path / "whole.wm", tmp_path / "part.wm", tmp_path / "run"
    train = ["train", "tag", "--train", folder / "train.tsv", "--dev", folder / "dev.tsv", "--epochs", "4", "--quiet"]
    succeed(*train, "--out", whole)
    resumable = [*train, "--out", part, "--checkpoint", checkpoint, "--resume"]
    monkeypatch.setattr(Keep, "on_epoch", interrupt)
    assert run(*resumable).exit_code == 130
    monkeypatch.undo()
    assert checkpoint.exists()
    result = json.loads(succeed(*resumable, "--json"))
    assert (result["epochs"], result["interrupted"]) == (4, False)
    one, other = Tagger.load(whole), Tagger.load(part)
    assert np.array_equal(one.weights.flat(), other.weights.flat())
    assert "belongs to another run: its C is 0.1, not 0.2" in fail(*resumable, "--C", "0.2")
    sentences = (folder / "train.tsv").read_text(encoding="utf-8").split("\n\n")
    rows = [line.split("\t") for line in sentences[0].splitlines()]
    labels = sorted({line.split("\t")[-1] for line in "\n".join(sentences).splitlines() if line})
    rows[0][-1] = next(label for label in labels if label != rows[0][-1])
    corrected = tmp_path / "corrected.tsv"
    corrected.write_text("\n\n".join(["\n".join(map("\t".join, rows)), *sentences[1:]]), encoding="utf-8")
    said = fail(*resumable, "--train", corrected)
    assert "features, gold outputs or costs have changed" in said
    assert "is a model, not a checkpoint" in fail(*train, "--out", part, "--checkpoint", whole, "--resume")


def test_compiling_is_a_stage_of_its_own(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = [0.0]

    def compile_(self: Keep, visited: int) -> None:
        spent[0] += 1e6

    monkeypatch.setattr(Keep, "on_batch", compile_)
    monkeypatch.setattr(_jit, "perf_counter", lambda: perf_counter() + spent[0])
    for module in (_jit, train_module):
        monkeypatch.setattr(module, "seconds_compiling", lambda: spent[0])
    train = ["train", "tag", "--train", folder / "train.tsv", "--out", tmp_path / "m.wm", "--epochs", "2"]
    train += ["--templates", "word column2"]
    result = json.loads(succeed(*train, "--json"))
    assert list(result["seconds"]) == ["reading", "compiling", "training", "writing"]
    assert result["seconds"]["compiling"] == spent[0] >= 2e6
    assert result["seconds"]["training"] < 1e6
    assert f"compiling {spent[0]:.1f}, training" in succeed(*train)
    assert Tagger.load(tmp_path / "m.wm").solution.seconds < 1e6


def test_of_several_trade_offs_the_best_on_dev_is_kept(folder: Path, tmp_path: Path) -> None:
    train = ["train", "tag", "--train", folder / "train.tsv", "--dev", folder / "dev.tsv", "--epochs", "4"]
    result = json.loads(succeed(*train, "--out", tmp_path / "m.wm", "--C", "1,0.0001,0.1", "--json", "--quiet"))
    assert [point["C"] for point in result["path"]] == [1.0, 0.0001, 0.1]
    best = max(result["path"], key=lambda point: point["score"])
    assert result["C"] == best["C"] != 0.0001
    assert result["dev"]["score"] == best["score"]
    assert Tagger.load(tmp_path / "m.wm").summary["parameters"]["C"] == best["C"]
    result = run(*train, "--out", tmp_path / "m.wm", "--C", "0.01,0.1")
    assert (result.exit_code, complaints(result.stderr)) == (0, "columns not used: column2; name them in --templates\n")
    assert "the best of 0.01 (" in result.stdout


BAD_DATA = {
    "ragged": (b"a\tO\nb\tx\tO\n", "line 2: expected 2 columns, found 3"),
    "empty": (b"", "holds no tokens"),
    "encoding": (b"caf\xe9\tO\n", "line 1: byte 0xe9"),
    "one column": (b"a\nb\n", "no label column"),
    "mixed types": (b'{"tokens": ["a", 1], "tags": ["O", "O"]}\n', '"tokens" holds 1 where a string is wanted'),
    "mixed labels": (b'{"tokens": ["a", "b"], "tags": ["O", 1]}\n', '"tags" holds 1 where a string is wanted'),
    "short labels": (b'{"tokens": ["a", "b"], "tags": ["O"]}\n', '"tags" has 1 items, but "tokens" has 2'),
    "not JSON": (b'{"tokens": [\n', "not JSON"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_are_answered_by_one_sentence(folder: Path, case: str, tmp_path: Path) -> None:
    content, complaint = BAD_DATA[case]
    data, out = tmp_path / "data", tmp_path / "out"
    data.write_bytes(content)
    assert complaint in fail("train", "tag", "--train", data, "--out", out)
    assert complaint in fail("train", "tag", "--train", folder / "train.jsonl", "--dev", data, "--out", out)
    assert complaint in fail("evaluate", folder / "jsonl.wm", data)
    if case not in ("one column", "mixed labels", "short labels"):
        assert complaint in fail("predict", folder / "jsonl.wm", data, "--out", out)
    assert list(tmp_path.iterdir()) == [data]


BAD_OPTIONS = {
    "--solver nonsense": "there is no solver 'nonsense'",
    "--C nan": "C must be a number above 0",
    "--C -1": "C must be a number above 0",
    "--C x": "'x' is not a valid float",
    "--C 0.1,": "'' is not a valid float",
    "--C 0.1,1": "several values of --C need --dev",
    "--C 0.1,1 --dev none --checkpoint c": "give a single value of --C",
    "--resume": "--resume needs --checkpoint FILE",
    "--checkpoint none/such": "none/such cannot be written",
    "--epochs -1": "the stop rule epochs",
    "--tol nan": "the stop rule gap",
    "--label nine": "no label column 'nine'",
    "--label 9": "no label column '9'",
    "--format csv": "'csv' is not one of",
    "--columns word,,label": "has an empty name",
    "--columns word,label": "has 3 columns, but 2 names",
    "--templates word[": "not understood at 'word['",
    "--templates nonsense": "has no column 'nonsense'",
    "--templates word|label[-1]": "reads the label column 'label'",
    "--templates column3.suffix2": "reads the label column 'column3'",
    "--templates word.suffixes": "unknown attribute",
    "--templates lexicon(names)": "needs a lexicon named 'names'",
    "--templates none/such.txt": "none/such.txt cannot be read",
    "--lexicon nofile": "is not of the form NAME=FILE",
    "--lexicon a=none": "none cannot be read",
    "--clusters a=none": "none cannot be read",
    "--costs none": "none cannot be read",
    "--hash-bits 99": "hash_bits must be",
    "--min-count 0": "--min-count",
    "--jobs 0": "n_jobs must be",
    "--dev none": "none cannot be read",
    "--nonsense": "No such option",
}


@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_bad_options_are_answered_by_one_sentence(folder: Path, options: str, tmp_path: Path) -> None:
    complaint = fail("train", "tag", "--train", folder / "train.tsv", "--out", tmp_path / "m.wm", *options.split())
    assert BAD_OPTIONS[options] in complaint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["[1]", "{", '{"B-city": "x"}', '{"B-city": true}', '{"nolabel": 2}', '{"O": {"O": 1}}']
)
def test_bad_costs_are_answered_by_one_sentence(folder: Path, text: str, tmp_path: Path) -> None:
    costs = tmp_path / "costs.json"
    costs.write_text(text, encoding="utf-8")
    fail("train", "tag", "--train", folder / "train.tsv", "--out", tmp_path / "m.wm", "--costs", costs)
    assert list(tmp_path.iterdir()) == [costs]


def test_an_output_that_cannot_be_written_is_noticed_before_any_work(folder: Path, tmp_path: Path) -> None:
    train, test, model = folder / "train.tsv", folder / "test.tsv", folder / "conll.wm"
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    for out in (tmp_path / "none" / "out", file / "out", tmp_path):
        # There are no such training data: the complaint must come before they are looked for.
        assert str(out) in fail("train", "tag", "--train", "none", "--out", out)
        assert str(out) in fail("predict", model, "none", "--out", out)
        assert str(out) in fail("train", "tag", "--train", "none", "--out", tmp_path / "m.wm", "--curves", out)
    assert "is read by this command" in fail("train", "tag", "--train", train, "--out", train)
    assert "is read by this command" in fail("predict", model, test, "--out", model)
    assert "cannot both be written" in fail("train", "tag", "--train", train, "--out", file, "--curves", file)
    assert "demo" not in fail("demo", "--out", file / "demo").split()
    assert file.read_text(encoding="utf-8") == "mine"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_an_error(folder: Path) -> None:
    assert "No space left" in fail("predict", folder / "conll.wm", folder / "test.tsv", "--out", "/dev/full")
    assert "No space left" in fail(
        "train", "tag", "--train", folder / "train.tsv", "--epochs", "1", "--out", "/dev/full"
    )
    assert not Path("/dev/full").is_file()


def test_damaged_and_foreign_models_are_refused(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (folder / "conll.wm").read_bytes()
    header = int.from_bytes(content[:8], "little") + 8
    bad, test, out = tmp_path / "bad.wm", folder / "test.tsv", tmp_path / "out"
    for length in (0, 4, 8, 100, header - 1, header, header + 1, len(content) // 2, len(content) - 1):
        bad.write_bytes(content[:length])
        for command in (["evaluate", bad, test], ["predict", bad, test, "--out", out], ["inspect", bad]):
            assert str(bad) in fail(*command)
    bad.write_bytes(b"\x89PNG\r\n" + bytes(1000))
    assert "not a widemargin model" in fail("inspect", bad)
    assert "not a widemargin model" in fail("predict", test, test, "--out", out)
    save_file({"a": np.zeros(3)}, bad)
    assert "not a widemargin model" in fail("inspect", bad)
    assert "cannot be read" in fail("inspect", tmp_path / "none")
    assert "cannot be read" in fail("predict", tmp_path, test)
    bad.unlink()
    monkeypatch.setattr(model_module, "FORMAT", 1000)
    Tagger.load(folder / "conll.wm").save(bad)
    monkeypatch.undo()
    assert "please upgrade" in fail("predict", bad, test, "--out", out)
    assert not out.exists()


def test_models_trained_from_python_are_welcome(tmp_path: Path) -> None:
    model = tmp_path / "m.wm"
    SequenceTagger(max_epochs=3).fit([["a", "b"]] * 3, [[0, 1]] * 3).save(model)
    assert succeed("predict", model, "-", stdin="a\nb\n") == "a\t0\nb\t1\n"
    assert json.loads(succeed("evaluate", model, "-", "--json", stdin="a 0\nb 0\n"))["accuracy"] == 0.5
    assert "certificate" in succeed("inspect", model)
    SequenceTagger(max_epochs=3).fit([[["x"], ["y"]]] * 3, [["A", "B"]] * 3).save(model)
    assert succeed("inspect", model).count(" x") >= 1
    assert "ready-made features" in fail("predict", model, "-", stdin="a\nb\n")
    assert "ready-made features" in fail("evaluate", model, "-", stdin="a A\nb B\n")


def test_errors_are_raised_for_developers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIDEMARGIN_DEBUG", "1")
    with pytest.raises(ValueError, match="cannot be read"):
        main(["inspect", str(folder / "none")])


@pytest.mark.parametrize(
    "command", [[], ["train"], ["train", "tag"], ["evaluate"], ["predict"], ["inspect"], ["compare"], ["demo"]]
)
def test_every_command_explains_itself(command: list[str]) -> None:
    text = succeed(*command, "--help")
    assert command in (["train"], ["compare"]) or "Example: widemargin" in text


def test_the_version_is_told_without_loading_anything() -> None:
    version, modules = python(LOADED, "--version").splitlines()
    assert version.startswith("widemargin ")
    assert {"numba", "numpy", "scipy", "sklearn", "matplotlib", "rich"}.isdisjoint(modules.split())


def test_prediction_loads_nothing_of_training(folder: Path) -> None:
    *_, modules = python(LOADED, "predict", folder / "conll.wm", folder / "test.tsv").splitlines()
    assert {"sklearn", "matplotlib", "rich", "joblib"}.isdisjoint(modules.split())


PIPE = "from widemargin.cli import main; main()"


def test_standard_streams_that_close_or_are_full(folder: Path, tmp_path: Path) -> None:
    """A reader that has gone is no error worth a word; a full disk is."""
    long = tmp_path / "long.tsv"
    long.write_text((folder / "test.tsv").read_text(encoding="utf-8") * 40, encoding="utf-8")
    command = [sys.executable, "-c", PIPE, "predict", folder / "conll.wm", long]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
    if Path("/dev/full").exists():
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False)
        assert (done.returncode, done.stderr) == (2, "error: the output cannot be written: No space left on device\n")


@pytest.mark.filterwarnings("always")
def test_warnings_are_lines_that_command_nothing() -> None:
    program = CommandLine()

    @program.command()
    def tell() -> None:
        warnings.warn("a\x1b]0;x\x07\nb.", stacklevel=1)
        logging.getLogger("widemargin.some").warning("c \x9b31m [red]")

    result = CliRunner().invoke(program, ["tell"])
    assert result.stderr == "warning: a\\x1b]0;x\\x07 b\nwarning: c \\x9b31m [red]\n"
