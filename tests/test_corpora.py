"""Real corpora, where they are at hand: default settings reach the scores that they are known to reach."""

import pytest

from helpers import corpus
from widemargin.files.document import label_column
from widemargin.files.formats import read
from widemargin.metrics import accuracy, span_scores
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.training import Data
from widemargin.tasks.training import train as train_model

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


def trained_and_tested(train, test, label=None, **settings):
    """The solution, and gold and predicted labels of the test file."""
    document = read(corpus(train))
    name = label_column(document, label)
    tagger, solution = train_model(
        compile_tags, TaggerParameters(**settings), Data(document.columns.only("word"), document.columns[name])
    )
    columns = read(corpus(test)).columns
    return solution, columns.sequences(name), tagger.predict(columns.only("word"), n_threads=2)


def test_english_part_of_speech_tags():
    solution, gold, predicted = trained_and_tested("ud-english-ewt/train.conllu", "ud-english-ewt/test.conllu", "xpos")
    assert accuracy(gold, predicted) >= 0.948
    assert solution.certified
    assert solution.gap <= TaggerParameters().tol


@pytest.fixture(scope="module")
def genes():
    """Words and labels of each part, a tagger that was trained on the first, and how."""
    parts = {part: read(corpus(f"bc2gm/{part}.tsv")) for part in ("train", "dev", "test")}
    data = {part: (each.columns.only("word"), each.columns[each.label]) for part, each in parts.items()}
    return data, *train_model(compile_tags, TaggerParameters(), Data(*data["train"]))


def test_gene_names(genes):
    data, tagger, solution = genes
    document = read(corpus("bc2gm/test.tsv"))
    gold = document.columns.sequences(document.label)
    assert span_scores(gold, tagger.predict(data["test"][0], n_threads=2)).micro.f1 >= 0.70
    assert solution.certified


def test_confidence_in_gene_names(genes):
    """Calibrated on development data, confidence is a probability on test data."""
    data, tagger, _ = genes
    tagger.calibrate(*data["dev"], n_threads=2)
    report = tagger.judge_confidence(*data["test"], n_threads=2)
    assert report["labels"].after <= 0.03
    assert report["spans"].after <= 0.03
    assert report["labels"].after < report["labels"].before
    assert report["spans"].after < report["spans"].before
