"""Long-format frames: sequences and back, whatever the library and the order of the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin import Segmenter, SequenceTagger
from widemargin.data import from_frame
from widemargin.data.generators import addresses
from widemargin.errors import DataError

pytestmark = pytest.mark.interpreted

X, Y = addresses(6, seed=1)
LONG = {
    "document": [f"d{i // 3}" for i, x in enumerate(X) for _ in x],
    "sentence": [i for i, x in enumerate(X) for _ in x],
    "word": [word for x in X for word in x],
    "tag": [label for y in Y for label in y],
    "length": [float(len(word)) for x in X for word in x],
}
LIBRARIES = ["dict", "pandas", "polars"]


def frame_of(library, columns):
    return columns if library == "dict" else pytest.importorskip(library).DataFrame(columns)


@pytest.mark.parametrize("library", LIBRARIES)
def test_sequences_and_back(library):
    frame = frame_of(library, LONG)
    found = from_frame(frame, sequence="sentence", label="tag")
    assert (found.X, found.y) == (X, Y)
    assert found.column(found.y) == LONG["tag"]
    assert all(type(word) is str for x in found.X for word in x)
    assert from_frame(frame, sequence=["document", "sentence"]).X == X
    assert from_frame(frame, sequence="sentence").y is None


@pytest.mark.parametrize("library", LIBRARIES)
def test_predictions_are_a_column_of_the_frame(library):
    """With the rows in any order, as long as tokens of a sequence are in theirs."""
    order = np.argsort(np.random.default_rng(0).random(len(LONG["word"])))
    turn = {i: iter(sorted(k for k in order if LONG["sentence"][k] == i)) for i in range(6)}
    order = [next(turn[LONG["sentence"][k]]) for k in order]
    frame = frame_of(library, {name: [values[k] for k in order] for name, values in LONG.items()})
    data = from_frame(frame, sequence="sentence", label="tag")
    tagger = SequenceTagger(templates="lower shape", max_epochs=3).fit(data.X, data.y)
    expected = dict(zip(map(tuple, X), tagger.predict(X), strict=True))
    column = data.column(tagger.predict(data.X))
    for i, x in enumerate(X):
        own = [column[at] for at, k in enumerate(order) if LONG["sentence"][k] == i]
        assert own == expected[tuple(x)]
    if library == "pandas":
        assert frame.assign(predicted=column)["predicted"].to_list() == column
    if library == "polars":
        import polars

        assert frame.with_columns(polars.Series("predicted", column))["predicted"].to_list() == column


def test_spans_become_labels():
    data = from_frame(LONG, sequence="sentence", label="tag")
    segmenter = Segmenter(templates="lower shape", max_epochs=3).fit(data.X, data.y)
    expected = [label for labels in segmenter.model_.gold_and_predicted(X, Y)[1] for label in labels]
    assert data.column(segmenter.predict(data.X)) == expected
    assert data.column(segmenter.predict_spans(data.X)) == expected
    assert set(data.column([[]] * 6)) == {"O"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_more_columns(library):
    frame = frame_of(library, LONG)
    data = from_frame(frame, sequence="sentence", label="tag", columns=["length"])
    assert data.X[0][0] == {"word": X[0][0], "length": float(len(X[0][0]))}
    records = SequenceTagger(max_epochs=2).fit(data.X, data.y)
    assert "length" in records.get_feature_names_out()
    columns = from_frame(frame, sequence="sentence", label="tag", columns=["document"])
    tagger = SequenceTagger(templates="lower document", max_epochs=2).fit(columns.X, columns.y)
    assert "document=d0" in tagger.get_feature_names_out()


@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_labels_are_unknown_and_other_missing_values_refused(library):
    frame = frame_of(library, {"s": [1, 1], "word": ["a", "b"], "tag": ["A", None]})
    assert from_frame(frame, sequence="s", label="tag").y == [["A", None]]
    frame = frame_of(library, {"s": [1, 1], "word": ["a", None]})
    with pytest.raises(DataError, match="row 1 of the frame has no value in the column 'word'"):
        from_frame(frame, sequence="s")
    frame = frame_of(library, {"s": [1.0, None], "word": ["a", "b"]})
    with pytest.raises(DataError, match="row 1 of the frame has no value in the column 's'"):
        from_frame(frame, sequence="s")


def test_missing_values_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"s": [1, 1], "word": ["a", "b"], "tag": pandas.array([1, None], dtype="Int64")})
    assert from_frame(frame, sequence="s", label="tag").y == [[1, None]]


def test_wrong_names_and_outputs():
    with pytest.raises(DataError, match="the frame has no column 'token'; it has 'document', 'sentence', 'word'"):
        from_frame(LONG, sequence="sentence", token="token")
    with pytest.raises(DataError, match="sequence names no column"):
        from_frame(LONG, sequence=[])
    data = from_frame(LONG, sequence="sentence")
    with pytest.raises(DataError, match="the frame has 6 sequences, but there are 1 outputs"):
        data.column([["O"]])
    with pytest.raises(DataError, match=r"sequence 0 has .* tokens, but 1 outputs"):
        data.column([["O"]] * 6)


@given(st.lists(st.tuples(st.integers(0, 3), st.text(max_size=3)), max_size=20))
def test_any_rows(rows):
    frame = {"s": [s for s, _ in rows], "word": [word for _, word in rows]}
    data = from_frame(frame, sequence="s", label="word")
    assert data.X == data.y == [[w for s, w in rows if s == key] for key in dict.fromkeys(frame["s"])]
    assert data.column(data.X) == frame["word"]
