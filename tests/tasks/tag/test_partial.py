"""Labels known in part: against enumeration, and from files and lists to models."""

from dataclasses import replace
from itertools import chain, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import widemargin
from helpers import as_dicts, random_chain
from helpers.chains import chains, weights
from widemargin.core.examples import FirstCompletions, Latent, Uncertain
from widemargin.core.latent import fit_latent
from widemargin.core.loop import Stop
from widemargin.core.problem import Problem
from widemargin.errors import DataError
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import Auto
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.tag.features import ChainExamples, PartialChainExamples
from widemargin.tasks.training import Data


class PlainPartial:
    """A `PlainChain` of whose gold labels only sets are seen; everything is enumerated."""

    def __init__(self, model, sets):
        self.model, self.sets = model, sets

    def cost(self, i, labels):
        return sum(
            min(self.model.cost(a, label) for a in allowed) for allowed, label in zip(self.sets[i], labels, strict=True)
        )

    def completions(self, i):
        return [list(labels) for labels in product(*self.sets[i])]

    def compiled(self):
        base, L = self.model.compiled(), self.model.n_labels
        flat = [tuple(sorted(each)) for sets in self.sets for each in sets]
        distinct = list(dict.fromkeys(each for each in flat if len(each) > 1))
        known = [each[0] if len(each) == 1 else L + distinct.index(each) for each in flat]
        rows = np.array([[label in each for label in range(L)] for each in distinct], dtype=bool).reshape(-1, L)
        return PartialChainExamples(
            base.shape,
            base.indptr,
            base.features.rows,
            np.array(known, dtype=np.int32),
            rows,
            costs=base.costs.costs,
            transition_features=base.features.transition_rows,
        )


def split(model, outputs):
    return [part.tolist() for part in np.split(outputs, np.cumsum([len(each) for each in model.gold])[:-1])]


def everything(examples):
    return np.arange(examples.n_examples, dtype=np.int32)


@st.composite
def partial_chains(draw):
    model = draw(chains())
    labels = range(model.n_labels)
    sets = [[{g} | draw(st.sets(st.sampled_from(labels))) for g in gold] for gold in model.gold]
    return PlainPartial(model, sets)


@pytest.mark.interpreted
@given(partial_chains(), st.data())
def test_decoding_and_completing_equal_enumeration(plain, data):
    model, examples, w = plain.model, plain.compiled(), weights(data, plain.model)
    batch = everything(examples)
    completions = examples.complete(w, batch)
    for i, labels in enumerate(split(model, completions)):
        assert labels in plain.completions(i)
        assert model.score(w, i, labels) == max(model.score(w, i, each) for each in plain.completions(i))
    completed = examples.completed(completions)
    for scale in (0.0, 1.0, 2.5):
        for i, labels in enumerate(split(model, completed.decode(w, batch, error_scale=scale))):
            best = max(model.score(w, i, each) + scale * plain.cost(i, each) for each in model.outputs(i))
            assert model.score(w, i, labels) + scale * plain.cost(i, labels) == best


@pytest.mark.interpreted
@given(partial_chains(), st.data())
def test_differences_and_searches_count_errors_by_sets(plain, data):
    model, examples, w = plain.model, plain.compiled(), weights(data, plain.model)
    batch = everything(examples)
    gold = [data.draw(st.sampled_from(plain.completions(i))) for i in batch]
    completed = examples.completed(np.array(list(chain.from_iterable(gold)), dtype=np.int32))
    outputs = [data.draw(st.sampled_from(model.outputs(i))) for i in batch]
    errors, psi = completed.difference(batch, np.array(list(chain.from_iterable(outputs)), dtype=np.int32))
    filled = replace(model, gold=gold)
    assert errors.tolist() == [plain.cost(i, labels) for i, labels in enumerate(outputs)]
    assert as_dicts(psi) == [filled.psi(i, labels) for i, labels in enumerate(outputs)]
    assert not completed.difference(batch, examples.guess(np.random.default_rng(0))).errors.any()

    def worst(i, wrong_at=None):
        own = model.score(w, i, gold[i])
        values = [
            (plain.cost(i, each) if wrong_at is None else plain_at(i, wrong_at, each[wrong_at]))
            * (1.0 + model.score(w, i, each) - own)
            for each in model.outputs(i)
        ]
        return max(0.0, *values)

    def plain_at(i, t, label):
        return min(model.cost(a, label) for a in plain.sets[i][t])

    for i, labels in enumerate(split(model, completed.decode_slack(w, batch))):
        assert plain.cost(i, labels) * (1.0 + model.score(w, i, labels) - model.score(w, i, gold[i])) == worst(i)
    errors, psi = completed.violators(w, batch)
    values = errors - errors * np.array([sum(w[k] * v for k, v in row.items()) for row in as_dicts(psi)])
    assert values.tolist() == [worst(i, t) for i in batch for t in range(len(gold[i]))]


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(3))
def test_uncertainty_is_the_entropy_of_the_completions(seed):
    model = random_chain(seed, [3, 4, 0, 2], n_labels=3, conditional=seed)
    rng = np.random.default_rng(seed)
    sets = [[{g, *rng.integers(3, size=2).tolist()} for g in gold] for gold in model.gold]
    plain = PlainPartial(model, sets)
    examples = plain.compiled()
    w = rng.normal(size=examples.n_weights)
    expected = []
    for i in range(4):
        scores = np.array([model.score(w, i, each) for each in plain.completions(i)])
        p = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        expected.append(-(p * np.log(p)).sum())
    np.testing.assert_allclose(examples.uncertainty(w, everything(examples)), expected, atol=1e-9)


