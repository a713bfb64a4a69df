"""Parts of the data, compiled with the survey of all of them and trained together, are the problem of one machine."""

from dataclasses import replace
from functools import partial, reduce

import numpy as np
import pytest

from widemargin import (
    ConstituencyParser,
    DependencyParser,
    GraphLabeler,
    LinearClassifier,
    MultilabelClassifier,
    Ranker,
    Segmenter,
    SequenceTagger,
    StructuredPredictor,
    Summariser,
)
from widemargin.core.loop import fit
from widemargin.data.generators import addresses
from widemargin.data.treebanks import treebank
from widemargin.errors import DataError, UnsupportedError
from widemargin.parts import part_of, rounds_of
from widemargin.parts.problem import PartedProblem
from widemargin.parts.team import LocalCarrier, Team
from widemargin.tasks import estimators
from widemargin.tasks.plan import Plan
from widemargin.tasks.survey import Survey
from widemargin.tasks.training import Data

TEXTS, TAGS = addresses(30, seed=3)
BANK = treebank(24, seed=1)
SENTENCES = BANK.columns.sequences("word")
RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(40, 3)) + 2.0 * np.eye(3)[np.arange(40) % 3]
QUERIES = [RNG.normal(size=(4, 3)) for _ in range(12)]
GRADES = [[int(score > 0.5) for score in query[:, 0]] for query in QUERIES]
GRAPHS = [(RNG.normal(size=(n, 2)), [(v, v + 1) for v in range(n - 1)]) for n in (4, 3, 5) * 4]
NODES = [["up" if x[0] > 0 else "down" for x in nodes] for nodes, _ in GRAPHS]
TREES = [
    "(S (NP (N dogs)) (VP (V bark)))",
    "(S (NP (A big) (N dogs)) (VP (V sleep)))",
    "(S (VP (V go) (R on) (R now)))",
]
WORDS = [
    (["dogs", "bark"], ["N", "V"]),
    (["big", "dogs", "sleep"], ["A", "N", "V"]),
    (["go", "on", "now"], ["V", "R", "R"]),
]
TOPICS = [
    [["The hotel is old.", "The staff is very friendly.", "We had lunch.", "Staff is very friendly here."]],
    [["The food is good.", "The food is very good here.", "We like it.", "It rains."]],
]
REFERENCES = [["Very friendly staff, and the staff is kind."], ["The food is very good indeed."]]


class Sign:
    """Whether a number is above a threshold: φ = y (x, 1)."""

    def features(self, x, y):
        return {0: y * x, 1: float(y)}

    def error(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w, y=None):
        return max((-1, 1), key=lambda each: each * (w[0] * x + w[1]) + (y is not None and each != y))


CASES = {
    "tag": (SequenceTagger(templates=["word", "suffix2"], class_weight="balanced", min_count=2), TEXTS, TAGS),
    "segment": (Segmenter(templates=["word", "suffix2"]), TEXTS, TAGS),
    "parse": (DependencyParser(hash_bits=12, tags="given"), SENTENCES, BANK.arcs),
    "bracket": (ConstituencyParser(hash_bits=12, tags="given", C=0.1), WORDS * 3, TREES * 3),
    "classes": (LinearClassifier(class_weight="balanced"), MATRIX, np.array(["a", "b", "c"])[np.arange(40) % 3]),
    "sets": (MultilabelClassifier(), MATRIX, [["x"] * (k % 2) + ["y"] * (k % 3 > 0) for k in range(40)]),
    "rank": (Ranker(measure="pairs"), QUERIES, GRADES),
    "graph": (GraphLabeler(class_weight="balanced"), GRAPHS, NODES),
    "summarise": (Summariser(), TOPICS * 2, REFERENCES * 2),
    "custom": (StructuredPredictor(Sign()), [-2.0, -1.0, 1.0, 2.0, 3.0, -3.0], [-1, -1, 1, 1, 1, -1]),
}
NO_SURVEY = {"CoreferenceResolver", "MotifFinder"}


def kind_of(estimator):
    return estimators()[type(estimator).__name__]


def cut(X, y, n_parts):
    return [Data(X[k::n_parts], y[k::n_parts]) for k in range(n_parts)]


def surveyed(estimator, pieces):
    each = partial(kind_of(estimator).survey, estimator)
    return reduce(Survey.merged, map(each, pieces))


def in_parts(estimator, pieces):
    """The solution of rounds over the pieces."""
    kind, survey = kind_of(estimator), surveyed(estimator, pieces)
    plan = Plan.of(estimator)

    def make(k):
        compiled = kind.compile(estimator, pieces[k], survey=survey)
        return part_of(plan.problem(compiled.examples, compiled.sample_weight), plan.solver, k)

    team = Team(LocalCarrier([partial(make, k) for k in range(len(pieces))]))
    team.start(lambda: None)
    problem = PartedProblem(team, plan.objective, plan.C, plan.loss)
    return fit(problem, rounds_of(plan.solver), stop=plan.stop, seed=0)


