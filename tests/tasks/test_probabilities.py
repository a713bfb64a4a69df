"""Probabilities, expected counts and outputs of minimum risk, against all outputs of short inputs, one by one."""

import json
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner

import widemargin
from helpers.trees import trees
from widemargin import DependencyParser, LinearClassifier, MultilabelClassifier, Segmenter, SequenceTagger
from widemargin.cli.commands import main
from widemargin.errors import DataError, UnsupportedError
from widemargin.tasks.answers import objective_of
from widemargin.tasks.constraints import Constraints
from widemargin.text.trees import Arc

pytestmark = pytest.mark.interpreted

WORDS = [["in", "New", "York", "now"], ["from", "Rome"], ["York", "now"]] * 2
LABELS = [["O", "B-city", "I-city", "O"], ["O", "B-city"], ["B-name", "O"]] * 2
FEW = {"templates": "word", "max_epochs": 4, "C": 0.3}


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(objective="likelihood", **FEW).fit(WORDS, LABELS)


@pytest.fixture(scope="module")
def segmenter():
    return Segmenter(objective="likelihood", segment_features=["lower"], **FEW).fit(WORDS, LABELS)


def weighed(estimator, X, **options):
    """All outputs of one input, and their probabilities."""
    (every,) = estimator.predict_best([X], 10**4, **options)
    weights = np.exp([each.score for each in every])
    return [each.output for each in every], weights / weights.sum()


def test_labels_of_tokens(tagger):
    outputs, p = weighed(tagger, WORDS[0])
    assert len(outputs) == 4 ** len(WORDS[0])
    expected = np.array([[p @ [y[t] == label for y in outputs] for label in tagger.classes_] for t in range(4)])
    (found,) = tagger.predict_proba(WORDS[:1])
    assert np.allclose(found, expected, atol=1e-12)
    assert np.allclose(tagger.expected_counts(WORDS[:1]), expected.sum(axis=0))
    errors = [p @ [sum(map(str.__ne__, y, other)) for other in outputs] for y in outputs]
    assert tagger.predict_minimum_risk(WORDS[:1]) == [outputs[int(np.argmin(errors))]]


def test_labels_under_constraints(tagger):
    constraints = Constraints(forbidden=[("O", "I-city")], allowed=[[None, {"O", "I-city"}, None, None]])
    outputs, p = weighed(tagger, WORDS[0], constraints=constraints)
    expected = np.array([[p @ [y[t] == label for y in outputs] for label in tagger.classes_] for t in range(4)])
    assert np.allclose(tagger.predict_proba(WORDS[:1], constraints=constraints), expected, atol=1e-12)
    impossible = Constraints(forbidden=[("O", "I-city")], allowed=[[{"O"}, {"I-city"}, None, None]])
    with pytest.raises(DataError, match="sequence 0"):
        tagger.predict_proba(WORDS[:1], constraints=impossible)


def test_segments(segmenter):
    outputs, p = weighed(segmenter, WORDS[0])
    every = {span for y in outputs for span in y}
    expected = {span: float(p @ [span in y for y in outputs]) for span in every}
    (found,) = segmenter.span_proba(WORDS[:1], least=0.0)
    likely = {tuple(span[:3]): span.confidence for span in found if span.confidence > 0}
    assert likely == pytest.approx({tuple(span): value for span, value in expected.items()}, abs=1e-12)
    (probable,) = segmenter.span_proba(WORDS[:1], least=0.2)
    assert {tuple(span[:3]) for span in probable} == {key for key, value in likely.items() if value >= 0.2}
    (tokens,) = segmenter.predict_proba(WORDS[:1])
    for t in range(4):
        for k, label in enumerate(segmenter.classes_):
            inside = sum(value for span, value in expected.items() if span.type == label and span.start <= t < span.end)
            assert label == "O" or tokens[t, k] == pytest.approx(inside, abs=1e-12)
    assert np.allclose(tokens.sum(axis=1), 1.0)
    counts = segmenter.expected_counts(WORDS[:1])[0]
    for k, label in enumerate(segmenter.classes_):
        of_label = sum(value for span, value in expected.items() if span.type == label)
        assert label == "O" or counts[k] == pytest.approx(of_label, abs=1e-12)
    errors = [p @ [len(set(y) ^ set(other)) for other in outputs] for y in outputs]
    assert segmenter.predict_minimum_risk(WORDS[:1]) == [outputs[int(np.argmin(errors))]]


