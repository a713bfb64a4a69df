"""`widemargin.crfsuite.Tagger` beside python-crfsuite's own: the same files, calls, answers and mistakes."""

import math
import os
import pickle
import random
import time
from collections import OrderedDict, UserDict
from pathlib import Path

import numpy as np
import pycrfsuite
import pytest

import widemargin
import widemargin.crfsuite as ours
from widemargin.crfsuite.models import load, save
from widemargin.errors import ModelFileError, UnsupportedError
from widemargin.files.lcrf import ChainFile, Weights, lcrf_bytes

pytestmark = pytest.mark.interpreted


def items(rng, label):
    """An item in one of the forms that python-crfsuite takes."""
    word = f"w{rng.randrange(12)}"
    return rng.choice(
        [
            [word, "bias"],
            [word.encode(), "bias", word],
            {word: 1.0, "bias": True, "é": label, "x": rng.random()},
            {"deep": {"er": [word, "é"], "x": -0.5, "set": {word}}, "no": False, b"by": b"te"},
            {word},
        ]
    )


@pytest.fixture(scope="module", params=["ABCD", ["O", "B-é", "I-é"], "A"])
def path(request, tmp_path_factory):
    """A model that CRFsuite has trained."""
    rng, trainer = random.Random(7), pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params({"max_iterations": 15, "c1": 0.05, "feature.possible_transitions": 1})
    for _ in range(30):
        y = [rng.choice(request.param) for _ in range(rng.randint(1, 7))]
        trainer.append([items(rng, label) for label in y], y)
    path = str(tmp_path_factory.mktemp("models") / "m.crfsuite")
    trainer.train(path)
    return path


@pytest.fixture
def pair(path):
    """Both taggers with the same model."""
    found = pycrfsuite.Tagger(), ours.Tagger()
    for tagger in found:
        tagger.open(path)
    return found


def test_the_same_answers(pair):
    rng = random.Random(3)
    labels = pair[0].labels()
    assert pair[1].labels() == labels
    for n in [0, 1, 2, 3, 5, 9, 40]:
        sequence = [items(rng, rng.choice(labels)) for _ in range(n)]
        expected, found = (tagger.tag(sequence) for tagger in pair)
        assert found == expected
        assert pair[1].tag() == expected
        assert pair[1].tag(ours.ItemSequence(sequence)) == expected
        for y in (expected, [rng.choice(labels) for _ in range(n)]):
            assert pair[1].probability(y) == pytest.approx(pair[0].probability(y), rel=1e-10)
        for position in range(n):
            for label in labels:
                expected, found = (tagger.marginal(label, position) for tagger in pair)
                assert found == pytest.approx(expected, abs=1e-12)


def test_the_same_description(pair, tmp_path):
    expected, found = (tagger.info() for tagger in pair)
    assert vars(found) == vars(expected)
    for name in vars(expected):
        assert list(getattr(found, name)) == list(getattr(expected, name)), "in the same order"
    for tagger, file in zip(pair, ("theirs", "ours"), strict=True):
        tagger.dump(str(tmp_path / file))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_a_dump_goes_to_standard_output(path, capsys, tmp_path):
    tagger = ours.Tagger()
    with tagger.open(path):
        tagger.dump()
        tagger.dump(tmp_path / "dump")
    assert capsys.readouterr().out == (tmp_path / "dump").read_text(encoding="utf-8")


FORMS = [
    [["foo"], {"bar": {"baz": 1}}],
    [{"a": {"b": ["c", b"d"], "e": 0.5, "z": {"q"}}}],
    [{"s": "t", "u": b"v", "w": True, "x": False, "n": np.float32(0.5), "i": 3}],
    [{"foo"}, ["a", "a"], ("t", "u"), frozenset(["f"]), "word", b"", []],
    [["a\0b"], {"c\0d": "e"}],
    [{"a": {"b": 1}, "a:b": 2}, {"a": {}, "b": []}],
    [OrderedDict(a=1), UserDict(a=2), {"y": np.str_("z")}],
    [{"inf": math.inf, "large": 1e300}],
    (item for item in [["generated"]]),
    {"key": 1},
    "abc",
    [],
]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_items(form):
    form = form if isinstance(form, list | dict | str) else list(form)
    expected, found = pycrfsuite.ItemSequence(form), ours.ItemSequence(form)
    assert found.items() == expected.items()
    assert [list(item) for item in found.items()] == [list(item) for item in expected.items()]
    assert all(type(value) is float for item in found.items() for value in item.values())
    assert (len(found), repr(found)) == (len(expected), repr(expected))
    assert ours.ItemSequence(found).items() == expected.items()


def opened(module, path):
    tagger = module.Tagger()
    tagger.open(path)
    return tagger


def with_items(module, path):
    tagger = opened(module, path)
    tagger.set([["bias"], {"x": 0.3}])
    return tagger