@pytest.mark.parametrize("name", CASES)
def test_the_optimum_of_one_machine(name):
    estimator, X, y = CASES[name]
    estimator.set_params(n_jobs=1, tol=0.02, max_epochs=300)
    pieces = cut(X, y, 3 if len(X) > 4 else 2)
    found, alone = in_parts(estimator, pieces), estimator.fit(X, y).solution_
    assert found.stopped == "gap"
    assert len(found.w) == len(alone.w)
    assert found.dual <= alone.primal * (1 + 1e-9)
    assert alone.dual <= found.primal * (1 + 1e-9)


def test_every_task_but_those_that_always_hide_something_has_a_survey():
    assert {name for name, kind in estimators().items() if not kind.survey} == NO_SURVEY


def test_one_part_compiles_like_one_machine():
    """The survey of all data in one part: the same features with the same names, in the same order."""
    for name in ("tag", "segment"):
        estimator, X, y = CASES[name]
        kind, data = kind_of(estimator), Data(X, y)
        whole = kind.compile(estimator, data)
        part = kind.compile(estimator, data, survey=surveyed(estimator, [data]))
        w = np.random.default_rng(0).normal(size=whole.examples.n_weights)
        assert part.examples.n_weights == len(w)
        plan = Plan.of(estimator)
        assert plan.problem(part.examples).primal(w) == plan.problem(whole.examples).primal(w)


@pytest.mark.parametrize("name", ["tag", "segment"])
def test_parts_number_features_as_one_machine_does(name):
    """However the data are cut: by falling count, then by key."""
    estimator, X, y = CASES[name]
    compile_, whole = kind_of(estimator).compile, estimator.set_params(max_epochs=1).fit(X, y).model_
    for n_parts in (2, 5):
        pieces = cut(X, y, n_parts)
        survey = surveyed(estimator, pieces)
        for piece in pieces:
            made = compile_(estimator, piece, survey=survey)
            part = made.model(replace(estimator.solution_, w=np.ones(made.examples.n_weights)), {})
            assert part.extractor.names() == whole.extractor.names()
            assert part.labels == whole.labels


def test_trees_with_different_tops():
    """A label that is on top of all trees of one part only is no root of the whole."""
    estimator, X, y = ConstituencyParser(hash_bits=12, tags="given", n_jobs=1, tol=0.02, max_epochs=300), WORDS, TREES
    topped = [f"(TOP {tree})" for tree in y]
    pieces = [Data(X, topped), Data(X, y)]
    found, alone = in_parts(estimator, pieces), estimator.fit(X + X, topped + y).solution_
    assert found.dual <= alone.primal * (1 + 1e-9)
    assert alone.dual <= found.primal * (1 + 1e-9)


def test_clusters_of_records():
    """Approximate decoders have no certificate; the features are those of one machine."""
    from widemargin import Clusterer

    X = [["J. Smith", "Smith, John", "A. Wu"], ["Wu", "A. Wu", "John Smith", "J Smith", "I. Berg"]] * 2
    y = [["smith", "smith", "wu"], [1, 1, 2, 2, 3]] * 2
    estimator = Clusterer(decoder="correlation")
    kind, pieces = kind_of(estimator), cut(X, y, 2)
    survey = surveyed(estimator, pieces)
    whole = kind.compile(estimator, Data(X, y))
    parts = [kind.compile(estimator, piece, survey=survey) for piece in pieces]
    names = [each.model.args[0].names() for each in (whole, *parts)]
    assert sorted(names[0]) == sorted(names[1]) == sorted(names[2])
    assert names[1] == names[2]
    with pytest.raises(DataError, match=r"differ in their fields \(name them: fields=…\)"):
        surveyed(estimator, [Data([[{"a": "x"}, {"a": "y"}]], [[0, 1]]), Data([[{"b": "x"}, {"b": "y"}]], [[0, 1]])])


def test_what_surveys_refuse():
    for estimator, X, y, said in (
        (SequenceTagger(), [["a", "b"]], [["A", None]], "some labels are unknown"),
        (Segmenter(), [["a", "b"]], [["B-x", None]], "some labels are unknown"),
        (Ranker(measure="ndcg"), QUERIES, GRADES, "measure='ndcg'"),
    ):
        with pytest.raises(UnsupportedError, match=f"{said}.*: latent variables are learnt on one machine only"):
            surveyed(estimator, [Data(X, y)])
    wide, narrow = Data(MATRIX, np.arange(40) % 2), Data(MATRIX[:, :2], np.arange(40) % 2)
    estimator = LinearClassifier()
    survey = surveyed(estimator, [wide, narrow])
    with pytest.raises(DataError, match="a part of X has 2 columns, but another has 3"):
        kind_of(estimator).compile(estimator, narrow, survey=survey)
    with pytest.raises(DataError, match="differ in their kind of labels: 'int' and 'str'"):
        surveyed(estimator, [wide, Data(MATRIX, np.array(["a", "b"])[np.arange(40) % 2])])
