"""The trained tagger: it finds the best of all label sequences, whatever form its weights are in."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.core.sparse import boundaries
from widemargin.errors import DataError
from widemargin.tasks.tag.features import ChainShape
from widemargin.tasks.tag.model import Tagger
from widemargin.text.columns import Columns, split
from widemargin.text.inputs import as_columns
from widemargin.text.records import RecordExtractor
from widemargin.text.template_extractor import TemplateExtractor

pytestmark = pytest.mark.interpreted

WORDS = ["a", "b", "Cc"]
LABELS = ["N", "O", "V"]
TEMPLATES = ["word", "lower[-1]", "transition:word", "transition:word[-1]|word"]
sentences = st.lists(st.lists(st.sampled_from(WORDS), max_size=4), min_size=1, max_size=4).filter(any)


def random_tagger(extractor, X, seed, labels=LABELS):
    """A tagger for features like those of `X`, with weights that are small whole numbers, half of them 0."""
    extractor.fit(X)
    chain = ChainShape(len(labels), extractor.n_features, extractor.n_transition_features)
    rng = np.random.default_rng(seed)
    w = rng.integers(-4, 5, chain.n_weights) * rng.integers(0, 2, chain.n_weights) * 1.0
    return Tagger(labels, extractor, chain.parts(w).thin()), chain.parts(w)


def score(row, parts, names, transition_names, labels):
    """The score of a label sequence, from the names of every position's and transition's features and their `row`s."""
    y = [LABELS.index(label) for label in labels]
    total = 0.0
    for t, label in enumerate(y):
        total += sum(parts.emission[row[name], label] for name in names[t] if name in row)
        if t == 0:
            total += parts.begin[label]
        else:
            total += parts.transition[y[t - 1], label]
            behind = [row[name] - len(parts.emission) for name in transition_names[t] if name in row]
            total += sum(parts.conditional[g, y[t - 1], label] for g in behind)
        if t == len(y) - 1:
            total += parts.end[label]
    return total


def feature_names(words):
    before = ["<s>", *words]
    names = [[f"word={word}", f"lower[-1]={before[t].lower()}"] for t, word in enumerate(words)]
    pairs = [[f"transition:word={w}", f"transition:word[-1]|word={before[t]}|{w}"] for t, w in enumerate(words)]
    return names, pairs


@settings(max_examples=40)
@given(sentences, sentences, st.integers(0, 1000))
def test_predictions_are_the_best_of_all_label_sequences(train, test, seed):
    tagger, parts = random_tagger(TemplateExtractor(TEMPLATES), as_columns(train), seed)
    row = {name: number for number, name in enumerate(tagger.extractor.names())}
    for words, labels in zip(test, tagger.predict(test), strict=True):
        names = feature_names(words)
        best = max(score(row, parts, *names, other) for other in product(LABELS, repeat=len(words)))
        assert score(row, parts, *names, labels) == best
        assert len(labels) == len(words)


@settings(max_examples=40)
@given(sentences, sentences, st.integers(0, 1000))
def test_compacting_drops_what_has_no_weight_and_nothing_else(train, test, seed):
    tagger, _ = random_tagger(TemplateExtractor(TEMPLATES), as_columns(train), seed)
    small = tagger.compact()
    assert small.predict(test) == tagger.predict(test)
    parts = small.chain.parts(small.weights.flat())
    assert parts.emission.any(axis=1).all()
    assert parts.conditional.any(axis=(1, 2)).all()
    assert set(small.extractor.names()) <= set(tagger.extractor.names())
    again = small.compact()
    assert again.extractor.names() == small.extractor.names()
    assert again.weights.flat().tolist() == small.weights.flat().tolist()


@settings(max_examples=40)
@given(sentences, st.integers(0, 1000))
def test_thin_weights_are_the_same_weights(X, seed):
    tagger, parts = random_tagger(TemplateExtractor(TEMPLATES), as_columns(X), seed)
    assert tagger.weights.flat().tolist() == parts.flat().tolist()
    dense = Tagger(tagger.labels, tagger.extractor, parts)
    assert dense.predict(X) == tagger.predict(X)


def test_real_values_weigh_features():
    extractor = RecordExtractor()
    extractor.fit([[{"x": 2.0}]])
    w = np.zeros(ChainShape(2, 1).n_weights)
    w[:2] = [1.0, -1.0]
    tagger = Tagger(["plus", "minus"], extractor, ChainShape(2, 1).parts(w).thin())
    assert tagger.predict([[{"x": 0.5}, {"x": -0.5}], [{"unknown": 1.0, "x": -3}]]) == [["plus", "minus"], ["minus"]]


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_threads_columns_and_lists_agree(n_threads):
    rng = np.random.default_rng(0)
    X = [rng.choice(WORDS, size=rng.integers(0, 6)).tolist() for _ in range(40)]
    tagger, _ = random_tagger(TemplateExtractor(TEMPLATES), as_columns(X), 1)
    expected = [tagger.predict([x])[0] for x in X]
    assert tagger.predict(X, n_threads) == expected
    assert tagger.predict(as_columns(X), n_threads) == expected
    codes = tagger.predict_codes(X, n_threads)
    assert split([LABELS[code] for code in codes], boundaries(map(len, X))) == expected


@pytest.mark.parametrize("X", [[], [[]], [[], []]])
def test_nothing_to_predict(X):
    for extractor, train in (
        (TemplateExtractor(["pos", "transition:pos"]), as_columns([[{"word": "a", "pos": "N"}]])),
        (RecordExtractor(), [[["f"]]]),
    ):
        tagger, _ = random_tagger(extractor, train, 0)
        assert tagger.predict(X) == X
        assert len(tagger.predict_codes(X)) == 0


def test_whole_numbers_as_labels():
    tagger, _ = random_tagger(RecordExtractor(), [[["f"]]], 0, labels=[10, 20])
    (labels,) = tagger.predict([[["f"], ["g"]]])
    assert all(type(label) is int and label in (10, 20) for label in labels)


def test_inputs_of_another_kind_than_in_training():
    tagger, _ = random_tagger(RecordExtractor(), [[["f"]]], 0)
    with pytest.raises(DataError, match="trained on ready-made features; tokens in columns cannot be used with it"):
        tagger.predict(Columns({}, np.zeros(1, dtype=np.int64)))
    with pytest.raises(DataError, match="sequence 0, position 0: features must be a list of names or a dict"):
        tagger.predict([["a token"]])
    tagger, _ = random_tagger(TemplateExtractor("word"), as_columns([["a"]]), 0)
    with pytest.raises(DataError, match="sequence 0, position 1: a string is wanted"):
        tagger.predict([["b", ["f"]]])
    with pytest.raises(DataError, match="X must be a list of sequences"):
        tagger.predict("a token")