UNOPENED = {
    "labels": lambda tagger: tagger.labels(),
    "tag": lambda tagger: tagger.tag([["a"]]),
    "tag again": lambda tagger: tagger.tag(),
    "set": lambda tagger: tagger.set([["a"]]),
    "probability": lambda tagger: tagger.probability(["A"]),
    "marginal": lambda tagger: tagger.marginal("A", 0),
    "info": lambda tagger: tagger.info(),
    "dump": lambda tagger: tagger.dump("/dev/null"),
    "close": lambda tagger: tagger.close(),
    "close twice": lambda tagger: (tagger.close(), tagger.close()),
}
CALLS = {
    "tag before set": lambda new: new().tag(),
    "probability before set": lambda new: new().probability(["A"]),
    "marginal before set": lambda new: new().marginal("no label", 7),
    "no items": lambda new: new().tag([]),
    "an empty item": lambda new: new().tag([[], {}]),
    "unknown attributes": lambda new: new().tag([["?"], {"?": 3.5}]),
    "set twice": lambda new: [(tagger := new()).set([["bias"]]), tagger.set([]), tagger.tag(), tagger.probability([])],
    "reopened": lambda new: [(tagger := new()).tag([["bias"]]), tagger.close(), tagger.tag()],
    "a string": lambda new: new().tag("ab"),
    "strings": lambda new: new().tag(["bias", "é"]),
    "an iterator": lambda new: new().tag(iter([["bias"]])),
    "a dict": lambda new: new().tag({"bias": 1}),
    "bytes as a key": lambda new: new().tag([{b"bias": 1}]),
    "infinite": lambda new: new().tag([{"x": math.inf}]),
    "a NumPy number": lambda new: new().tag([{"x": np.float32(0.5)}]),
}
QUESTIONS = {
    "too few labels": lambda tagger: tagger.probability([]),
    "too many labels": lambda tagger: tagger.probability(["?"] * 3),
    "an unknown label": lambda tagger: tagger.probability(["?", "?"]),
    "labels as a generator": lambda tagger: tagger.probability(label for label in tagger.labels()[:1] * 2),
    "labels as bytes": lambda tagger: tagger.probability([label.encode() for label in tagger.labels()[:1] * 2]),
    "labels as numbers": lambda tagger: tagger.probability([1, 2]),
    "no labels": lambda tagger: tagger.probability(None),
    "an unknown label at a position": lambda tagger: tagger.marginal("?", 1),
    "a position too small": lambda tagger: tagger.marginal(tagger.labels()[0], -1),
    "a position too large": lambda tagger: tagger.marginal("?", 2),
    "a huge position": lambda tagger: tagger.marginal("?", 2**40),
    "a position as a float": lambda tagger: tagger.marginal(tagger.labels()[0], 1.0),
    "a position from NumPy": lambda tagger: tagger.marginal(tagger.labels()[0], np.int64(1)),
    "a position as a string": lambda tagger: tagger.marginal(tagger.labels()[0], "1"),
    "a position by name": lambda tagger: tagger.marginal(y=tagger.labels()[0].encode(), pos=True),
    "a label as a number": lambda tagger: tagger.marginal(1, 1),
    "no label": lambda tagger: tagger.marginal(None, 1),
}


def outcome(call, *args):
    """What a call returns, or the error that it raises."""
    try:
        result = call(*args)
    except Exception as error:
        kind = next(kind for kind in (FileNotFoundError, OSError, ValueError, type(error)) if isinstance(error, kind))
        return kind.__name__
    return pytest.approx(result, rel=1e-10) if isinstance(result, float) else result


@pytest.mark.parametrize("call", UNOPENED.values(), ids=UNOPENED)
def test_the_same_without_a_model(path, call):
    expected, found = (outcome(call, module.Tagger()) for module in (pycrfsuite, ours))
    assert found == expected
    closed = opened(ours, path)
    closed.close()
    assert outcome(call, closed) == expected


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_same_for_odd_sequences(path, call):
    expected, found = (outcome(call, lambda module=module: opened(module, path)) for module in (pycrfsuite, ours))
    assert found == expected


@pytest.mark.parametrize("call", QUESTIONS.values(), ids=QUESTIONS)
def test_the_same_for_odd_questions(path, call):
    expected, found = (outcome(call, with_items(module, path)) for module in (pycrfsuite, ours))
    assert found == expected


def test_the_same_messages(path):
    for call in (*UNOPENED.values(), *QUESTIONS.values()):
        messages = []
        for module in (pycrfsuite, ours):
            tagger = module.Tagger() if call in UNOPENED.values() else with_items(module, path)
            try:
                messages.append(call(tagger) and None)
            except Exception as error:
                messages.append(str(error).replace("1is", "1 is").replace("2is", "2 is"))
        assert messages[1] == messages[0]


