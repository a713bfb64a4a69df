"""The motif finder in Python: what it finds, what it saves, and what it refuses."""

import re
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import widemargin
from helpers.motifs import MOTIF, planted
from widemargin import MotifFinder
from widemargin.core.model_file import read_model, write_model
from widemargin.errors import DataError, ModelFileError, WidemarginError
from widemargin.metrics import area_under_curve
from widemargin.tasks.motif import seeds
from widemargin.tasks.motif.files import Site
from widemargin.tasks.motif.logo import Motif
from widemargin.text.sequences import Sequences, Span

TEXTS, LABELS, STARTS = planted()
FAST = {"order": 0, "max_epochs": 20}


@pytest.fixture(autouse=True, scope="module")
def few_words():
    """Fewer beginnings are tried, since interpreted kernels are slow."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(seeds, "N_SEEDS", 5)
        yield


@pytest.fixture(scope="module")
def finder():
    return MotifFinder(length=len(MOTIF), **FAST).fit(TEXTS, LABELS)


def test_a_planted_motif_is_found(finder):
    others, labels, starts = planted(seed=1)
    assert finder.consensus_ in (MOTIF, MOTIF[::-1].translate(str.maketrans("ACGT", "TGCA")))
    assert finder.score(others, labels) >= 0.95
    sites = finder.locate(others)
    assert (
        np.mean([site is not None and site.start == start for site, start in zip(sites[::2], starts, strict=True)])
        > 0.9
    )
    scores = finder.decision_function(others)
    assert area_under_curve(scores, np.array(labels) == 1) > 0.95
    assert finder.solution_.rounds


def test_sites_agree_with_predictions(finder):
    predicted, scores = finder.predict(TEXTS), finder.decision_function(TEXTS)
    assert set(finder.classes_) == {0, 1}
    for text, label, score, site, best, ranked in zip(
        TEXTS,
        predicted,
        scores,
        finder.locate(TEXTS),
        finder.locate(TEXTS, everywhere=True),
        finder.locate_best(TEXTS, 3),
        strict=True,
    ):
        assert (label == 1) == (score > 0) == (site is not None)
        assert best.score == pytest.approx(score)
        assert ranked[0] == best
        spans = sorted((each.start, each.end) for each in ranked)
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
        window = text[best.start : best.end]
        assert best.letters == (window if best.strand == "+" else window[::-1].translate(str.maketrans("ACGT", "TGCA")))


def test_scores_are_those_of_the_weights(finder):
    matrix, background = finder.model_.matrix, finder.model_.background
    for text, site in zip(TEXTS[:5], finder.locate(TEXTS[:5], everywhere=True), strict=True):
        window = text[site.start : site.end]
        expected = sum(matrix[j, "ACGT".index(letter)] for j, letter in enumerate(site.letters))
        expected -= sum(background["ACGT".index(letter)] for letter in window)
        assert site.score == pytest.approx(expected)


def test_short_and_unknown_sequences_are_negative(finder):
    assert finder.predict(["ACG", "", "NNNNNNNNNNA"]).tolist()[:2] == [0, 0]
    assert finder.locate(["ACG"], everywhere=True) == [None]
    assert finder.decision_function(["ACG"])[0] == -np.inf
    assert finder.locate_best(["ACG"], 2) == [[]]


def test_small_letters_are_letters(finder):
    assert np.array_equal(finder.decision_function(TEXTS), finder.decision_function([text.lower() for text in TEXTS]))


def test_saved_and_loaded(finder, tmp_path):
    finder.calibrate(TEXTS, LABELS)
    finder.save(tmp_path / "a.wm")
    again = widemargin.load(tmp_path / "a.wm")
    assert isinstance(again, MotifFinder)
    assert np.array_equal(again.decision_function(TEXTS), finder.decision_function(TEXTS))
    assert np.array_equal(again.matrix_, finder.matrix_)
    assert again.predict(TEXTS).tolist() == finder.predict(TEXTS).tolist()
    assert np.array_equal(again.confidence(TEXTS), finder.confidence(TEXTS))
    assert again.to_meme() == finder.to_meme()
    assert clone(again).get_params()["length"] == len(MOTIF)


def test_both_strands_by_default_for_dna_only():
    turned = [
        text[::-1].translate(str.maketrans("ACGT", "TGCA")) if i % 4 == 0 else text for i, text in enumerate(TEXTS)
    ]
    both = MotifFinder(length=8, **FAST).fit(turned, LABELS)
    assert both.score(turned, LABELS) >= 0.95
    words = [text.translate(str.maketrans("ACGT", "HPNC")) for text in TEXTS]
    other = MotifFinder(length=8, alphabet="HPNC", **FAST).fit(words, LABELS)
    assert not other.model_.reads.both_strands
    assert {site.strand for site in other.locate(words) if site} == {"+"}
    with pytest.raises(WidemarginError, match="only DNA and RNA have two strands"):
        MotifFinder(length=8, alphabet="HPNC", strands="both", **FAST).fit(words, LABELS)


def test_background_counts_little():
    """As negative examples with a small weight, whichever way it is given."""
    texts, labels, others = TEXTS[:12], LABELS[:12], TEXTS[13::2]
    finders = [
        MotifFinder(length=8, **FAST).fit(texts, labels, background=others),
        MotifFinder(length=8, **FAST).fit(texts + others, [*labels, *[None] * len(others)]),
        MotifFinder(length=8, **FAST).fit(
            texts + others, labels + [0] * len(others), sample_weight=[1.0] * 12 + [0.02] * len(others)
        ),
    ]
    for other in finders[1:]:
        np.testing.assert_allclose(other.solution_.w, finders[0].solution_.w)
    only = MotifFinder(length=8, background_weight=1.0, **FAST).fit(TEXTS[::2], [1] * 12, background=TEXTS[1::2])
    assert only.classes_.tolist() == [-1, 1]


@pytest.mark.parametrize("dev", [False, True])
def test_several_lengths(dev):
    more = {"dev": planted(seed=2)[:2]} if dev else {}
    finder = MotifFinder(length=(3, 8), order=0, max_epochs=10).fit(TEXTS, LABELS, **more)
    assert finder.length_ == 8
    assert list(finder.lengths_) == [8, 3]
    assert finder.lengths_[8] > finder.lengths_[3]
    assert len(finder.matrix_) == 8


def test_completions_of_ones_own():
    given = [STARTS[i // 2] if i % 2 == 0 else None for i in range(len(TEXTS))]
    finder = MotifFinder(length=8, init=given, **FAST).fit(TEXTS, LABELS)
    assert finder.consensus_ == MOTIF
    spans = [None if each is None else Span(each, each + 8) for each in given]
    again = MotifFinder(length=8, init=spans, **FAST).fit(TEXTS, LABELS)
    assert np.array_equal(again.solution_.w, finder.solution_.w)
    for wrong in (given[:3], [1000, *given[1:]]):
        with pytest.raises(DataError, match="completions"):
            MotifFinder(length=8, init=wrong, **FAST).fit(TEXTS, LABELS)


def test_evaluation_counts_sites():
    finder = MotifFinder(length=8, **FAST).fit(TEXTS, LABELS)
    gold = [[Span(STARTS[i // 2], STARTS[i // 2] + 8)] if i % 2 == 0 else [] for i in range(len(TEXTS))]
    results = finder.model_.evaluate(Sequences(TEXTS, sites=gold), LABELS).results
    assert results["accuracy"] == pytest.approx(finder.score(TEXTS, LABELS))
    assert results["error"] == pytest.approx(1 - results["accuracy"])
    assert results["sites"] == 12
    assert results["sites_found"] >= 0.9
    assert results["auc"] > 0.95


def test_matrix_and_meme():
    counts = np.array([[9.0, 0, 0, 1], [0, 10, 0, 0]])
    motif = Motif("ACGT", counts, np.array([0.3, 0.2, 0.2, 0.3]), True)
    np.testing.assert_allclose(
        motif.probabilities, [[9.3 / 11, 0.2 / 11, 0.2 / 11, 1.3 / 11], [0.3 / 11, 10.2 / 11, 0.2 / 11, 0.3 / 11]]
    )
    p = motif.probabilities[0]
    assert motif.information[0] == pytest.approx(2 + (p * np.log2(p)).sum())
    assert motif.consensus == "AC"
    text = motif.meme("m")
    assert text.startswith(
        "MEME version 4\n\nALPHABET= ACGT\n\nstrands: + -\n\nBackground letter frequencies\nA 0.300000 C"
    )
    assert "MOTIF m AC\nletter-probability matrix: alength= 4 w= 2 nsites= 10 E= 0\n" in text
    rows = [list(map(float, line.split())) for line in text.splitlines()[-2:]]
    np.testing.assert_allclose(rows, motif.probabilities, atol=1e-6)
    assert 'ALPHABET "letters"\nH\nP\nEND ALPHABET' in Motif("HP", counts[:, :2], np.array([0.5, 0.5]), False).meme()


def test_a_site_is_found_if_half_of_it_is():
    from widemargin.tasks.motif.files import share_found

    site = Site(10, 20, "+", "", 1.0)
    for gold, found in [((15, 25), 1.0), ((16, 26), 0.0), ((0, 14), 0.0), ((18, 22), 1.0), ((0, 100), 1.0)]:
        assert share_found([site], [[Span(*gold)]])[0] == found


@pytest.mark.parametrize(
    ("X", "y", "options", "complaint"),
    [
        (["ACGT", "A"], [1, 0], {"length": 5}, "sequence 1 is positive, but has 4 letters, fewer than the 5"),
        (["ACGT", "ACGT"], [1, 1], {}, "motifs tell two classes apart, positive and negative; the labels are 1"),
        (["ACGT"] * 3, ["a", "b", "c"], {}, "the labels are 'a', 'b', 'c'"),
        (["ACGT", "XXXX"], [1, 0], {}, "sequence 2 has none of the letters ACGT: 'XXXX'; choose another alphabet"),
        (["ACGT", "AC1"], [1, 0], {}, "sequence 2 has '1' in it, which is no letter"),
        (["ACGT", 3], [1, 0], {}, "sequence 2 must be a string of letters, not 3"),
        ("ACGT", [1], {}, "X must be a list of sequences"),
        (["ACGT"], [1, 0], {}, "there are 1 sequences, but 2 labels"),
        (["ACGT", "AC"], [1, 0], {"length": 0}, "the length of a motif must be a whole number from 1 to 10,000, not 0"),
        (["ACGT", "AC"], [1, 0], {"length": []}, "give at least one length"),
        (["ACGT", "AC"], [1, 0], {"strands": "two"}, "strands must be 'one', 'both' or None, not 'two'"),
        (["ACGT", "AC"], [1, 0], {"background_weight": -1}, "background_weight must be a number of at least 0, not -1"),
        (["ACGT", "AC"], [1, 0], {"positive": 2}, "no sequence has the positive label 2"),
    ],
)
def test_bad_input(X, y, options, complaint):
    with pytest.raises(WidemarginError, match=re.escape(complaint)):
        MotifFinder(**{"length": 2, "order": 0} | options).fit(X, y)


def test_the_positive_label():
    from widemargin.tasks.motif.files import two_labels

    assert two_labels([True, False]) == [False, True]
    assert two_labels(["pos", "zero"]) == ["zero", "pos"]
    assert two_labels(["a", "b"]) == ["a", "b"]
    assert two_labels(["a", "b"], "a") == ["b", "a"]
    assert two_labels([1, None]) == [-1, 1]


@pytest.mark.parametrize("count", [np.inf, 1e300, -1.0, np.nan])
def test_files_with_impossible_counts_are_refused(finder, tmp_path, count):
    path = tmp_path / "damaged.wm"
    finder.save(path)
    header, tensors = read_model(path)
    tensors["found"] = np.full_like(tensors["found"], count)
    write_model(path, header, tensors)
    with pytest.raises(ModelFileError, match="counts of letters"):
        widemargin.load(path)
