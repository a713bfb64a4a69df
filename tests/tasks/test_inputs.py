"""What users pass to `fit` and `predict`: wrong shapes are named, generators are read once, files need not fit."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from widemargin import ConstituencyParser, DependencyParser, LinearClassifier, MultilabelClassifier, Segmenter
from widemargin import SequenceTagger as Tagger
from widemargin.data.generators import addresses
from widemargin.errors import DataError
from widemargin.text import matrices

TOKENS, LABELS = [["a", "b"], ["c"]], [["A", "B"], ["A"]]
SPANS, ARCS = [[(0, 1, "X")], []], [[(2, "x"), (0, "r")], [(0, "r")]]
TREES = ["(S (N a) (N b))", "(S (N c))"]
TAGGED = [(["a", "b"], ["N", "N"]), (["c"], ["N"])]
QUICK = {"max_epochs": 1}


class Frame:
    """Like a data frame, of whatever library."""

    columns, shape = ("word", "tag"), (2, 2)

    def __len__(self):
        return 2

    def __iter__(self):
        return iter(self.columns)


ONE = "; a single sequence of tokens is given as [X]"
FLAT = "; the labels of a single sequence are given as [y]"
MATRIX = (
    "X is one matrix of shape (2, 3); a list of matrices is wanted, one per sequence with a row per position: [X] for "
    "a single sequence"
)
LABEL = "sequence 0, position 0: a label must be a string or a whole number"
TREE_LIST = "y must be a list of trees, or of their texts in brackets"
SEQUENCE = "X[0] must be a sequence of positions, not"
FRAME = "X is a data frame; widemargin.data.from_frame makes sequences from one with a row per token"


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("kind", "X", "y", "message"),
    [
        # A level too few or too many, or no list at all
        (Tagger, ["a", "b"], LABELS, f"X[0] must be a sequence of positions, not 'a'{ONE}"),
        (Tagger, ["the dog", "a"], LABELS, f"{SEQUENCE} 'the dog'; split texts into tokens"),
        (Tagger, [{"word": "a"}], LABELS, f"X[0] must be a sequence of positions, not {{'word': 'a'}}{ONE}"),
        (Tagger, "ab", LABELS, "X must be a list of sequences, not str"),
        (Tagger, None, LABELS, "X must be a list of sequences, not NoneType"),
        (Tagger, {"a": 1}, LABELS, "X must be a list of sequences, not dict"),
        (Tagger, 3, LABELS, "X must be a list of sequences, not int"),
        (Tagger, [["a", 1], ["b"]], LABELS, "sequence 0, position 1: a string is wanted, not 1"),
        (
            Tagger,
            [[1.0, 2.0], [3.0]],
            LABELS,
            "sequence 0, position 0: features must be a list of names or a dict, not 1.0",
        ),
        (Tagger, TOKENS, ["A", "B"], f"y[0] must be a list of labels, not 'A'{FLAT}"),
        (Tagger, TOKENS[:1], ["A", "B"], f"y[0] must be a list of labels, not 'A'{FLAT}"),
        (Tagger, TOKENS, np.array([0, 1]), f"y[0] must be a list of labels, not np.int64(0){FLAT}"),
        (Tagger, TOKENS, [["A", "B"], "A"], "y[1] must be a list of labels, not 'A'"),
        (Tagger, TOKENS, "AB", "y must be a list of label lists, not 'AB'"),
        (Tagger, TOKENS, {"a": 1}, "y must be a list of label lists, not {'a': 1}"),
        (Tagger, TOKENS, [[[["A"]], "B"], ["A"]], f"{LABEL}, not ['A']"),
        (Tagger, TOKENS, [[0.5, 1.0], [2.0]], f"{LABEL}, not 0.5"),
        # Lengths
        (Tagger, TOKENS, LABELS[:1], "X has 2 sequences, but y has 1"),
        (Tagger, TOKENS, [["A"], ["A"]], "sequence 0 has 2 positions, but 1 labels"),
        (
            Tagger,
            [np.ones((2, 3)), np.ones((1, 4))],
            LABELS,
            "sequence 1 has the shape (1, 4); a row of 3 features per position is wanted",
        ),
        # Matrices and frames
        (Tagger, np.ones((2, 3)), LABELS, MATRIX),
        (Tagger, sparse.csr_array(np.ones((2, 3))), LABELS, MATRIX),
        (Tagger, np.ones(2), LABELS, "X[0] must be a sequence of positions, not np.float64(1.0)"),
        (Tagger, Frame(), LABELS, FRAME),
        (Tagger, TOKENS, Frame(), "y is a data frame; widemargin.data.from_frame makes sequences of labels from one"),
        # Other kinds of outputs
        (Segmenter, ["a", "b"], SPANS, f"X[0] must be a sequence of positions, not 'a'{ONE}"),
        (Segmenter, np.ones((2, 3)), SPANS, MATRIX),
        (Segmenter, TOKENS, ["A", "B"], f"y[0] must be a list of labels, not 'A'{FLAT}"),
        (Segmenter, TOKENS, SPANS[:1], "X has 2 sequences, but y has 1"),
        (Segmenter, TOKENS, None, "y must be a list of spans or labels for every sequence, not None"),
        (DependencyParser, ["a", "b"], ARCS, f"X[0] must be a sequence of positions, not 'a'{ONE}"),
        (DependencyParser, TOKENS, ARCS[:1], "X has 2 sentences, but y has 1"),
        (DependencyParser, TOKENS, ARCS[0], "y[0][0] must be (head, relation), a number and a text, not 2"),
        (DependencyParser, TOKENS, None, "y must be a list of (head, relation) for every sentence, not None"),
        (ConstituencyParser, TAGGED, TREES[:1], "there are 2 sentences, but 1 trees"),
        (ConstituencyParser, TAGGED, TREES[0], f"{TREE_LIST}, not '(S (N a) (N b))'"),
        (ConstituencyParser, TAGGED, None, f"{TREE_LIST}, not None"),
        (ConstituencyParser, TAGGED, LABELS, "y[0] must be a Tree, or a text in brackets, not ['A', 'B']"),
    ],
)
def test_wrong_shapes_are_named(kind, X, y, message):
    with pytest.raises(DataError) as raised:
        kind(**QUICK).fit(X, y)
    assert str(raised.value) == message


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("dev", "message"),
    [
        ((TOKENS, LABELS, 1), r"dev must be a pair \(X, y\), not 3 things"),
        ((TOKENS, LABELS[:1]), "X has 2 sequences, but y has 1"),
        (("ab", LABELS), "X must be a list of sequences, not str"),
    ],
)
def test_wrong_development_data(dev, message):
    with pytest.raises(DataError, match=message):
        Tagger(**QUICK).fit(TOKENS, LABELS, dev=dev)


@pytest.mark.interpreted
@pytest.mark.parametrize("X", [["a", "b"], np.ones((2, 3)), Frame(), "ab", None])
def test_wrong_shapes_of_new_data(X):
    tagger = Tagger(**QUICK).fit(TOKENS, LABELS)
    for ask in (tagger.predict, tagger.predict_spans, lambda X: tagger.score(X, LABELS)):
        with pytest.raises(DataError, match=r"^X"):
            ask(X)


# Generators


def once(values, nested=False):
    """A generator, perhaps of generators."""
    return (iter(each) if nested else each for each in values)


@pytest.mark.interpreted
@pytest.mark.parametrize("nested", [False, True])
def test_generators_of_sequences(nested):
    X, y = addresses(8, seed=1)
    options = {"templates": "lower shape", "max_epochs": 2}
    lists = Tagger(**options).fit(X, y, sample_weight=[1.0] * 8, dev=(X[:3], y[:3]))
    dev = once([once(X[:3], nested), once(y[:3], nested)])
    read = Tagger(**options).fit(once(X, nested), once(y, nested), sample_weight=once([1.0] * 8), dev=dev)
    assert np.array_equal(read.solution_.w, lists.solution_.w)
    assert [row.score for row in read.solution_.trace] == [row.score for row in lists.solution_.trace]
    assert read.predict(once(X, nested)) == lists.predict(X)
    assert read.score(once(X, nested), once(y, nested)) == lists.score(X, y)
    assert read.predict_best(once(X), 2) == lists.predict_best(X, 2)
    read.calibrate(once(X), once(y))
    lists.calibrate(X, y)
    assert read.model_.calibration == lists.model_.calibration
    path = Tagger(**options).fit_path(once(X), once(y), C=[0.1])
    assert np.array_equal(path[0].solution_.w, Tagger(**options).fit_path(X, y, C=[0.1])[0].solution_.w)


@pytest.mark.interpreted
def test_generators_of_trees_and_rows():
    parser = DependencyParser(hash_bits=10, **QUICK).fit(once(TOKENS), once(ARCS))
    assert parser.score(once(TOKENS), once(ARCS)) == parser.score(TOKENS, ARCS)
    assert parser.predict(once(TOKENS)) == parser.predict(TOKENS)
    bracketer = ConstituencyParser(hash_bits=10, **QUICK).fit(once(TAGGED), once(TREES))
    assert bracketer.score(once(TAGGED), once(TREES)) == bracketer.score(TAGGED, TREES)
    rows, classes = [[0.0, 1.0], [1.0, 0.0]], ["a", "b"]
    classifier = LinearClassifier(**QUICK).fit(once(rows), once(classes))
    assert classifier.predict(once(rows)).tolist() == classes


# Files that are mapped into memory


def mapped(path, matrix):
    np.save(path, matrix)
    return np.load(path, mmap_mode="r")


@pytest.mark.interpreted
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_matrices_in_files(dtype, tmp_path, monkeypatch):
    monkeypatch.setattr(matrices, "SHARE", 50)  # several shares
    rng = np.random.default_rng(0)
    matrix = (10 * rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.7)).astype(dtype)
    file, classes, sets = mapped(tmp_path / "x.npy", matrix), rng.integers(3, size=40), rng.integers(2, size=(40, 3))
    for kind, y in ((LinearClassifier, classes), (MultilabelClassifier, sets)):
        there, here = kind(max_epochs=3).fit(file, y), kind(max_epochs=3).fit(matrix.astype(float), y)
        assert np.array_equal(there.model_.w, here.model_.w)
        assert np.array_equal(there.predict(file), here.predict(matrix))
        likely = kind(max_epochs=3, objective="likelihood").fit(file, y)
        np.testing.assert_allclose(likely.predict_proba(file), likely.predict_proba(matrix.astype(float)))
    sequences, labels = [file[:25], file[25:]], [classes[:25].tolist(), classes[25:].tolist()]
    there = Tagger(max_epochs=3).fit(sequences, labels)
    here = Tagger(max_epochs=3).fit([matrix[:25].astype(float), matrix[25:].astype(float)], labels)
    assert np.array_equal(there.solution_.w, here.solution_.w)
    assert there.predict(sequences) == here.predict(sequences)


def test_predictions_make_no_copy_of_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(matrices, "SHARE", 2**12)
    rng = np.random.default_rng(0)
    file = mapped(tmp_path / "x.npy", rng.normal(size=(5000, 50)).astype(np.float32))  # 1 MB
    classifier = LinearClassifier(max_epochs=3).fit(file[:100], np.arange(100) % 2)
    sets = MultilabelClassifier(max_epochs=3).fit(file[:100], np.eye(2, dtype=int)[np.arange(100) % 2])
    for ask in (classifier.predict, classifier.decision_function, sets.predict):
        ask(file[:1000])
        tracemalloc.start()
        ask(file)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1e6  # the results and what is made of one share; sparse rows of the whole would be 3 MB
