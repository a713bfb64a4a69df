"""Warm starts: a second fit begins where the first ended, and is certified like any other."""

import numpy as np
import pytest
from sklearn.base import clone

import widemargin
from helpers import Matching
from widemargin import LinearClassifier, MultilabelClassifier, Segmenter, SequenceTagger, StructuredPredictor
from widemargin.core.contents import digests_of_parts, parts_of_rows
from widemargin.core.sparse import Rows
from widemargin.data.generators import addresses
from widemargin.errors import WidemarginError
from widemargin.tasks.plan import Plan
from widemargin.tasks.warm import digest_of

X, Y = addresses(8, seed=1)
MORE, Y_MORE = addresses(12, seed=2)
FEW = {"templates": "lower shape transition:bias", "n_jobs": 1, "warm_start": True}


def tagger(**options):
    return SequenceTagger(**FEW | options)


def refitted(estimator, X, y, **changes):
    return estimator.set_params(**changes).fit(X, y)


@pytest.mark.parametrize("solver", ["auto", "dcd", "sdm", "bcfw", "one-slack"])
def test_a_dual_solver_goes_on_from_its_cuts(solver):
    first = tagger(solver=solver, max_epochs=3, tol=None).fit(X, Y)
    dual = first.solution_.dual
    assert dual > 0.0
    again = refitted(first, X, Y, max_epochs=0)
    assert again is first
    assert again.n_iter_ == 0
    assert again.solution_.dual >= dual * (1 - 1e-9)  # that of a cold start would be 0
    further = refitted(again, X, Y, max_epochs=3)
    assert further.solution_.dual >= dual * (1 - 1e-9)
    assert further.solution_.certified


def test_it_takes_fewer_epochs_and_ends_at_the_same_optimum():
    exact = {"tol": 0.01, "max_epochs": 500}
    cold = tagger(**exact, C=0.2, warm_start=False).fit(X, Y)
    warm = refitted(tagger(**exact, C=0.1).fit(X, Y), X, Y, C=0.2)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.solution_.certified
    assert warm.solution_.primal == pytest.approx(cold.solution_.primal, rel=0.011)
    assert warm.solution_.cuts is None


@pytest.mark.parametrize("change", ["label", "weight", "objective", "loss", "C"])
def test_cuts_of_another_problem_are_not_used(change):
    """Whatever changes, the bound that is proven holds for the new problem: it is not above what is attained."""
    first = tagger(max_epochs=30, tol=1e-3).fit(X, Y)
    y, weight, options = [list(labels) for labels in Y], None, {}
    if change == "label":
        y[0][0] = y[1][0] = "O"
    if change == "weight":
        weight = np.full(len(X), 0.1)
    options = {"objective": {"objective": "positions"}, "loss": {"loss": "hinge"}, "C": {"C": 0.01}}.get(change, {})
    warm = first.set_params(**options, max_epochs=0).fit(X, y, sample_weight=weight).solution_
    cold = clone(first).set_params(max_epochs=300).fit(X, y, sample_weight=weight).solution_
    assert warm.dual is None or warm.dual <= cold.primal * (1 + 1e-9)
    assert cold.dual <= warm.primal * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_alpha_is_scaled_with_the_penalty_l1(loss):
    first = tagger(penalty="l1", loss=loss, C=1.0, max_epochs=50).fit(X, Y)
    warm = refitted(first, X, Y, C=0.01).solution_
    assert_sound(warm, clone(first).set_params(warm_start=False).fit(X, Y).solution_)


def test_digests_tell_problems_apart():
    from widemargin.tasks.tag.estimator import compile_tags
    from widemargin.tasks.training import Data

    def digest(y, **options):
        parameters = tagger(**options)
        compiled = compile_tags(parameters, Data(X, y))
        return digest_of(Plan.of(parameters).problem(compiled.examples), Plan.of(parameters).solver)

    other = [[labels[0], *labels[1:-1], "O"] for labels in Y]
    assert digest(Y) == digest([list(labels) for labels in Y], C=5.0, tol=0.5) is not None
    different = [digest(other), digest(Y, costs={"O": 2.0}), digest(Y, templates="lower"), digest(Y, loss="hinge")]
    assert len({digest(Y), *different}) == 5


@pytest.mark.parametrize(
    ("kind", "options"),
    [(SequenceTagger, {}), (SequenceTagger, {"hash_bits": 10, "templates": "lower shape"}), (Segmenter, {})],
)
@pytest.mark.parametrize("loaded", [False, True])
def test_weights_are_matched_by_names(kind, options, loaded, tmp_path):
    """Other sequences, with more features and labels: what is known keeps its weight, what is new begins at zero."""
    chosen = {"templates": "lower shape", "solver": "perceptron", "max_epochs": 3, "warm_start": True, **options}
    first = kind(**chosen).fit(X, Y)
    state, transitions = first.state_features_, first.transition_features_
    if loaded:
        first.save(tmp_path / "model.wm")
        first = widemargin.load(tmp_path / "model.wm")
        assert first.warm_start
    again = refitted(first, MORE, Y_MORE, max_epochs=0)
    known = set(again.get_feature_names_out()) if kind is SequenceTagger else None
    kept = {key: value for key, value in state.items() if known is None or key[0] in known}
    if kind is SequenceTagger:
        assert again.state_features_ == {key: v for key, v in kept.items() if key[1] in again.classes_}
    else:
        assert again.state_features_.items() <= state.items()
        assert len(again.state_features_) > 0
    assert again.transition_features_ == {
        pair: weight for pair, weight in transitions.items() if set(pair) <= set(again.classes_)
    }
    assert set(again.classes_) == {label for y in Y_MORE for label in y} or kind is Segmenter


