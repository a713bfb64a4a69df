"""Two passes: what the second one is told, that it never is told its own gold labels, and that models keep both."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import widemargin
from widemargin import SequenceTagger
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.stacking import QUICK as FOLD
from widemargin.tasks.stacking import fold_numbers
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import FOLDS, first_labels, prepare_second_pass
from widemargin.tasks.tag.predict import nearby_labels
from widemargin.tasks.training import Data
from widemargin.text.inputs import as_columns

QUICK = {"templates": "word lower[-1..1]", "max_epochs": 5}
X = [
    f"{name} saw {other} in {place} today".split()
    for name, other, place in zip("abcdefgh", "hgfedcba", "xyzxyzxy", strict=True)
]
Y = [["B-P", "O", "B-P", "I-P", "B-L", "O"]] * len(X)


def brute_nearby(X, codes, n_labels, distance):
    found = []
    for i, words in enumerate(X):
        for word in words:
            near = [j for j in range(len(X)) if j != i and abs(i - j) <= distance]
            counts = Counter(c for j in near for w, c in zip(X[j], codes[j], strict=True) if w.lower() == word.lower())
            found.append(min(counts, key=lambda code: (-counts[code], code)) if counts else n_labels)
    return found


tokens = st.lists(st.lists(st.tuples(st.sampled_from("aAbB"), st.integers(0, 2)), max_size=4), max_size=6).filter(any)


@settings(max_examples=60)
@given(tokens, st.integers(1, 8))
def test_labels_nearby_against_brute_force(tokens, distance):
    words, codes = ([[token[k] for token in each] for each in tokens] for k in (0, 1))
    flat = np.array([code for each in codes for code in each], dtype=np.int32)
    found = nearby_labels(as_columns(words), flat, 3, distance)
    assert found.tolist() == brute_nearby(words, codes, 3, distance)


def test_the_first_pass_learns_where_spans_end_and_any_other_labels_as_they_are():
    labels = first_labels(as_columns([["a", "b", "c", "d"]]), [["B-P", "I-P", "B-L", "O"]])
    assert labels.strings() == ["B-P", "E-P", "S-L", "O"]
    assert first_labels(as_columns([["a", "b"]]), [[1, 0]]).strings() == ["1", "0"]
    assert first_labels(as_columns([["a", "b"]]), [["S-P", "O"]]).strings() == ["S-P", "O"]


def test_guesses_about_training_data_come_from_taggers_that_have_not_seen_them():
    parameters = TaggerParameters(**QUICK, passes=2)
    _, data, first = prepare_second_pass(parameters, Data(as_columns(X), Y))
    part = fold_numbers(data.X.indptr, FOLDS)
    ends = first_labels(as_columns(X), Y).strings()
    gold = [ends[begin:end] for begin, end in zip(data.X.indptr, data.X.indptr[1:], strict=False)]
    for k in range(FOLDS):
        rest = [i for i in range(len(X)) if part[i] != k]
        alone = SequenceTagger(**QUICK, **FOLD).fit([X[i] for i in rest], [gold[i] for i in rest])
        for i in np.flatnonzero(part == k):
            assert data.X.sequences("guess")[i] == alone.predict([X[i]])[0]
    whole = SequenceTagger(**QUICK).fit(X, gold)
    assert first.read(as_columns(X)).sequences("guess") == whole.predict(X)


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(**QUICK, passes=2, nearby=3).fit(X, Y, dev=(X, Y))


def test_labels_are_those_of_the_user_and_do_not_depend_on_threads(tagger):
    assert set(tagger.classes_) == {"B-P", "I-P", "B-L", "O"}
    assert tagger.score(X, Y) == 1.0
    assert tagger.model_.predict(X, n_threads=2) == tagger.predict(X) == Y
    assert tagger.predict([]) == []
    assert tagger.model_.columns_read == ["word"]
    again = clone(tagger).set_params(n_jobs=1).fit(X, Y, dev=(X, Y))
    assert np.array_equal(again.solution_.w, tagger.solution_.w)


def test_a_file_holds_both_passes(tagger, tmp_path):
    tagger.save(tmp_path / "t.wm")
    model = widemargin.load(tmp_path / "t.wm").model_
    assert model.first.nearby == 3
    new = [["a", "met", "x"], ["x", "saw", "a", "in"]]
    assert model.predict(new) == tagger.predict(new)
    assert all(map(np.array_equal, model.max_marginals(new), tagger.model_.max_marginals(new)))
    assert model.reporter.remarks() == tagger.model_.reporter.remarks() != []


def test_a_sequence_is_explained_with_what_is_nearby(tagger, tmp_path):
    from widemargin.tasks.base import Reading

    (tmp_path / "t.tsv").write_text("\n\n".join("\n".join(each) for each in X), encoding="utf-8")
    model = tagger.model_
    corpus = model.read(tmp_path / "t.tsv", Reading(columns=["word"]), gold=False)
    (there,) = model.margins(model.reporter.alone(corpus, 2).X)
    assert np.array_equal(there.best, model.margins(X)[1].best)


def test_what_cannot_be_combined_is_refused():
    for wrong, message in (
        ({"passes": 3}, "passes must be a whole number from 1 to 2"),
        ({"nearby": 2}, "needs passes=2"),
        ({"passes": 2, "nearby": -1}, "nearby must be"),
    ):
        with pytest.raises(WidemarginError, match=message):
            SequenceTagger(**QUICK, **wrong).fit(X, Y)
    twice = SequenceTagger(**QUICK, passes=2)
    with pytest.raises(UnsupportedError, match="all training data at once"):
        clone(twice).set_params(solver="perceptron").partial_fit(X, Y)
    with pytest.raises(UnsupportedError, match="all known"):
        twice.fit(X, [[None, *labels[1:]] for labels in Y])
    with pytest.raises(UnsupportedError, match="ready-made features"):
        SequenceTagger(passes=2).fit([[["f"], ["g"]]] * 2, [["a", "b"]] * 2)
    with pytest.raises(DataError, match="two sequences or more"):
        twice.fit(X[:1], Y[:1])
    with pytest.raises(DataError, match="reads a column 'guess'"):
        SequenceTagger(templates="word guess", passes=2).fit(X, Y)


def test_other_columns_of_the_data_are_left_alone():
    tokens = [[{"word": word, "guess": "x", "size": str(len(word))} for word in words] for words in X]
    tagger = SequenceTagger(templates="word size", passes=2, max_epochs=5).fit(tokens, Y)
    assert tagger.predict(tokens) == Y
    assert tagger.model_.columns_read == ["size", "word"]