@pytest.mark.parametrize(
    ("sequence", "error"),
    [
        (5, TypeError),
        ([5], TypeError),
        ([None], TypeError),
        ([[1]], TypeError),
        ([{1: 1}], TypeError),
        ([(name for name in ["a"])], TypeError),
        ([{"a": None}], TypeError),
        ([{"a": ("b",)}], TypeError),
        ([{"a": bytearray(b"1")}], TypeError),
        ([{"a": 1j}], TypeError),
        ([{"a": 10**400}], OverflowError),
        ([{"a": ["\ud800"]}], UnicodeEncodeError),
    ],
)
def test_items_of_no_form(path, sequence, error):
    """CRFsuite's class raises a SystemError, whose cause is the error here; what was set before stays set."""
    theirs, tagger = opened(pycrfsuite, path), with_items(ours, path)
    with pytest.raises(SystemError) as caught:
        theirs.set(sequence)
    assert type(caught.value.__cause__) is error
    before = tagger.tag()
    with pytest.raises(error):
        tagger.set(sequence)
    assert tagger.tag() == before


def test_files_that_are_no_models(path, tmp_path):
    content = Path(path).read_bytes()
    for name, part in {"empty": b"", "short": content[:30], "header": content[:48], "other": b"hello" * 100}.items():
        (tmp_path / name).write_bytes(part)
    for name in ("empty", "short", "header", "other", "missing", ""):
        found = [outcome(module.Tagger().open, str(tmp_path / name)) for module in (pycrfsuite, ours)]
        assert found[1] == found[0] in ("ValueError", "OSError", "FileNotFoundError"), name
    for value in (b"", b"lCRF", content[:48], b"x" * 99, "lCRF", bytearray(content), None):
        found = [outcome(module.Tagger().open_inmemory, value) for module in (pycrfsuite, ours)]
        assert found[1] == found[0] in ("ValueError", "TypeError")
    tagger = with_items(ours, path)
    before = tagger.tag()
    with pytest.raises(ModelFileError, match="is truncated"):
        tagger.open_inmemory(content[:100])
    assert tagger.tag() == before, "the model that was open stays open"
    tagger.open_inmemory(content)
    assert tagger.tag() == []


def test_a_model_is_closed_after_the_block(path):
    for module in (pycrfsuite, ours):
        tagger = module.Tagger()
        with tagger.open(path) as same:
            assert same is tagger
            assert tagger.labels()
        with pytest.raises(ValueError, match="The tagger is not opened"):
            tagger.labels()
        with tagger.open_inmemory(Path(path).read_bytes()):
            assert tagger.labels()


def test_a_tagger_can_be_copied(path):
    tagger = with_items(ours, path)
    assert pickle.loads(pickle.dumps(tagger)).tag() == tagger.tag()


def test_names_of_the_package():
    assert ours.CRFSUITE_VERSION == pycrfsuite.CRFSUITE_VERSION
    assert ours.CRFSuiteError._messages == pycrfsuite.CRFSuiteError._messages
    assert str(ours.CRFSuiteError(-(2**31))) == "Unknown error occurred"
    assert {"ItemSequence", "Tagger", "CRFSuiteError", "CRFSUITE_VERSION"} <= set(ours.__all__)
    wanted = {name for name in dir(pycrfsuite.Tagger) if not name.startswith("_")}
    assert {name for name in dir(ours.Tagger) if not name.startswith("_")} == wanted | {"marginals"}


def test_crfsuites_model_is_one_of_our_own(path, tmp_path):
    theirs, tagger = opened(pycrfsuite, path), load(path)
    rng = random.Random(2)
    sequences = [[items(rng, "A") for _ in range(n)] for n in (1, 4, 7)]
    sequences = [[{"x": 0.25, "é": "A"} if b"by" in item else [*map(str, item)] for item in each] for each in sequences]
    assert tagger.predict(sequences) == [theirs.tag(each) for each in sequences]
    order = [tagger.classes_.tolist().index(label) for label in theirs.labels()]
    for sequence, rows in zip(sequences, tagger.predict_proba(sequences), strict=True):
        theirs.set(sequence)
        expected = [[theirs.marginal(label, t) for label in theirs.labels()] for t in range(len(sequence))]
        np.testing.assert_allclose(rows[:, order], expected, atol=1e-12)
    assert [ranked[0].output for ranked in tagger.predict_best(sequences, 2)] == tagger.predict(sequences)
    tagger.save(tmp_path / "m.wm")
    again = widemargin.load(tmp_path / "m.wm")
    assert again.predict(sequences) == tagger.predict(sequences)
    save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == Path(path).read_bytes()
    assert widemargin.load(path).predict(sequences) == tagger.predict(sequences)
    reopened = opened(ours, tmp_path / "m.wm")
    assert [reopened.tag(each) for each in sequences] == tagger.predict(sequences)
    assert vars(reopened.info()) == vars(theirs.info())


