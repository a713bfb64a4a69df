"""Motif examples against enumeration: decoding, completion, differences, entropy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.motifs import motif_examples, outputs_of, phi, random_texts
from widemargin.core.examples import FirstCompletions, Latent, Uncertain
from widemargin.core.sparse import expanded
from widemargin.errors import DataError, WidemarginError
from widemargin.tasks.motif.examples import code, complement_of, letters_of, n_contexts, reverse_complement
from widemargin.testing import check_structure

CASES = {
    "both strands": ("ACGT", 3, 1, True),
    "one strand, order 2": ("ACGT", 2, 2, False),
    "two letters, long": ("HP", 7, 0, False),
    "one letter long": ("ACGT", 1, 0, True),
}


def batch_of(examples):
    return np.arange(examples.n_examples, dtype=np.int32)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_structure(case):
    letters, length, order, both = case
    texts = random_texts(1, [length, length + 4, 9, 12, 8, 0, 1], letters + "N")
    positive = [True, False, True, False, True, False, False]
    examples = motif_examples(texts, positive, letters, length, order, both)
    gold = examples.guess(np.random.default_rng(0))
    check_structure(
        examples.completed(gold),
        gold=gold,
        enumerate_outputs=lambda i: (np.array([each]) for each in outputs_of(texts[i], length, both)),
    )
    assert isinstance(examples, Latent | FirstCompletions | Uncertain)


@st.composite
def problems(draw):
    both, length, order = draw(st.booleans()), draw(st.integers(1, 6)), draw(st.integers(0, 2))
    texts = draw(st.lists(st.text("ACGTN", max_size=14), min_size=1, max_size=4))
    positive = [len(text) >= length and draw(st.booleans()) for text in texts]
    examples = motif_examples(texts, positive, "ACGT", length, order, both)
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    w = rng.normal(size=examples.n_weights) if draw(st.booleans()) else rng.integers(-2, 3, examples.n_weights) * 1.0
    return texts, positive, examples, w, (length, order, both)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_decoding_and_completion_equal_enumeration(problem):
    texts, positive, examples, w, (length, order, both) = problem
    decoded = {scale: examples.decode(w, batch_of(examples), error_scale=scale) for scale in (0.0, 1.0)}
    completions = examples.complete(w, batch_of(examples))
    uncertain = examples.uncertainty(w, batch_of(examples))
    for i, text in enumerate(texts):
        outputs = outputs_of(text, length, both)
        scores = {y: phi(text, y, "ACGT", length, order, both) @ w for y in outputs}
        for scale, found in decoded.items():
            values = {y: score + scale * ((y >= 0) != positive[i]) for y, score in scores.items()}
            assert values[found[i]] == pytest.approx(max(values.values()), abs=1e-9)
        if not positive[i]:
            assert completions[i] == -1
            assert uncertain[i] == 0.0
            continue
        inside = np.array([scores[y] for y in outputs if y >= 0])
        assert scores[completions[i]] == pytest.approx(inside.max(), abs=1e-9)
        p = np.exp(inside - inside.max()) / np.exp(inside - inside.max()).sum()
        assert uncertain[i] == pytest.approx(-(p * np.log(np.maximum(p, 1e-300))).sum(), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from([0.0, 1.0]))
def test_sums_over_windows_equal_enumeration(problem, scale):
    """−log p of a class, all of whose windows are right."""
    texts, positive, examples, w, shape = problem
    losses, psi = examples.expectation_over_completions(w, batch_of(examples), error_scale=scale)
    found = expanded(psi, examples.n_weights)
    for i, text in enumerate(texts):
        outputs = outputs_of(text, shape[0], shape[2])
        X = np.array([phi(text, y, "ACGT", *shape) for y in outputs])
        right = np.array([(y >= 0) == positive[i] for y in outputs])
        p = np.exp(X @ w + scale * ~right)
        q = np.where(right, p, 0.0)
        assert losses[i] == pytest.approx(np.log(p.sum() / q.sum()), abs=1e-9)
        assert np.allclose(found[i], (q / q.sum() - p / p.sum()) @ X, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(problems(), st.integers(0, 100))
def test_differences_are_those_of_the_features(problem, seed):
    texts, positive, examples, _, (length, order, both) = problem
    rng = np.random.default_rng(seed)
    gold, outputs = examples.guess(rng), np.array([rng.choice(outputs_of(text, length, both)) for text in texts])
    errors, psi = examples.completed(gold).difference(batch_of(examples), outputs)
    dense = expanded(psi, examples.n_weights)
    for i, text in enumerate(texts):
        of = [phi(text, int(y), "ACGT", length, order, both) for y in (gold[i], outputs[i])]
        np.testing.assert_array_equal(dense[i], of[0] - of[1])
        assert errors[i] == ((outputs[i] >= 0) != positive[i])
        assert len(np.unique(psi.indices[psi.indptr[i] : psi.indptr[i + 1]])) == np.diff(psi.indptr)[i]


def test_equal_windows_have_equal_scores_and_the_first_wins():
    texts = ["ACGTACGACGTACG", "NNACGTACG"]
    examples = motif_examples(texts, [True, True], "ACGT", 7, 0, False)
    for seed in range(20):
        w = np.random.default_rng(seed).normal(size=examples.n_weights)
        first, second = examples.best(w, np.array([0, 1], dtype=np.int32))[1]
        if examples.complete(w, batch_of(examples)).tolist() == [0, 4]:
            assert first == second


def test_guesses_are_windows_and_cover_all_of_them():
    texts = ["ACGTA", "AC", "ACGTAC"]
    examples = motif_examples(texts, [True, False, True], "ACGT", 4, 1, True)
    rng = np.random.default_rng(0)
    guessed = np.array([examples.guess(rng) for _ in range(200)])
    assert [sorted(set(column)) for column in guessed.T.tolist()] == [[0, 1, 2, 3], [-1], list(range(6))]


@pytest.mark.parametrize("wrong", [[0, 0], [8, -1], [-1, -1], [1, -1], [0]])
def test_completions_must_be_windows_of_positive_sequences(wrong):
    examples = motif_examples(["ACGTACG", "ACGT"], [True, False], "ACGT", 4, 0, False)
    with pytest.raises(DataError, match="completions must hold the window of each positive sequence"):
        examples.completed(np.array(wrong))


def test_positive_sequences_must_be_as_long_as_the_motif():
    with pytest.raises(DataError, match="sequence 2 is positive, but shorter than a motif of 4 letters"):
        motif_examples(["ACGTACG", "ACG"], [True, True], "ACGT", 4, 0, False)


def test_first_completions_find_a_planted_word():
    texts, starts = random_texts(3, [40] * 40), np.arange(0, 30, 3).tolist() * 2
    for i, start in enumerate(starts):
        texts[i] = texts[i][:start] + "TGACGTTT" + texts[i][start + 8 :]
    examples = motif_examples(texts, [True] * 20 + [False] * 20, "ACGT", 8, 1, False)
    found = examples.first_completions()
    assert np.mean(found[:20] == 2 * np.array(starts)) >= 0.8
    assert (found[20:] == -1).all()


def test_letters_as_numbers():
    coded = code(["acGN", "", "TA"], "ACGT", 1)
    assert coded.letters.tolist() == [0, 1, 2, 4, 3, 0]
    assert coded.contexts.tolist() == [16, 1, 6, 16, 16, 12]
    assert code(["hP"], "hP", 0).letters.tolist() == [0, 1]
    assert code(["αβ?"], "αβ", 0).letters.tolist() == [0, 1, 2]
    assert complement_of("ACGT").tolist() == [3, 2, 1, 0, 4]
    assert reverse_complement("aNG", "ACGU") == "CNU"


@pytest.mark.parametrize("wrong", ["A", "AA", "", "A\n", 3])
def test_alphabets_have_two_letters_at_least(wrong):
    with pytest.raises(WidemarginError, match="the alphabet must be"):
        letters_of(wrong)


def test_orders_that_are_too_high():
    assert n_contexts(4, 3) == 256
    for order in (12, 10**9):
        with pytest.raises(WidemarginError, match="lower the order"):
            n_contexts(4, order)
    with pytest.raises(WidemarginError, match="order must be a whole number of at least 0, not -1"):
        n_contexts(4, -1)
    with pytest.raises(WidemarginError, match="only DNA and RNA have two strands"):
        complement_of("ABCD")
