"""The papers on dual methods: times to values, paired tests, chunks, and the rules of their verdicts."""

import sys
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
import pytest

from widemargin.text.trees import Tree

FOLDER = Path(__file__).parents[1] / "benchmarks" / "papers"


@pytest.fixture(autouse=True)
def papers_on_path(monkeypatch):
    """The modules of the papers are no package: they import each other by name."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_times_to_values():
    from courses import Row, score_by, seconds_to_dual, seconds_to_score, spelt

    rows = [Row(1.0, None, -2.0, 0.5), Row(2.0, None, 3.0, 0.8), Row(4.0, None, 5.0, 0.7)]
    assert seconds_to_score(rows, 0.6) == 2.0
    assert seconds_to_score(rows, 0.9) == inf
    assert seconds_to_dual(rows, 3.0 * (1 + 1e-12)) == 2.0
    assert seconds_to_dual(rows, 3.1) == 4.0
    assert [score_by(rows, seconds) for seconds in (0.5, 3.9, 4.0)] == [0.0, 0.8, 0.7]
    assert [spelt(seconds) for seconds in (12.34, inf)] == ["12.3 s", "never"]


def test_randomisation_agrees_with_all_swaps():
    from significance import f1, randomised

    rng = np.random.default_rng(1)
    gold = rng.integers(1, 5, 8)
    one, other = (np.stack([rng.integers(0, gold + 1), gold, gold], axis=1).astype(float) for _ in range(2))
    observed = abs(f1(one.sum(axis=0)) - f1(other.sum(axis=0)))
    extreme = []
    for swap in product([False, True], repeat=8):
        swapped = np.array(swap)[:, None]
        a, b = np.where(swapped, other, one), np.where(swapped, one, other)
        extreme.append(abs(f1(a.sum(axis=0)) - f1(b.sum(axis=0))) >= observed - 1e-12)
    assert randomised(one, other, 20_000) == pytest.approx(np.mean(extreme), abs=0.02)
    assert randomised(one, one) == 1.0


def test_chunks_are_words_right_below_a_constituent():
    from chains import chunks

    tree = Tree.parse(
        "(S (NP (NP (DT the) (NN dog)) (PP (IN of) (NP (NN war)))) (VP (VBZ barks) (ADVP (RB now))) (. .))"
    )
    assert chunks(tree) == ["B-NP", "I-NP", "B-PP", "B-NP", "B-VP", "B-ADVP", "O"]


def verdicts(blocks):
    from experiment import Claim

    return [block.holds for block in blocks if isinstance(block, Claim)]


def test_verdicts_on_final_scores():
    import chang_yih_report as report

    tasks = report.MUC, report.CONLL, report.POS, report.DP

    def found(**scores):
        names = {"perceptron": report.PERCEPTRON, "mira": report.MIRA, "sgd": report.SGD}
        of = {report.DCD: 0.8, report.PRINTED: 0.1} | {names[name]: score for name, score in scores.items()}
        runs = {method: [[1.0, None, None, score]] for method, score in of.items()}
        return {task: {"runs": runs, "p": dict.fromkeys(of, 0.5)} for task in tasks}

    assert verdicts(report.table_1(found(perceptron=0.7, mira=0.9, sgd=0.79))) == [True, False, True]
    better_in_parsing = found(perceptron=0.7, mira=0.7, sgd=0.7)
    better_in_parsing[report.DP] = found(perceptron=0.7, mira=0.7, sgd=0.9)[report.DP]
    assert verdicts(report.table_1(better_in_parsing)) == [True, True, True]


def test_verdicts_on_orders_of_magnitude():
    import balamurugan_report as report

    def found(seconds):
        sets = {}
        for name, each in zip(
            (report.POS, report.WSJ, report.BIONLP, report.BIOCREATIVE, report.CONLL), seconds, strict=True
        ):
            both = {"CP": [[1.0, 20.0, 1.0, 0.5], [30.0, 11.0, 10.0, 0.9]], "SDM": [[each, None, 10.5, 0.9]]}
            sets[name] = {"C": {"0.1": both, "1.0": both}}
        return sets

    assert verdicts(report.table_2(found([3, 3, 3, 9, 9]))) == [True, True]
    assert verdicts(report.table_2(found([3, 3, 9, 9, 9]))) == [False, False]


@pytest.mark.parametrize(("longer", "holds"), [(20.0, True), (30.0, False)])
def test_verdict_on_scalability(longer, holds):
    import balamurugan_report as report

    of = lambda seconds: {"seconds": seconds, "epochs": 3}  # noqa: E731
    rows = [{"sentences": 450, "0.1": of(1.0), "1.0": of(1.0)}, {"sentences": 7200, "0.1": of(8.0), "1.0": of(longer)}]
    assert verdicts(report.table_4({"scalability": rows})) == [holds]
