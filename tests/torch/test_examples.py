"""The neural examples learn, under every objective and with both optimisers."""

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from widemargin.data.treebanks import treebank  # noqa: E402


def imported(name):
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tagger_learns(capsys):
    last = imported("neural_tagger").main(["--epochs", "6"])
    assert last.accuracy > 0.9
    assert 0.0 < last.decoding < last.seconds
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert lines[-1].startswith(f"epoch 6: accuracy {last.accuracy:.1%}, ")


@pytest.mark.parametrize("optimiser", ["adagrad", "adadelta"])
@pytest.mark.parametrize("objective", ["margin", "slack", "likelihood", "perceptron", "softmax-margin"])
def test_objectives_of_the_tagger(objective, optimiser):
    module = imported("neural_tagger")
    columns = treebank(100, seed=1).columns
    words, tags = columns.sequences("word"), columns.sequences("xpos")
    tagger = module.NeuralTagger(words, tags, objective=objective, optimiser=optimiser, seed=3)
    first, *_, last = tagger.epochs(3, words, tags)
    assert last.accuracy > max(0.3, first.accuracy)


def test_the_parser_learns(capsys):
    last = imported("neural_parser").main(["--epochs", "5"])
    assert last.f1 > 0.6
    assert 0.0 < last.decoding < last.seconds
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"epoch 5: F1 {last.f1:.1%}, ")


@pytest.mark.parametrize(
    ("objective", "optimiser", "rate"),
    [
        ("margin", "adadelta", None),
        ("likelihood", "adagrad", None),
        ("perceptron", "adagrad", 0.01),
        ("softmax-margin", "adadelta", None),
    ],
)
def test_objectives_of_the_parser(objective, optimiser, rate):
    bank = treebank(60, seed=1).trees
    parser = imported("neural_parser").NeuralParser(
        bank, objective=objective, optimiser=optimiser, rate=rate, batch_size=4
    )
    first, *_, last = parser.epochs(4, bank)
    assert last.f1 > max(0.3, first.f1)
    assert last.seconds > first.seconds


def test_a_seed_gives_the_same_parser():
    bank = treebank(20, seed=1).trees
    one, other = (next(imported("neural_parser").train(bank, bank, epochs=1, seed=4)).f1 for _ in range(2))
    assert one == other


def test_trees_from_files(tmp_path, capsys):
    for name, seed in (("train", 1), ("dev", 2)):
        (tmp_path / f"{name}.mrg").write_text(treebank(30, seed=seed).brackets(), encoding="utf-8")
        (tmp_path / f"{name}.conllu").write_text(treebank(30, seed=seed).conllu(), encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("train.mrg", "dev.mrg")]
    imported("neural_parser").main(["--data", *paths, "--epochs", "1", "--sentences", "20"])
    paths = [str(tmp_path / name) for name in ("train.conllu", "dev.conllu")]
    imported("neural_tagger").main(["--data", *paths, "--epochs", "1", "--label", "upos"])
    assert len(capsys.readouterr().out.splitlines()) == 2
