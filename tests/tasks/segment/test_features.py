"""Features of spans, against plain Python on strings."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import as_dicts
from widemargin.core.header import Place
from widemargin.core.sparse import boundaries
from widemargin.core.stored import Stored
from widemargin.errors import WidemarginError
from widemargin.tasks.segment.features import LEVELS, SEGMENT_FEATURES, SegmentExtractor
from widemargin.text.attributes import Resources, shape
from widemargin.text.inputs import as_columns
from widemargin.text.template_extractor import TemplateExtractor

pytestmark = pytest.mark.interpreted

LEXICONS = {"towns": ["New York", "York", "Bury St Edmunds", " "], "empty": [], "words": ["the The new", "St"]}
WORDS = st.sampled_from(["new", "New", "York", "york", "Bury", "St", "Edmunds", "the", "7", "é"])
SEQUENCES = st.lists(st.lists(WORDS, max_size=5), max_size=4)


def candidates(X, longest):
    """All candidate spans in order: the words of each."""
    return [x[t : t + d] for x in X for t in range(len(x)) for d in range(1, min(longest, len(x) - t) + 1)]


def similarity(words, entries):
    sets = [set(entry.lower().split()) for entry in entries if entry.split()]
    mine = {word.lower() for word in words}
    return max((len(mine & other) / len(mine | other) for other in sets), default=0.0)


def of_words(words):
    """The features of words that a span may have, by name."""
    lower = [word.lower() for word in words]
    yield f"string={' '.join(words)}"
    yield f"lower={' '.join(lower)}"
    yield f"shape={' '.join(map(shape, words))}"
    if len(words) > 1:
        yield f"ends={lower[0]} … {lower[-1]}"


def naive(words, known):
    """The names of all features of a span."""
    yield from (name for name in of_words(words) if name in known)
    for lexicon, entries in LEXICONS.items():
        if " ".join(words).lower() in [entry.lower() for entry in entries]:
            yield f"lexicon({lexicon})"
        reached = [level for level in LEVELS if similarity(words, entries) >= level]
        if reached:
            yield f"similarity({lexicon})={reached[-1]}"


def gold_lengths(X, segments):
    """The length of each segment at its first token, 0 elsewhere."""
    starts = boundaries(map(len, X))
    lengths = np.zeros(starts[-1], dtype=np.int32)
    for i, first, length in segments:
        lengths[starts[i] + first] = length
    return lengths


def extractor(**options):
    return SegmentExtractor(TemplateExtractor("lower", Resources(LEXICONS)), **options)


def named_rows(features, model):
    names = model.names()[model.n_features :]
    assert len(names) == model.n_segment_features
    indptr = features.segment_rows.indptr
    assert not len(features.segment_rows.values)
    numbers = features.segment_rows.indices.tolist()
    return [sorted(names[k] for k in numbers[i:j]) for i, j in pairwise(indptr)]


@given(train=SEQUENCES, test=SEQUENCES, longest=st.integers(1, 4), min_count=st.integers(1, 3), data=st.data())
def test_segment_features_are_those_of_plain_python(train, test, longest, min_count, data):
    segments, known = [], {}
    for i, x in enumerate(train):
        at = 0
        while at < len(x):
            length = data.draw(st.integers(1, min(longest, len(x) - at)))
            if data.draw(st.booleans()):
                segments.append((i, at, length))
                for name in of_words(x[at : at + length]):
                    known[name] = known.get(name, 0) + 1
            at += length
    known = {name for name, count in known.items() if count >= min_count}
    model = extractor(min_count=min_count)
    features = model.fit(as_columns(train), gold_lengths(train, segments), longest)
    assert named_rows(features, model) == [sorted(naive(words, known)) for words in candidates(train, longest)]
    assert features.rows.indptr[-1] == sum(map(len, train))
    again = model.transform(as_columns(test), longest)
    assert named_rows(again, model) == [sorted(naive(words, known)) for words in candidates(test, longest)]

    restored = SegmentExtractor.restore(Stored(Place("the model"), *model.describe()))
    assert restored.names() == model.names()
    assert named_rows(restored.transform(as_columns(test), longest), restored) == named_rows(again, model)


def small():
    X = [["New", "York", "is", "new"], ["in", "York", "in", "York"]]
    model = extractor(min_count=1)
    return X, model, model.fit(as_columns(X), gold_lengths(X, [(0, 0, 2), (1, 1, 1)]), 2)


def test_only_the_wanted_features_are_kept():
    X, model, _ = small()
    names = model.names()
    used = np.array([name in ("lower=new", "string=York", "shape=Aa Aa") for name in names])
    used[names.index("lower=is")] = True  # of a token: no segment has this name
    kept = model.keep(used[: model.n_features], used[model.n_features :])
    lexical = [name for name in names if name.startswith(("lexicon", "similarity"))]
    assert kept.names() == [name for name, wanted in zip(names, used, strict=True) if wanted or name in lexical]
    found = named_rows(kept.transform(as_columns(X), 2), kept)
    assert found == [
        [name for name in row if name in kept.names()] for row in named_rows(model.transform(as_columns(X), 2), model)
    ]


def test_any_choice_of_segment_features_may_be_made():
    X, _, _ = small()
    for chosen in SEGMENT_FEATURES:
        model = extractor(segment_features=[chosen], min_count=1)
        model.fit(as_columns(X), gold_lengths(X, [(0, 0, 2)]), 2)
        names = model.names()[model.n_features :]
        assert names
        assert all(name.startswith(chosen) for name in names)
    model = extractor(segment_features=[])
    features = model.fit(as_columns(X), gold_lengths(X, []), 2)
    assert model.n_segment_features == 0
    assert as_dicts(features.segment_rows) == [{}] * 14


@pytest.mark.parametrize("longest", [1, 2, 9])
def test_sequences_without_tokens(longest):
    features = extractor().fit(as_columns([[], []]), np.empty(0, dtype=np.int32), longest)
    assert features.segment_rows.indptr.tolist() == [0]


def test_what_cannot_be_asked_for():
    with pytest.raises(WidemarginError, match="no segment feature 'sting'; there are string, lower"):
        extractor(segment_features=["sting"])
    with pytest.raises(WidemarginError, match="transition:lower"):
        SegmentExtractor(TemplateExtractor(["lower", "transition:lower"]))
