"""New sequences get the segments that decoding their examples gives, however they are asked for."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.core.problem import predict
from widemargin.tasks.segment.features import SEGMENT_FEATURES, SegmentExtractor
from widemargin.tasks.segment.model import SegmentModel
from widemargin.tasks.segment.scores import Segmentation
from widemargin.text.attributes import Resources
from widemargin.text.inputs import as_columns
from widemargin.text.template_extractor import TemplateExtractor

pytestmark = pytest.mark.interpreted

LEXICONS = {"towns": ["New York", "york"]}
SENTENCES = st.lists(st.lists(st.sampled_from(["new", "New", "York", "é7"]), max_size=6), min_size=1, max_size=4)


def random_segmenter(X, seed, *, lexicons=None, lengths=(1, 3)):
    """A segmenter that knows the features of all segments of three tokens in X, with random weights."""
    columns = as_columns(X)
    extractor = SegmentExtractor(
        TemplateExtractor(["word", "shape[1]", "lower|word[1]"], Resources(lexicons or {})),
        SEGMENT_FEATURES,
        min_count=1,
    )
    sizes = np.diff(columns.indptr)
    lengths_left = np.concatenate([np.arange(n, 0, -1) for n in sizes]) if len(X) else np.empty(0)
    extractor.fit(columns, np.minimum(lengths_left, 3).astype(np.int32), max(lengths))
    shape = Segmentation(2, extractor.n_features, extractor.n_segment_features, lengths)
    w = np.random.default_rng(seed).normal(size=shape.n_weights)
    return SegmentModel(["O", "town"], extractor, shape.parts(w).thin(), lengths)


def decoded(model, X):
    """The segments that the examples have."""
    examples = model.examples(X)
    return model.outputs(np.concatenate(predict(examples, model.weights)), examples.indptr)


@settings(max_examples=40)
@given(SENTENCES.filter(any), st.lists(SENTENCES, max_size=3), st.integers(0, 1000), st.booleans())
def test_sequences_get_the_segments_of_their_examples(training, texts, seed, listed):
    model = random_segmenter(training, seed, lexicons=LEXICONS if listed else None)
    for X in texts:
        assert model.predict(X) == decoded(model, X)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("lexicons", [None, LEXICONS])
def test_shares_get_the_segments_of_the_whole(lexicons, n_threads, monkeypatch):
    rng = np.random.default_rng(3)
    X = [rng.choice(["new", "New", "York"], size=n).tolist() for n in rng.integers(0, 9, 40)]
    model = random_segmenter(X[:20], 5, lexicons=lexicons)
    monkeypatch.setattr(type(model.predictor), "token_work", 1000.0)
    assert model.predict(X, n_threads=n_threads) == decoded(model, X)
    assert pickle.loads(pickle.dumps(model)).predict(X) == decoded(model, X)
