"""Gold trees that a decoder cannot return: they are counted, and the certificate holds all the same."""

import json

import numpy as np
import pytest

from helpers.command_line import succeed
from helpers.trees import is_projective, trees
from widemargin import DependencyParser, load
from widemargin.core.examples import count_unreachable
from widemargin.core.sparse import boundaries
from widemargin.tasks.parse.examples import crossing

X = [["a", "b", "c", "d"], ["c", "a", "b", "d"], ["b", "a"]]
CROSSING = [(3, "x"), (4, "x"), (0, "root"), (3, "x")]
TWO_ROOTS = [(0, "root"), (1, "x"), (0, "root"), (3, "x")]
CHAIN = [(2, "x"), (0, "root")]


@pytest.mark.interpreted
@pytest.mark.parametrize("n", range(1, 5))
def test_crossing_arcs_of_all_trees(n):
    heads = trees(n)
    found = crossing(boundaries([n] * len(heads)), heads.ravel())
    assert found.tolist() == [not is_projective(each.tolist()) for each in heads]


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({}, {"crossing arcs": 1}),
        ({"order": 2}, {"crossing arcs": 1}),
        ({"single_root": True}, {"crossing arcs": 1, "more than one root": 1}),
        ({"decoder": "nonprojective"}, {}),
        ({"decoder": "nonprojective", "single_root": True}, {"more than one root": 1}),
    ],
)
def test_gold_out_of_reach_is_counted(tmp_path, options, counts):
    parser = DependencyParser(hash_bits=8, max_epochs=200, tol=1e-6, C=10.0, **options)
    parser.fit(X, [CROSSING, TWO_ROOTS, CHAIN])
    assert parser.n_unreachable_ == sum(counts.values())
    assert parser.model_.summary.get("unreachable", {}) == counts
    assert parser.solution_.certified
    assert parser.solution_.dual <= parser.solution_.primal
    parser.save(tmp_path / "p.wm")
    assert load(tmp_path / "p.wm").n_unreachable_ == sum(counts.values())


def test_an_example_with_two_reasons_counts_once():
    class Examples:
        def unreachable(self):
            return {"one": np.array([True, True, False]), "other": np.array([False, True, True])}

    assert count_unreachable(Examples()) == {"one": 2, "other": 1}
    assert count_unreachable(object()) == {}


def test_training_says_what_is_out_of_reach(tmp_path):
    lines = [f"{t}\t{w}\t_\tX\tX\t_\t{head}\t{label}\t_\t_\n" for t, (w, (head, label)) in enumerate(
        zip(X[0], CROSSING, strict=True), 1)]  # fmt: skip
    (tmp_path / "train.conllu").write_text("".join(lines) + "\n", encoding="utf-8")
    command = ["train", "parse", "--train", tmp_path / "train.conllu", "--out", tmp_path / "p.wm", "--epochs", "1"]
    command += ["--tags", "given"]  # one sentence is too little to learn to tag from
    told = " ".join(succeed(*command, "--hash-bits", "8").split())
    assert "1 of 1 sentences have crossing arcs, which the decoder cannot produce" in told
    assert json.loads(succeed(*command, "--hash-bits", "8", "--json"))["unreachable"] == {"crossing arcs": 1}
