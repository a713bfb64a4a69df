"""Rankings: errors, features, argmax and completion against enumeration, and what each measure's slack means."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers import as_dicts
from helpers.rankings import POSITIONS, SWAPS, outputs_of, pairs_of, random_queries, ranking_examples, swapped_by
from widemargin.core.examples import FirstCompletions, Latent
from widemargin.core.latent import fit_latent
from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.core.rounds import Rounds
from widemargin.core.sparse import compressed, dots
from widemargin.decoders.scores import top_k
from widemargin.decoders.swaps import least_average_precision
from widemargin.solvers import SOLVERS
from widemargin.tasks.rank.examples import DAMPING, SwapExamples, regression_weights

pytestmark = pytest.mark.interpreted

WHOLE = st.integers(-3, 3).map(float)
MEASURES = [*POSITIONS, *SWAPS]


@st.composite
def drawn(draw, highest=2):
    """Features, boundaries and grades of some queries, weights with many ties, k, and the least relevant grade."""
    n_documents = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    n = sum(n_documents)
    X = draw(arrays(float, (n, 2), elements=st.one_of(WHOLE, st.floats(-2, 2, width=32).map(float))))
    grades = draw(arrays(np.int32, n, elements=st.integers(0, highest)))
    w = draw(arrays(float, 2, elements=st.one_of(WHOLE, st.floats(-2, 2, width=32).map(float))))
    return X, np.cumsum([0, *n_documents]), grades, w, draw(st.integers(1, 3)), draw(st.integers(1, 2))


def everything(examples):
    return np.arange(examples.n_examples, dtype=np.int32)


def hand_error(measure, grades, output, k, relevant_from):
    """Δ as the papers have it."""
    relevant = grades >= relevant_from
    if measure == "precision":
        return min(1.0, relevant.sum() / k) - relevant[output].sum() / k
    if measure == "ndcg":
        discounts = [1 / np.log2(r + 2) for r in range(len(output))]
        best = sum(d * (2.0**g - 1) for d, g in zip(discounts, sorted(grades.tolist(), reverse=True), strict=False))
        found = sum(d * (2.0 ** grades[document] - 1) for d, document in zip(discounts, output, strict=True))
        return 1 - found / best if best else 0.0
    if measure == "pairs":
        return output[:, 0].sum() / max(len(pairs_of(grades)), 1)
    if not 0 < relevant.sum() < len(grades):
        return 0.0
    before = sorted(output[relevant, 0].tolist())
    return 1 - np.mean([(i + 1) / (i + 1 + m) for i, m in enumerate(before)])


def hand_features(measure, X, grades, output, k, relevant_from):
    """φ as the papers have it; for swaps without what all outputs share."""
    if measure in POSITIONS:
        discounts = [1 / k if measure == "precision" else 1 / np.log2(r + 2) for r in range(len(output))]
        return sum((d * X[document] for d, document in zip(discounts, output, strict=True)), np.zeros(X.shape[1]))
    levels = grades >= relevant_from if measure == "map" else grades
    return -((output[:, 0] - output[:, 1]) @ X) / max(len(pairs_of(levels)), 1)


def consistent(grades, ranking):
    """Whether no document of the ranking comes before a better one, in it or not."""
    rest = [d for d in range(len(grades)) if d not in ranking]
    return all(grades[a] >= grades[b] for a, b in pairwise(ranking)) and all(
        grades[a] >= grades[b] for a in ranking for b in rest
    )


@pytest.mark.parametrize("measure", MEASURES)
@given(data=drawn())
def test_argmax_errors_and_features_are_those_of_all_outputs(measure, data):
    X, indptr, grades, w, k, relevant_from = data
    examples = ranking_examples(X, indptr, grades, measure, k, relevant_from)
    batch = everything(examples)
    golds = examples.guess(np.random.default_rng(0)) if measure in POSITIONS else np.zeros((len(X), 2), dtype=np.int64)
    if measure in POSITIONS:
        examples = examples.completed(golds)
    for scale in (0.0, 1.0, 2.5):
        outputs = examples.decode(w, batch, error_scale=scale)
        errors, psi = examples.difference(batch, outputs)
        read = 0
        for i, (begin, end) in enumerate(pairwise(indptr.tolist())):
            size = min(k, end - begin) if measure in POSITIONS else end - begin
            output, gold = outputs[read : read + size], golds[read : read + size]
            read += size
            of = measure, X[begin:end], grades[begin:end]
            found = hand_features(*of, output, k, relevant_from)
            assert errors[i] == pytest.approx(hand_error(measure, of[2], output, k, relevant_from), abs=1e-12)
            difference = hand_features(*of, gold, k, relevant_from) - found
            row = as_dicts(psi)[i]
            assert [row.get(f, 0.0) for f in range(2)] == pytest.approx(difference, abs=1e-12)
            levels = of[2] >= relevant_from if measure == "map" else of[2]
            best = max(
                w @ hand_features(*of, each, k, relevant_from)
                + scale * hand_error(measure, of[2], each, k, relevant_from)
                for each in outputs_of(measure, levels, k)
            )
            assert w @ found + scale * errors[i] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("measure", POSITIONS)
@given(data=drawn())
def test_completions_are_the_best_rankings_that_agree_with_the_grades(measure, data):
    X, indptr, grades, w, k, relevant_from = data
    examples = ranking_examples(X, indptr, grades, measure, k, relevant_from)
    assert isinstance(examples, Latent)
    assert isinstance(examples, FirstCompletions)
    rng = np.random.default_rng(0)
    completions = [examples.complete(w, everything(examples)), examples.guess(rng), examples.first_completions()]
    completed = examples.completed(completions[1])
    for each in completions:
        assert completed.difference(everything(examples), each).errors.tolist() == [0.0] * examples.n_examples
    read = 0
    for begin, end in pairwise(indptr.tolist()):
        size = min(k, end - begin)
        of = X[begin:end], grades[begin:end]
        levels = of[1] >= relevant_from if measure == "precision" else of[1]
        possible = [each for each in permutations(range(end - begin), size) if consistent(levels, each)]
        assert all(tuple(each[read : read + size].tolist()) in possible for each in completions)
        values = [w @ hand_features(measure, *of, each, k, relevant_from) for each in possible]
        found = w @ hand_features(measure, *of, completions[0][read : read + size], k, relevant_from)
        assert found == pytest.approx(max(values), abs=1e-9)
        read += size


@given(drawn(highest=3))
def test_the_slack_of_pairs_is_their_mean_hinge(data):
    X, indptr, grades, w, _, _ = data
    examples = SwapExamples(compressed(X), 2, indptr, grades)
    batch = everything(examples)
    errors, psi = examples.difference(batch, examples.decode(w, batch, error_scale=1.0))
    slacks = errors - dots(psi, w)
    for i, (begin, end) in enumerate(pairwise(indptr.tolist())):
        s = X[begin:end] @ w
        hinges = [max(0.0, 1.0 - (s[a] - s[b])) for a, b in pairs_of(grades[begin:end])]
        assert slacks[i] == pytest.approx(np.mean(hinges) if hinges else 0.0, abs=1e-9)
        assert examples.n_pairs[i] == len(hinges)


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_the_k_best_of_many(n, k, seed):
    rng = np.random.default_rng(seed)
    levels, keys = rng.integers(0, 2, n).astype(np.int32), rng.integers(0, 6, n).astype(float)
    out = np.empty(min(k, n), dtype=np.int32)
    top_k(levels, keys, out)
    assert out.tolist() == sorted(range(n), key=lambda d: (-levels[d], -keys[d], d))[: len(out)]


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1.0, 30.0]))
def test_the_worst_average_precision_of_long_rankings(seed, scale):
    """Against the paper's Algorithm 2, which tries every place for every irrelevant document."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    relevant, scores = (rng.random(n) < 0.4).astype(np.int32), np.round(rng.normal(size=n), 1)
    counts = np.zeros((n, 2), dtype=np.int64)
    least_average_precision(scores, relevant, scale, counts)
    good, bad = (sorted(scores[relevant == level].tolist(), reverse=True) for level in (1, 0))

    def gain(j, k):
        error = sum((j + 1) / (i + 1 + j + 1) - j / (i + 1 + j) for i in range(k, len(good))) / len(good)
        return scale * error - sum(good[i] - bad[j] for i in range(k, len(good))) / (len(good) * len(bad))

    best = sum(max(gain(j, k) for k in range(len(good) + 1)) for j in range(len(bad))) if good and bad else 0.0
    before = sorted(counts[relevant == 1, 0].tolist())
    error = 1 - np.mean([(i + 1) / (i + 1 + m) for i, m in enumerate(before)]) if good else 0.0
    value = scale * error - (counts[:, 0] - counts[:, 1]) @ scores / max(len(good) * len(bad), 1)
    assert value == pytest.approx(best, abs=1e-9)
    assert counts[:, 0].sum() == counts[:, 1].sum()