def test_segmentations_without_anything_outside():
    """Every token is in a segment, likely or not."""
    X, y = [["a", "b", "c"], ["b", "c"]] * 2, [["B-x", "I-x", "B-y"], ["B-x", "B-y"]] * 2
    segmenter = Segmenter(objective="likelihood", **FEW).fit(X, y)
    assert "O" not in segmenter.classes_
    outputs, p = weighed(segmenter, X[0])
    errors = [p @ [len(set(one) ^ set(other)) for other in outputs] for one in outputs]
    (found,) = segmenter.predict_minimum_risk(X[:1])
    assert errors[outputs.index(found)] == pytest.approx(min(errors))


SENTENCE = [{"word": word, "upos": upos} for word, upos in [("a", "DET"), ("dog", "NOUN"), ("barks", "VERB")]]


@pytest.fixture(scope="module", params=[("projective", 1), ("projective", 2), ("nonprojective", 1)], ids=str)
def parser(request):
    decoder, order = request.param
    X = [SENTENCE, SENTENCE[1:], [*SENTENCE, SENTENCE[1]]]
    y = [
        [(2, "left"), (3, "left"), (0, "right")],
        [(2, "left"), (0, "left")],
        [(2, "left"), (3, "left"), (0, "right"), (3, "right")],
    ]
    templates = {
        "arc_templates": ["head:upos|modifier:upos", "modifier:upos|between:upos"],
        "label_templates": ["modifier:upos|direction", "head:upos|modifier:upos"],
        "sibling_templates": ["sibling:upos|modifier:upos"] if order == 2 else None,
    }
    options = {"decoder": decoder, "order": order, "hash_bits": 8, "max_epochs": 2, "C": 0.1, "tags": "given"}
    return DependencyParser(objective="likelihood", **templates, **options).fit(X, y)