X = [[["a", "b"], {"c": 1.5, "d": "e"}], [["c"], ["a"], ["d:e"]]] * 3
Y = [["N", "V"], ["V", "N", "V"]] * 3


@pytest.fixture(scope="module")
def own():
    return widemargin.SequenceTagger(solver="crf", max_epochs=3).fit(X, Y)


def without_ends(tagger):
    """The same tagger without the weights for first and last labels."""
    model = tagger.model_
    shared = np.append(model.weights.transition, np.zeros(2 * len(model.labels)))
    weights = model.weights._replace(shared=shared)
    model = type(model)(model.labels, model.extractor, weights, summary=model.summary)
    return type(tagger).from_model(model)


def test_our_own_model_as_one_of_crfsuites(own, tmp_path):
    tagger, path = without_ends(own), str(tmp_path / "m.crfsuite")
    save(tagger, path)
    theirs, mine = opened(pycrfsuite, path), opened(ours, path)
    assert [theirs.tag(x) for x in X] == [mine.tag(x) for x in X] == tagger.predict(X)
    theirs.set(X[1])
    rows = tagger.predict_proba(X[1:2])[0]
    for position, row in enumerate(rows):
        assert [theirs.marginal(label, position) for label in tagger.classes_] == pytest.approx(row, abs=1e-12)
    tagger.save(tmp_path / "m.wm")
    saved = opened(ours, tmp_path / "m.wm")
    assert [saved.tag(x) for x in X] == tagger.predict(X)


def test_our_own_models_are_opened_as_they_are(own, tmp_path):
    """With weights for first and last labels, which CRFsuite has not."""
    own.save(tmp_path / "m.wm")
    tagger = opened(ours, tmp_path / "m.wm")
    assert [tagger.tag(x) for x in X] == own.predict(X)
    tagger.set(X[0])
    assert tagger.marginal("N", 0) == pytest.approx(own.predict_proba(X[:1])[0][0, 0])
    with pytest.raises(UnsupportedError, match="weights for first labels"):
        tagger.info()


def test_models_that_crfsuite_cannot_have(own, tmp_path):
    tokens, tags = [["a", "b"], ["b"]], [["N", "V"], ["V"]]
    templates = widemargin.SequenceTagger(max_epochs=1).fit(tokens, tags)
    hashed = widemargin.SequenceTagger(max_epochs=1, hash_bits=4).fit(X, Y)
    classifier = widemargin.LinearClassifier(max_epochs=1).fit(np.eye(2), ["a", "b"])
    for model, message in [
        (own, "the tagger has weights for first labels"),
        (templates, "this one has templates"),
        (hashed, "this one has features without names"),
        (classifier, "a LinearPredictor cannot be written|cannot be written as a model file of CRFsuite"),
    ]:
        with pytest.raises(UnsupportedError, match=message):
            save(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()
    for name, model in {"templates": templates, "classifier": classifier}.items():
        model.save(tmp_path / name)
        with pytest.raises(UnsupportedError, match="is not a tagger of ready-made features"):
            ours.Tagger().open(str(tmp_path / name))
    with pytest.raises(ModelFileError, match="is not a model file of CRFsuite"):
        load(tmp_path / "templates")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")


def test_probabilities_are_refused_where_there_are_none(tmp_path):
    widemargin.SequenceTagger(max_epochs=1).fit(X, Y).save(tmp_path / "m.wm")
    tagger = opened(ours, tmp_path / "m.wm")
    tagger.set(X[0])
    with pytest.raises(UnsupportedError, match="which gives scores, not probabilities"):
        tagger.marginal("N", 0)


def test_a_model_that_was_written_anew_is_read_anew(tmp_path):
    """Even if the time and the size of its file are the same as before."""
    path = tmp_path / "m"
    for word in ("a", "b", "c"):
        weights = Weights(np.zeros(1, np.int32), np.ones(1, np.int32), np.full(1, 2.0))
        path.write_bytes(lcrf_bytes(ChainFile(["O", "N"], [word], weights, Weights(*(part[:0] for part in weights)))))
        os.utime(path, ns=(10**18, 10**18))
        assert opened(ours, path).tag([["a"], ["b"], ["c"]]) == ["N" if known == word else "O" for known in "abc"]


def test_a_settled_model_is_read_once(path, monkeypatch):
    later = time.time_ns() + 10**10
    monkeypatch.setattr(time, "time_ns", lambda: later)
    first, second = (opened(ours, path) for _ in range(2))
    assert first._model is second._model
    first.close()
    assert second.tag([["bias"]]) == opened(pycrfsuite, path).tag([["bias"]])