@pytest.mark.interpreted
def test_what_is_offered_and_what_is_refused():
    plain = PlainPartial(random_chain(0, [3, 2, 1]), [[{0}, {0, 1, 2}, {1, 2}], [{0, 1, 2}] * 2, [{1}]])
    examples = plain.compiled()
    for protocol in (Latent, FirstCompletions, Uncertain):
        assert isinstance(examples, protocol)
    assert examples.informative.tolist() == [True, False, True]
    assert examples.n_unknown == 4
    for seed in range(5):
        drawn = split(plain.model, examples.guess(np.random.default_rng(seed)))
        assert all(each in plain.completions(i) for i, each in enumerate(drawn))
    assert isinstance(examples.completed(examples.first_completions()), ChainExamples)
    with pytest.raises(DataError, match="completions must have a label of its set"):
        examples.completed(np.zeros(6, dtype=np.int32))
    given = examples.shape, examples.indptr, examples.features.rows
    with pytest.raises(DataError, match="at least one of them true"):
        PartialChainExamples(*given, examples.gold, np.zeros((1, 3), dtype=bool))
    with pytest.raises(DataError, match="known has a number beyond them"):
        PartialChainExamples(*given, examples.gold + 3, np.ones((1, 3), dtype=bool))


@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_every_objective_learns_from_them(objective):
    model = random_chain(1, [4, 3, 5, 2, 4, 3], n_labels=3)
    sets = [[{0, 1, 2} if (i + t) % 3 == 0 else {g} for t, g in enumerate(gold)] for i, gold in enumerate(model.gold)]
    examples = PlainPartial(model, sets).compiled()
    chosen = OBJECTIVES[objective]
    loss = {"loss": "hinge"} if chosen.kind == "smooth" else {}
    solver = widemargin.solvers.SOLVERS["lbfgs"] if chosen.kind == "smooth" else Auto()
    solution = fit_latent(Problem(examples, chosen, C=1.0, **loss), solver, stop=Stop(epochs=30, gap=0.01))
    objectives = [each.objective for each in solution.rounds]
    assert all(after <= before * (1 + 1e-9) for before, after in pairwise(objectives))


X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"], ["a", "dog", "sleeps"]] * 2
Y = [["D", "N", "V"]] * 8
PARTIAL = [["D", None, "V"], [{"D", "N"}, "N", "V"], ["D", "N", None], [None, "N", ["V"]], *[[None] * 3] * 4]


@pytest.fixture(scope="module")
def tagger():
    return widemargin.SequenceTagger(templates="lower suffix1 lower[-1]", C=1.0, n_jobs=1).fit(X, PARTIAL)


def test_the_estimator_learns_from_labels_known_in_part(tagger, tmp_path):
    assert tagger.predict(X) == Y
    assert tagger.model_.summary["unknown"] == {"labels": 16, "sequences": 4}
    assert tagger.solution_.rounds
    tagger.save(tmp_path / "m.wm")
    loaded = widemargin.load(tmp_path / "m.wm")
    assert loaded.predict(X) == Y
    assert loaded.model_.summary["unknown"] == {"labels": 16, "sequences": 4}


def test_scores_leave_out_what_is_unknown(tagger):
    gold = [["D", None, "V"], [None] * 3, ["N", {"N", "V"}, {"D", "N"}]]
    assert tagger.score(X[:3], gold) == pytest.approx(3 / 5)
    results = tagger.model_.evaluate(X[:3], gold).results
    assert results["accuracy"] == pytest.approx(3 / 5)
    assert results["sequence_accuracy"] == pytest.approx(1 / 2)
    assert results["not_scored"] == 4
    assert tagger.calibrate(X, [["D", None, "V"], *Y[1:]])["labels"].n == 23


def test_development_data_may_be_known_in_part():
    dev = X[:2], [["D", None, {"N", "V"}], ["N", "N", "V"]]
    fitted = widemargin.SequenceTagger(templates="lower", C=1.0, n_jobs=1).fit(X, Y, dev=dev)
    assert max(row.score for row in fitted.solution_.trace) == pytest.approx(4 / 5)


def test_without_unknown_labels_nothing_is_latent():
    compiled = compile_tags(TaggerParameters(), Data(X, [[[label] for label in labels] for labels in Y]))
    assert type(compiled.examples) is ChainExamples
    assert compiled.examples.costs.truth is compiled.examples.gold
    assert compiled.sample_weight is None


def test_bio_labels_with_gaps():
    sentences = [["in", "New", "York", "now"], ["to", "Rome", "and", "Paris"]] * 3
    labels = [["O", "B-city", None, "O"], [None, "B-city", "O", None], ["O", None, "I-city", "O"]] * 2
    fitted = widemargin.SequenceTagger(templates="lower shape", C=1.0, n_jobs=1).fit(
        sentences, labels, dev=(sentences, labels)
    )
    assert set(fitted.classes_) == {"O", "B-city", "I-city"}
    evaluated = fitted.model_.evaluate(sentences, labels)
    assert evaluated.main == "f1"
    fitted.calibrate(sentences, labels)
