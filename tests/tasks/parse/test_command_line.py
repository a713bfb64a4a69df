"""`widemargin train parse`, `train bracket` and what follows them: round trips, and one sentence for every mistake."""

import json
from pathlib import Path

import pytest

from helpers.command_line import LOADED, fail, python, succeed
from widemargin import load
from widemargin.data.treebanks import treebank
from widemargin.files.brackets import columns_of
from widemargin.files.formats import read
from widemargin.tasks.bracket.metrics import bracket_scores
from widemargin.tasks.parse.dependencies import arc_lists, arcs
from widemargin.tasks.parse.metrics import attachment_scores
from widemargin.text.trees import Tree

OPTIONS = ("--epochs", "3", "--hash-bits", "16", "--tags", "given", "--quiet", "--json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Treebanks as files, and models: dependencies projective and not, constituents."""
    folder = tmp_path_factory.mktemp("trees")
    for name, n, seed in (("train", 200, 0), ("dev", 30, 1), ("test", 40, 2)):
        plain, mixed = treebank(n, seed), treebank(n, seed, non_projective=0.3, several_roots=0.2)
        (folder / f"{name}.conllu").write_text(plain.conllu(), encoding="utf-8")
        (folder / f"{name}-mixed.conll").write_text(f"# mixed\n{mixed.conllu()}", encoding="utf-8")
        (folder / f"{name}.mrg").write_text(plain.brackets(), encoding="utf-8")
    files = ["--train", folder / "train.conllu", "--dev", folder / "dev.conllu", "--out", folder / "tree.wm"]
    summary = json.loads(succeed("train", "parse", *files, *OPTIONS))
    assert (summary["sentences"], summary["labels"], summary["dev"]["metric"]) == (200, 16, "las")
    assert summary["dev"]["score"] > 0.9
    mixed_files = ["--train", folder / "train-mixed.conll", "--out", folder / "mixed.wm"]
    succeed("train", "parse", *mixed_files, "--decoder", "nonprojective", *OPTIONS)
    bracket_files = ["--train", folder / "train.mrg", "--dev", folder / "dev.mrg", "--out", folder / "brackets.wm"]
    summary = json.loads(succeed("train", "bracket", *bracket_files, *OPTIONS))
    assert (summary["sentences"], summary["dev"]["metric"]) == (200, "f1")
    assert summary["dev"]["score"] > 0.9
    return folder


@pytest.mark.parametrize(("model", "file"), [("tree.wm", "test.conllu"), ("mixed.wm", "test-mixed.conll")])
def test_dependencies_that_are_predicted_are_those_that_are_evaluated(
    folder: Path, model: str, file: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.conllu"
    assert succeed("predict", folder / model, folder / file, "--out", out) == ""
    results = json.loads(succeed("evaluate", folder / model, folder / file, "--json"))
    before, after = read(folder / file), read(out)
    heads = {name: before.columns[name].strings() for name in ("head", "deprel")}
    assert after.text(heads) == before.text()
    gold, predicted = (arc_lists(arcs(each), each.columns.indptr) for each in (before, after))
    scores = attachment_scores(gold, predicted)
    assert (results["uas"], results["las"]) == scores.overall[:2]
    assert results["uas"] > 0.9
    assert results["by_relation"]["det"]["support"] == scores.by_relation["det"].support
    assert predicted == load(folder / model).predict(before.columns)
    assert float(succeed("evaluate", folder / model, folder / file, "--quiet")) == pytest.approx(
        results["las"], abs=1e-6
    )


def test_what_evaluate_prints_of_dependencies(folder: Path) -> None:
    printed = succeed("evaluate", folder / "tree.wm", folder / "test.conllu")
    for heading in ("UAS", "LAS", "By relation", "Heads by the length of arcs", "By the length of sentences"):
        assert heading in printed
    results = json.loads(succeed("evaluate", folder / "tree.wm", folder / "test.conllu", "--json", "--no-punctuation"))
    assert results["scored_tokens"] == results["tokens"] - results["sentences"]
    assert "all but punctuation" in succeed("evaluate", folder / "tree.wm", folder / "test.conllu", "--no-punctuation")


def test_roots_are_as_many_as_the_data_have_unless_said_otherwise(folder: Path, tmp_path: Path) -> None:
    def n_roots(model: Path) -> int:
        lines = succeed("predict", model, folder / "test-mixed.conll").splitlines()
        return sum(line.split("\t")[6] == "0" for line in lines if "\t" in line)

    assert n_roots(folder / "mixed.wm") > 40
    assert n_roots(folder / "tree.wm") == 40
    files = ["--train", folder / "train.conllu", "--out", tmp_path / "a.wm"]
    succeed("train", "parse", *files, "--decoder", "nonprojective", "--several-roots", *OPTIONS, "--epochs", "1")
    header = json.loads(succeed("inspect", tmp_path / "a.wm", "--json"))["parameters"]
    assert (header["decoder"], header["single_root"], header["hash_bits"]) == ("nonprojective", False, 16)


def test_brackets_that_are_predicted_are_those_that_are_evaluated(folder: Path, tmp_path: Path) -> None:
    model, file, out = folder / "brackets.wm", folder / "test.mrg", tmp_path / "out.mrg"
    assert succeed("predict", model, file, "--out", out) == ""
    results = json.loads(succeed("evaluate", model, file, "--json"))
    gold, predicted = read(file).trees, read(out).trees
    assert results["f1"] == bracket_scores(gold, predicted).micro.f1 > 0.9
    assert predicted == load(model).predict(columns_of(gold))
    assert "Brackets by label" in succeed("evaluate", model, file)
    assert float(succeed("evaluate", model, file, "--quiet")) == pytest.approx(results["f1"], abs=1e-6)


def test_trees_of_constituents_need_words_and_tags_alone(folder: Path) -> None:
    model = folder / "brackets.wm"
    expected = succeed("predict", model, folder / "test.mrg")
    assert succeed("predict", model, folder / "test.conllu") == expected
    trees = [Tree.parse(line) for line in expected.splitlines()]
    flat = "".join("(X " + " ".join(f"({tag} {word})" for word, tag in tree.tagged()) + ")\n" for tree in trees)
    assert succeed("predict", model, "-", stdin=flat) == expected
    columns = "\n".join("".join(f"{word} {tag}\n" for word, tag in tree.tagged()) for tree in trees)
    assert succeed("predict", model, "-", stdin=columns) == expected


def test_function_tags_are_learnt_where_wanted(folder: Path, tmp_path: Path) -> None:
    text = (folder / "train.mrg").read_text(encoding="utf-8").replace("(S (NP", "(S (NP-SBJ")
    (tmp_path / "train.mrg").write_text(text, encoding="utf-8")
    files = ["--train", tmp_path / "train.mrg", "--out", tmp_path / "a.wm", *OPTIONS]
    succeed("train", "bracket", *files, "--keep-functions")
    assert "(NP-SBJ" in succeed("predict", tmp_path / "a.wm", folder / "test.mrg")
    labels = json.loads(succeed("evaluate", tmp_path / "a.wm", tmp_path / "train.mrg", "--json"))["by_label"]
    assert {"NP", "NP-SBJ"} <= labels.keys()
    succeed("train", "bracket", *files, "--epochs", "1")
    assert "(NP-SBJ" not in succeed("predict", tmp_path / "a.wm", folder / "test.mrg")


def test_plain_text_where_features_are_of_words(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "words.wm"
    templates = ("head:lower|modifier:lower  # words", "head:lower", "modifier:suffix1")
    (tmp_path / "arcs.txt").write_text("\n".join(templates), encoding="utf-8")
    chosen = ["--templates", tmp_path / "arcs.txt", "--label-templates", "modifier:lower"]
    succeed("train", "parse", "--train", folder / "train.conllu", "--out", model, *chosen, *OPTIONS)
    lines = succeed("predict", model, "-", "--text", stdin="They like some lawyers .\nThey sleep .\n").splitlines()
    assert [line.split("\t")[0] for line in lines] == ["1", "2", "3", "4", "5", "", "1", "2", "3", ""]
    assert lines[1].split("\t")[6:8] == ["0", "root"]


BAD_TREE = "1\tA\ta\tX\tX\t_\t2\tdet\t_\t_\n2\tb\tb\tX\tX\t_\t1\troot\t_\t_\n"


def test_mistakes_are_answered_with_one_sentence(folder: Path, tmp_path: Path) -> None:
    tree, brackets, test = folder / "tree.wm", folder / "brackets.wm", folder / "test.conllu"
    out = tmp_path / "a.wm"
    bad, cut = tmp_path / "bad.conllu", tmp_path / "bad.mrg"
    bad.write_text(BAD_TREE, encoding="utf-8")
    cut.write_text("(S (NP (DT the)\n", encoding="utf-8")
    message = f"{bad}, line 1: the head of token 1, 2, leads back to this token and never to the root"
    assert fail("train", "parse", "--train", bad, "--out", out) == message
    assert fail("train", "parse", "--train", folder / "train.conllu", "--dev", bad, "--out", out) == message
    assert fail("evaluate", tree, bad) == message
    assert f"{cut}, line 1: the bracket of 'S' is never closed" == fail(
        "train", "bracket", "--train", cut, "--out", out
    )
    assert fail("predict", brackets, cut).startswith(f"{cut}, line 1: ")
    assert "outside of all brackets" in fail("train", "bracket", "--train", test, "--out", out)
    assert "has no column 'head'" in fail("train", "parse", "--train", folder / "train.mrg", "--out", out)
    assert "has no column 'deprel'" in fail(
        "train", "parse", "--train", test, "--out", out, "--templates", "head:deprel|modifier:word"
    )
    assert "not understood at 'x'" in fail("train", "parse", "--train", test, "--out", out, "--templates", "x")
    assert not out.exists()
    assert "has no column 'feats'" in fail("predict", tree, "-", "--text", stdin="a b\n")
    assert "has no tags, which the model reads" in fail("predict", brackets, "-", "--text", stdin="a b\n")
    assert "no trees in brackets to compare with" in fail("evaluate", brackets, test)
    assert "leave out --label" in fail("predict", tree, test, "--label", "head")
    assert "have no alternatives" in fail("predict", tree, test, "--best", "2")
    assert "no constraints" in fail("predict", tree, test, "--bio")
    assert "have no confidence to calibrate" in fail("calibrate", tree, test)
    assert "--no-punctuation is about dependency trees" in fail(
        "evaluate", brackets, folder / "test.mrg", "--no-punctuation"
    )


def test_a_parser_loads_nothing_of_training_nor_of_others(folder: Path) -> None:
    *_, modules = python(
        LOADED.replace('.partition(".")[0]', ""), "predict", folder / "tree.wm", folder / "test.conllu"
    ).splitlines()
    assert "widemargin.tasks.parse.model" in modules.split()
    others = {"sklearn", "matplotlib", "widemargin.tasks.tag.model", "widemargin.tasks.tag.features"}
    assert others.isdisjoint(modules.split())