def test_classifiers():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.array(["a", "b", "c", "d"] * 10)
    options = {"warm_start": True, "solver": "perceptron", "max_epochs": 5, "intercept_scaling": 2.0}
    first = LinearClassifier(**options).fit(X, y)
    before = dict(zip(first.classes_, np.column_stack([first.coef_, first.intercept_]), strict=True))
    few = y != "a"
    again = refitted(first, X[few], np.where(y[few] == "b", "e", y[few]), max_epochs=0)
    after = dict(zip(again.classes_, np.column_stack([again.coef_, again.intercept_]), strict=True))
    assert list(after) == ["c", "d", "e"]
    assert np.array_equal(after["c"], before["c"])
    assert not after["e"].any()
    sets = (rng.random((40, 3)) < 0.5).astype(int)
    many = MultilabelClassifier(**options).fit(X, sets)
    pairs = many.model_.pairs.copy()
    assert np.array_equal(refitted(many, X[:20], sets[:20], max_epochs=0).model_.pairs, pairs)


def test_latent_problems_begin_with_the_completions_of_the_last_model():
    y = [[None if t == 1 else label for t, label in enumerate(labels)] for labels in Y]
    first = tagger(max_epochs=100, max_rounds=2).fit(X, y)
    objective = first.solution_.primal
    assert refitted(first, X, y).solution_.primal <= objective * (1 + first.tol)


def test_other_structures_need_the_same_weights():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(2, 2, 4)) for _ in range(4)]
    y = [Matching().decode(x, np.array([1.0, -1.0, 0.5, 0.0])) for x in X]
    first = StructuredPredictor(Matching(), warm_start=True, solver="perceptron", max_epochs=2).fit(X, y)
    w = first.solution_.w.copy()
    assert np.array_equal(refitted(first, X, y, max_epochs=0).solution_.w, w)
    with pytest.raises(WidemarginError, match="warm_start cannot go on from the last model: it has 0 labels and 4 w"):
        first.fit([x[..., :3] for x in X], y)


def test_a_cold_start_knows_nothing_of_the_last_run():
    first = tagger(max_epochs=3, tol=None).fit(X, Y)
    cold = clone(first).set_params(warm_start=False)
    assert np.array_equal(refitted(first, X, Y, warm_start=False).solution_.w, cold.fit(X, Y).solution_.w)
    assert first._warm is None
    assert cold.fit(X, Y).n_iter_ == 3


GROWN = {"max_epochs": 200, "tol": 0.02, "random_state": 0}
ALL, Y_ALL = [*X, *MORE], [*Y, *Y_MORE]


def assert_sound(warm, cold):
    """The bound that was proven holds at the weights that another run found, and the other way round."""
    assert warm.dual <= cold.primal * (1 + 1e-9)
    assert cold.dual <= warm.primal * (1 + 1e-9)


def grown(estimator, old, new):
    """D of a fit on `old`, and the solutions that a fit on `new` then begins and ends with; both are sound."""
    fitted = estimator.fit(*old)
    end = fitted.solution_.dual
    begun = clone(fitted).set_params(warm_start=True)
    begun.__dict__.update({name: value for name, value in vars(fitted).items() if name not in begun.get_params()})
    start = begun.set_params(max_epochs=0).fit(*new).solution_
    fitted.fit(*new)
    cold = clone(estimator).set_params(warm_start=False, solver="auto", loss=Plan.of(estimator).loss, tol=1e-3)
    cold = cold.fit(*new).solution_
    assert_sound(start, cold)
    assert_sound(fitted.solution_, cold)
    return end, start, fitted.solution_