def test_swaps_of_a_ranking_are_those_that_decoding_returns():
    X, indptr, grades = random_queries(3, [5, 4])
    examples, w = SwapExamples(compressed(X), 4, indptr, grades), np.array([1.0, -0.5, 0.25, 0.0])
    outputs = examples.decode(w, everything(examples))
    for begin, end in pairwise(indptr.tolist()):
        swapped = swapped_by(grades[begin:end], np.argsort(-(X[begin:end] @ w)).tolist())
        assert outputs[begin:end, 0].sum() == len(swapped)


def test_a_regression_gives_the_weights_to_begin_with():
    X, indptr, grades = random_queries(4, [6, 3, 8])
    centre = [np.eye(n) - 1.0 / n for n in np.diff(indptr)]
    roots = np.repeat(1 / np.sqrt(np.diff(indptr)), np.diff(indptr))
    blocks = [(begin, end, matrix) for (begin, end), matrix in zip(pairwise(indptr), centre, strict=True)]
    A = np.concatenate([matrix @ X[begin:end] for begin, end, matrix in blocks]) * roots[:, None]
    b = np.concatenate([matrix @ grades[begin:end] for begin, end, matrix in blocks]) * roots
    damping = DAMPING**2 * ((X * roots[:, None]) ** 2).sum() / 4
    expected = np.linalg.solve(A.T @ A + damping * np.eye(4), A.T @ b)
    assert regression_weights(compressed(X), 4, indptr, grades.astype(float)) == pytest.approx(expected, abs=1e-4)