def test_heads(parser):
    """The score of a tree is how far it is from another one, taken for gold."""
    model, n_labels = parser.model_, len(parser.classes_)
    examples, batch = model.examples([SENTENCE]), np.zeros(1, dtype=np.int32)
    gold = examples.decode(model.w, batch)
    examples.gold = examples.costs.gold = gold
    every = trees(3, single_root=model.trees.single_root, projective=model.trees.decoder == "projective")
    codes = np.array([heads * n_labels + y for heads in every for y in product(range(n_labels), repeat=3)]).ravel()
    repeated, codes = np.zeros(len(codes) // 3, dtype=np.int32), codes.astype(np.int32)
    psi = examples.difference(repeated, codes).psi
    scores = [-psi.values[i:j] @ model.w[psi.indices[i:j]] for i, j in zip(psi.indptr, psi.indptr[1:], strict=False)]
    p = np.exp(scores) / np.exp(scores).sum()
    heads, labels = np.divmod(codes.reshape(-1, 3), n_labels)
    expected = np.zeros((3, 4, n_labels))
    for m in range(3):
        np.add.at(expected[m], (heads[:, m], labels[:, m]), p)
    order = [model.labels.index(label) for label in parser.classes_]
    (found,) = parser.predict_proba([SENTENCE], labelled=True)
    assert np.allclose(found, expected[..., order], atol=1e-12)
    assert np.allclose(parser.predict_proba([SENTENCE])[0], expected.sum(axis=2), atol=1e-12)
    assert np.allclose(parser.expected_counts([SENTENCE]), expected.sum(axis=(0, 1))[order])
    right = [sum(expected[m, h[m], y[m]] for m in range(3)) for h, y in zip(heads, labels, strict=True)]
    (least,) = parser.predict_minimum_risk([SENTENCE])
    of_least = sum(expected[m, arc.head, model.labels.index(arc.label)] for m, arc in enumerate(least))
    assert all(isinstance(arc, Arc) for arc in least)
    assert of_least == pytest.approx(max(right), abs=1e-12)


def test_sentences_without_tokens(parser):
    assert [each.shape for each in parser.predict_proba([[], SENTENCE])] == [(0, 1), (3, 4)]
    assert parser.predict_minimum_risk([[]]) == [[]]


def test_classes():
    X, y = [[0.0, 1.0], [0.5, 1.0], [2.0, 0.0]], ["cat", "cat", "dog"]
    classifier = LinearClassifier(objective="likelihood").fit(X, y)
    odds = np.exp(classifier.decision_function(X))
    assert np.allclose(classifier.predict_proba(X)[:, 1], odds / (1 + odds))
    assert not hasattr(LinearClassifier().fit(X, y), "predict_proba")
    assert classifier.model_.likely(X)[0]["probabilities"].keys() == {"cat", "dog"}


@pytest.mark.parametrize("pairwise", [True, False])
def test_sets_of_labels(pairwise):
    X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [["salty"], ["sweet"], ["salty", "sweet"]]
    classifier = MultilabelClassifier(objective="likelihood", pairwise=pairwise).fit(X, y)
    model = classifier.model_
    examples, batch = model.examples(X), np.arange(3, dtype=np.int32)
    scores = examples.scored(model.w, batch).scores
    single, pair = scores.own.reshape(3, 2), scores.shared.sum() if pairwise else 0.0
    sets = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    weights = np.exp(single @ sets.T + [pair * a * b for a, b in sets])
    assert np.allclose(classifier.predict_proba(X), weights @ sets / weights.sum(axis=1, keepdims=True))
    risk = [list(np.array(model.labels)[row > 0.5]) for row in classifier.predict_proba(X)]
    assert model.predict_minimum_risk(X) == risk


def test_models_without_probabilities_say_so():
    margin = SequenceTagger(**FEW).fit(WORDS, LABELS)
    for question in (margin.predict_proba, margin.predict_minimum_risk, margin.expected_counts):
        with pytest.raises(UnsupportedError, match="was trained with the objective margin, which gives scores, not"):
            question(WORDS)


def test_objectives_of_older_models():
    assert objective_of({"parameters": {"solver": "crf(memory=3)", "objective": None}}) == "likelihood"
    assert objective_of({"parameters": {"solver": "auto", "objective": "slack"}}) == "slack"
    assert objective_of({}) == "margin"


def run(*arguments):
    return CliRunner().invoke(main, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tagger, segmenter, parser):
    folder = tmp_path_factory.mktemp("probabilities")
    for name, estimator in (("tag", tagger), ("segment", segmenter), ("parse", parser)):
        estimator.save(folder / f"{name}.wm")
    SequenceTagger(**FEW).fit(WORDS, LABELS).save(folder / "margin.wm")
    (folder / "new.tsv").write_text("in\nNew\nYork\n\nfrom\nRome\n", encoding="utf-8")
    (folder / "new.conllu").write_text(
        "".join(f"{t}\t{token['word']}\t_\t{token['upos']}\t_\t_\t_\t_\t_\t_\n" for t, token in enumerate(SENTENCE, 1))
        + "\n",
        encoding="utf-8",
    )
    return folder


@pytest.mark.parametrize("name", ["tag", "segment", "parse"])
def test_on_the_command_line(folder, name):
    file = folder / ("new.conllu" if name == "parse" else "new.tsv")
    columns = [] if name == "parse" else ["--columns", "word"]
    done = run("predict", folder / f"{name}.wm", file, "--probabilities", *columns)
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.output.splitlines()]
    loaded = widemargin.load(folder / f"{name}.wm")
    if name == "tag":
        assert lines[1]["tokens"] == ["from", "Rome"]
        (rows,) = loaded.predict_proba([["from", "Rome"]])
        for told, row in zip(lines[1]["probabilities"], rows, strict=True):
            assert told == pytest.approx({k: p for k, p in zip(loaded.classes_, row, strict=True) if p >= 0.01})
    elif name == "segment":
        (spans,) = loaded.span_proba([["from", "Rome"]])
        assert [each["probability"] for each in lines[1]["spans"]] == pytest.approx([s.confidence for s in spans])
    else:
        (rows,) = loaded.predict_proba([SENTENCE], labelled=True)
        best = lines[0]["heads"][0][0]
        assert best["probability"] == pytest.approx(rows[0].max())
    done = run("predict", folder / f"{name}.wm", file, "--minimum-risk", *columns)
    assert done.exit_code == 0, done.output
    assert len(done.output.splitlines()) == len(file.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("margin", ["--probabilities"], "was trained with the objective margin"),
        ("margin", ["--minimum-risk"], "was trained with the objective margin"),
        ("tag", ["--minimum-risk", "--bio"], "cannot keep constraints"),
        ("tag", ["--minimum-risk", "--best", "2"], "stand alone"),
        ("tag", ["--probabilities", "--minimum-risk"], "stand alone"),
    ],
)
def test_refused_on_the_command_line(folder, model, options, message):
    done = run("predict", folder / f"{model}.wm", folder / "new.tsv", "--columns", "word", *options)
    assert done.exit_code != 0
    assert message in " ".join(done.output.split())
