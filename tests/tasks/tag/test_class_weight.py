"""Weights of labels: what they mean for the objective, by enumeration of all label sequences."""

from itertools import product

import numpy as np
import pytest

from widemargin import SequenceTagger
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.training import Data

pytestmark = pytest.mark.interpreted

X = [["a", "b"], ["b"], ["a", "a", "c"], ["c", "b"]]
Y = [["A", "B"], ["B"], ["A", "A", "C"], ["A", "B"]]
COUNTS = {"A": 4, "B": 3, "C": 1}
BALANCED = {label: 8 / (3 * count) for label, count in COUNTS.items()}


def tagger(**options):
    return SequenceTagger(**{"templates": "word", "n_jobs": 1, **options})


def compiled(**options):
    return compile_tags(tagger(**options), Data(X, Y))


@pytest.mark.parametrize("class_weight", [{"A": 3.0, "C": 0.5}, "balanced", {"B": 0.0}])
@pytest.mark.parametrize("costs", [None, {("A", "B"): 2.5, "C": 4.0}])
def test_the_objective_is_the_one_with_weighted_errors(class_weight, costs):
    """P(w) = ½‖w‖² + C Σ_i max_y (Σ_t weight[gold_t] cost[gold_t, y_t] − ⟨w, ψ_i(y)⟩)² over all label sequences."""
    weight = BALANCED if class_weight == "balanced" else {"A": 1.0, "B": 1.0, "C": 1.0} | class_weight
    found = compiled(class_weight=class_weight, costs=costs)
    labels, examples = found.labels, found.examples

    def cost(gold, other):
        usual = {("A", "B"): 2.5}.get((gold, other), 4.0 if gold == "C" else 1.0) if costs else 1.0
        return 0.0 if gold == other else weight[gold] * usual

    problem = Plan.of(tagger(C=0.7)).problem(examples)
    w = np.random.default_rng(0).normal(size=problem.n_weights)
    total = 0.5 * w @ w
    for i, gold in enumerate(Y):
        worst = 0.0
        for output in product(range(len(labels)), repeat=len(gold)):
            y = np.array(output, dtype=np.int32)
            errors, psi = examples.difference(np.array([i], dtype=np.int32), y)
            error = sum(cost(g, labels[k]) for g, k in zip(gold, output, strict=True))
            assert errors[0] == pytest.approx(error)
            worst = max(worst, error - psi.values @ w[psi.indices])
        total += 0.7 * worst**2
    assert problem.primal(w) == pytest.approx(total)


def test_weights_of_labels_are_costs_of_their_errors():
    weighted = tagger(class_weight={"A": 3.0, "C": 0.5}).fit(X, Y)
    costly = tagger(costs={"A": 3.0, "C": 0.5}).fit(X, Y)
    assert np.array_equal(weighted.solution_.w, costly.solution_.w)
    balanced = tagger(class_weight="balanced").fit(X, Y)
    np.testing.assert_allclose(balanced.solution_.w, tagger(class_weight=BALANCED).fit(X, Y).solution_.w)


def test_sample_weights_and_unknown_labels_count_in_the_balance():
    weight = [2.0, 1.0, 0.5, 0.0]
    counts = {"A": 2.0 + 1.0, "B": 3.0, "C": 0.5}
    expected = {label: 6.5 / (3 * count) for label, count in counts.items()}
    found = tagger(class_weight="balanced").fit(X, Y, sample_weight=weight)
    by_hand = tagger(class_weight=expected).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(found.solution_.w, by_hand.solution_.w)
    known = [[None, "B"], ["B"], ["A", {"A", "C"}, "C"], ["A", "B"]]
    costs = compile_tags(tagger(class_weight="balanced"), Data(X, known)).examples.costs.costs
    order = compile_tags(tagger(), Data(X, known)).labels
    rows = {label: costs[k].max() for k, label in enumerate(order)}
    assert rows == pytest.approx({label: 6 / (3 * n) for label, n in {"A": 2, "B": 3, "C": 1}.items()})


def test_rare_labels_are_found_more_often():
    tokens, labels = [["x"]] * 10, [["often"]] * 7 + [["rare"]] * 3
    assert tagger().fit(tokens, labels).predict([["x"]]) == [["often"]]
    assert tagger(class_weight={"rare": 4.0}).fit(tokens, labels).predict([["x"]]) == [["rare"]]
    soft = tagger(class_weight={"rare": 4.0}, objective="softmax-margin").fit(tokens, labels)
    plain = tagger(objective="softmax-margin").fit(tokens, labels)
    rare = soft.classes_.tolist().index("rare")
    assert soft.predict_proba([["x"]])[0][0, rare] > plain.predict_proba([["x"]])[0][0, rare]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"class_weight": {"Z": 1.0}}, DataError, "class_weight names the class 'Z', which the training data do not"),
        ({"class_weight": {"A": -1.0}}, DataError, r"class_weight\['A'\] is -1.0; weights are finite and not negative"),
        ({"class_weight": {"A": np.nan}}, DataError, r"class_weight\['A'\] is nan"),
        ({"class_weight": "even"}, DataError, "class_weight must be a dict, 'balanced' or None, not 'even'"),
        ({"class_weight": "balanced", "solver": "crf"}, UnsupportedError, "the objective likelihood takes no account"),
        ({"class_weight": "balanced", "solver": "perceptron"}, UnsupportedError, r"Perceptron\(.*\) takes no account"),
    ],
)
def test_weights_without_effect_or_sense_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        tagger(**options).fit(X, Y)


def test_pieces_need_weights_that_are_known():
    with pytest.raises(WidemarginError, match="'balanced' needs all data at once"):
        tagger(solver="mira", class_weight="balanced").partial_fit(X, Y)
    tagger(solver="mira", class_weight={"A": 2.0}).partial_fit(X, Y)