@pytest.mark.parametrize("solver", ["auto", "dcd", "sdm", "bcfw"])
@pytest.mark.parametrize("objective", ["margin", "positions", "slack"])
def test_examples_that_are_still_there_keep_their_cuts(solver, objective):
    """New examples have new features and labels among the old ones, and all come in another order."""
    order = np.random.default_rng(0).permutation(len(ALL)).tolist()
    new = [ALL[k] for k in order], [Y_ALL[k] for k in order]
    end, start, warm = grown(tagger(solver=solver, objective=objective, **GROWN), (X, Y), new)
    assert start.dual >= end * (1 - 1e-9)  # whatever is added, the least P does not fall, nor does D
    assert warm.certified


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", ["tags", "segments", "classes", "sets"])
def test_every_structure_with_names_keeps_cuts(kind, loss):
    rng = np.random.default_rng(0)
    rows, classes = rng.normal(size=(60, 4)), rng.integers(3, size=60)
    options = {"loss": loss, "warm_start": True, "n_jobs": 1, **GROWN}
    estimator, X_all, y_all = {
        "tags": (tagger(**options), ALL, Y_ALL),
        "segments": (Segmenter(templates="lower shape", segment_features=(), **options), ALL, Y_ALL),
        "classes": (LinearClassifier(solver="sdm", **options), rows, classes),
        "sets": (MultilabelClassifier(solver="sdm", **options), rows, (rng.random((60, 3)) < 0.5).astype(int)),
    }[kind]
    n = len(X_all) * 3 // 4
    end, start, warm = grown(estimator, (X_all[:n], y_all[:n]), (X_all, y_all))
    assert start.dual >= end * (1 - 1e-9)
    assert warm.certified


@pytest.mark.parametrize(
    "change", ["label", "word", "removed", "min_count", "new label", "duplicates", "weights", "costs", "hashed", "C"]
)
def test_no_cut_of_a_changed_example_is_used(change):
    """Whatever changes, the bound that is proven holds for the new problem."""
    X_new, y_new, weights, options = [list(x) for x in ALL], [list(labels) for labels in Y_ALL], {}, {}
    estimator = tagger(**GROWN, **{"min_count": {"min_count": 2}, "hashed": {"hash_bits": 8}}.get(change, {}))
    old = (X, Y)
    if change == "label":
        for labels in y_new[::2]:
            labels[0] = "O"
    elif change == "word":
        for x in X_new[::2]:
            x[0] = x[-1]
    elif change == "removed":
        X_new, y_new = X_new[4:], y_new[4:]
    elif change == "new label":
        y_new[-1][0] = "B-new"
    elif change == "duplicates":
        old, X_new, y_new = ([*X, *X[:3]], [*Y, *Y[:3]]), [*X_new, X[0]], [*y_new, Y[0]]
    elif change == "weights":
        weights = {"sample_weight": np.linspace(0.0, 2.0, len(X_new))}
    elif change == "costs":
        options = {"costs": {"O": 2.0}}
    elif change == "C":
        options = {"C": 0.02}
    for loss in ("hinge", "squared_hinge"):
        first = clone(estimator).set_params(loss=loss).fit(*old)
        first.set_params(**options)
        cold = clone(first).set_params(warm_start=False, tol=1e-3)
        cold = cold.fit(X_new, y_new, **weights).solution_
        for epochs in (0, 200):
            assert_sound(first.set_params(max_epochs=epochs).fit(X_new, y_new, **weights).solution_, cold)


def test_digests_of_examples_do_not_depend_on_numbers():
    """Features in another order, with other numbers, and ones written out: the same examples."""
    indptr, places = np.array([0, 2, 4]), np.array([0, 1, 2])
    plain = digests_of_parts([], *parts_of_rows(places, Rows(indptr, np.array([0, 1, 1, 2]), np.empty(0))))
    moved = Rows(indptr, np.array([4, 3, 0, 3]), np.array([1.0, 1.0, 1.0, 1.0]))
    numbers = np.array([2, -1, -1, 1, 0])
    assert digests_of_parts([], *parts_of_rows(places, moved, numbers)) == plain
    other = moved._replace(values=np.array([1.0, 1.0, 1.0, 2.0]))
    first, second = digests_of_parts([], *parts_of_rows(places, other, numbers))
    assert (first == plain[0], second == plain[1]) == (True, False)
    new = digests_of_parts([], *parts_of_rows(places, moved, np.array([2, -1, -1, 1, -1])))
    assert (new[0] == plain[0], new[1] == plain[1]) == (False, True)


def test_planes_go_on_from_the_cuts_of_single_examples():
    first = tagger(solver="one-slack", **GROWN).fit(X, Y)
    dual = first.solution_.dual
    warm = refitted(first, ALL, Y_ALL, max_epochs=1).solution_
    cold = clone(first).set_params(warm_start=False).fit(ALL, Y_ALL).solution_
    assert warm.dual > dual / 2  # of a cold start's first epoch it is far less
    assert warm.dual <= cold.primal * (1 + 1e-9)


@pytest.mark.parametrize(("n", "share"), [(200, 0.25), (153, 0.6)])
def test_more_examples_take_a_share_of_the_calls(n, share):
    """Summed over some data, since a pass that just fails to prove the gap is a large part of so few calls."""
    options, calls = {"templates": "lower shape", "n_jobs": 1, "random_state": 0}, np.zeros(2)
    for seed in (3, 4, 5):
        X, y = addresses(204, seed=seed)
        cold = SequenceTagger(**options).fit(X, y).solution_
        warm = SequenceTagger(**options, warm_start=True).fit(X[:n], y[:n]).fit(X, y).solution_
        assert warm.certified
        assert_sound(warm, cold)
        calls += warm.oracle_calls, cold.oracle_calls
    assert calls[0] <= share * calls[1]
