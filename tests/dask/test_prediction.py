"""Prediction and evaluation on a cluster: the outputs and figures of one machine, the model sent once."""

import dask.bag
import numpy as np
import pytest

from helpers.parts import X, Y
from widemargin import DependencyParser, LinearClassifier, MultilabelClassifier, Segmenter, SequenceTagger
from widemargin.dask import Broadcast, DaskConstituencyParser, DaskDependencyParser, evaluate, predict
from widemargin.data.treebanks import treebank
from widemargin.errors import UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore")

BANK = treebank(12, seed=2)


class Counted:
    """A predictor that counts how often it is sent."""

    sent = 0

    def __init__(self, predictor):
        self.predictor = predictor

    def __reduce__(self):
        Counted.sent += 1
        return self.predictor.__reduce__()


def test_the_model_is_sent_once(client):
    local = SequenceTagger(templates=["word"]).fit(X, Y)
    model = Broadcast(client, Counted(local))
    Counted.sent = 0
    expected = local.predict(X)
    assert predict(client, model, X) == expected
    assert predict(client, model, X[:7]) == expected[:7]
    bag = predict(client, model, dask.bag.from_sequence(X, npartitions=5))
    assert bag.npartitions == 5
    assert bag.compute() == expected
    assert Counted.sent == 1
    assert predict(client, local.model_, X) == expected  # a model without an estimator


def figures(found):
    return found.results, found.main, found.facts, found.tables


@pytest.mark.parametrize("name", ["tags", "spans", "segments", "arcs", "classes", "sets"])
def test_figures_are_those_of_one_machine(client, name):
    inputs, outputs = X, Y
    if name == "tags":
        outputs = [[label.removeprefix("B-").removeprefix("I-") for label in labels] for labels in Y]
        estimator = SequenceTagger(templates=["suffix2"], max_epochs=2, tol=None)
    elif name == "spans":
        estimator = SequenceTagger(templates=["suffix2"], max_epochs=2, tol=None)
    elif name == "segments":
        estimator = Segmenter(templates=["suffix2"], max_epochs=2, tol=None)
    elif name == "arcs":
        inputs, outputs = BANK.columns.sequences("word"), BANK.arcs
        estimator = DependencyParser(hash_bits=12, tags="given", max_epochs=1, tol=None)
    else:
        rng = np.random.default_rng(0)
        inputs = rng.normal(size=(40, 3))
        outputs = (np.arange(40) % 3) if name == "classes" else np.eye(3, dtype=int)[np.arange(40) % 3]
        estimator = LinearClassifier(max_epochs=2) if name == "classes" else MultilabelClassifier(max_epochs=2)
    model = estimator.fit(inputs, outputs).model_
    assert figures(evaluate(client, model, (inputs, outputs))) == figures(model.evaluate(inputs, outputs))


def test_parsers_learn_their_tags_on_the_cluster(client, tmp_path):
    tokens = [
        [{"word": word, "upos": tag} for word, tag in zip(*each, strict=True)]
        for each in zip(BANK.columns.sequences("word"), BANK.columns.sequences("upos"), strict=True)
    ]
    found = []
    for resume in (False, True):
        parser = DaskDependencyParser(hash_bits=12, tag_folds=2, max_epochs=3, tol=None, n_jobs=1)
        parser.client = client
        parser.fit(tokens, BANK.arcs, parts=2, checkpoint=tmp_path / "run", resume=resume)
        found.append(parser)
    assert list(parser.taggers_) == ["upos"]
    np.testing.assert_array_equal(found[0].solution_.w, found[1].solution_.w)
    kept = sorted(path.name for path in (tmp_path / "run").glob("tagger-*.wm"))
    assert kept == ["tagger-upos-1.wm", "tagger-upos-2.wm", "tagger-upos.wm"]
    words = BANK.columns.sequences("word")
    assert parser.predict(words) == parser.to_local().predict(words)
    there, here = parser.evaluate(tokens, BANK.arcs), parser.model_.evaluate(tokens, BANK.arcs)
    assert figures(there) == figures(here)
    assert there.results["tags"]["upos"]["predicted"]


def test_evaluations_that_need_all_data(client, tmp_path):
    X = [(["dogs", "bark"], ["N", "V"]), (["big", "dogs", "sleep"], ["A", "N", "V"])] * 3
    y = ["(S (NP (N dogs)) (VP (V bark)))", "(S (NP (A big) (N dogs)) (VP (V sleep)))"] * 3
    parser = DaskConstituencyParser(hash_bits=12, tag_folds=2, max_epochs=5, n_jobs=1)
    parser.client = client
    parser.fit(X, y, parts=2)
    expected = figures(parser.model_.evaluate(X, y))
    assert figures(parser.evaluate(X, y)) == expected
    pairs = dask.bag.from_sequence(list(zip(X, y, strict=True)), npartitions=2)
    assert figures(parser.evaluate(pairs)) == expected
    (tmp_path / "a.ptb").write_text("\n".join(y), encoding="utf-8")
    with pytest.raises(UnsupportedError, match="needs all data at once"):
        parser.evaluate(str(tmp_path / "*.ptb"))