def test_queries_that_teach_nothing():
    X, indptr, grades = np.ones((8, 1)), np.array([0, 3, 6, 8]), np.array([1, 0, 2, 1, 1, 1, 1, 0], dtype=np.int32)
    wanted = {"precision": [1, 0, 0], "ndcg": [1, 0, 1], "pairs": [1, 0, 1], "map": [1, 0, 1]}
    for measure, expected in wanted.items():
        assert ranking_examples(X, indptr, grades, measure).informative().tolist() == expected


@pytest.mark.parametrize("measure", POSITIONS)
def test_rounds_lower_the_objective(measure):
    X, indptr, grades = random_queries(5, [5, 4, 6, 5, 3, 6])
    examples = ranking_examples(X, indptr, grades, measure, 2)
    problem = Problem(examples, C=1.0, loss="hinge")
    solution = fit_latent(problem, SOLVERS["bundle"], stop=Stop(gap=1e-4), rounds=Rounds(most=20))
    objectives = [each.objective for each in solution.rounds]
    assert all(after <= before + 1e-9 for before, after in pairwise(objectives))
    first = fit(Problem(examples.completed(examples.first_completions()), C=1.0, loss="hinge"), SOLVERS["bundle"])
    assert solution.primal <= first.primal * (1 + 2e-4)  # both are proven only up to their gaps
