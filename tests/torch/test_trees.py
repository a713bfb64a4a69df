"""Segments and trees: outputs that are none, scores that do not fit, and threads."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from helpers.scored_structures import CASES  # noqa: E402
from widemargin.errors import DataError  # noqa: E402
from widemargin.torch import Constituents, DependencyTrees, Likelihood, Segments, StructuredHinge  # noqa: E402

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize(
    ("structure", "shape", "outputs", "wrong"),
    [
        (Segments(), (1, 3, 2, 2), [[2, 2, 1]], r"gold\[0, 0\] is 2, but a code is twice one of 2 labels"),
        (Segments(), (1, 3, 2, 2), [[1, 0, 0]], r"gold\[0, 2\] is 0, .* of at most 2 tokens"),
        (Segments(), (1, 3, 2, 2), [[1, 2, 1]], r"gold\[0, 1\] is 2"),
        (Segments(), (1, 3, 2, 2), [[1, 1, 5]], r"gold\[0, 2\] is 5"),
        (DependencyTrees(), (1, 4, 4), [[2, 2, 0]], r"gold\[0, 1\] is 2, which is no head of word 2"),
        (DependencyTrees(), (1, 4, 4), [[2, 4, 0]], r"gold\[0, 1\] is 4"),
        (DependencyTrees(), (1, 3, 3, 2), [[[0, 1], [1, 2]]], r"gold\[0, 1\] is \[1, 2\], .* or no label"),
        (Constituents(), (1, 3, 2), [[[0, 2, 0], [0, 1, 0], [1, 2, 2]]], r"gold\[0, 2\] is \[1, 2, 2\]"),
        (Constituents(), (1, 3, 2), [[[0, 1, 0], [0, 1, 0], [1, 2, 1]]], r"gold\[0, 0\] is \[0, 1, 0\]"),
        (
            Constituents(),
            (1, 6, 1),
            [[[0, 3, 0], [0, 3, 0], [0, 1, 0], [1, 2, 0], [2, 3, 0]]],
            r"gold\[0, 1\] is \[0, 3, 0\], which is not the next node of a tree",
        ),
    ],
)
def test_what_is_no_output(structure, shape, outputs, wrong):
    with pytest.raises(DataError, match=wrong):
        StructuredHinge(structure)(torch.zeros(shape), torch.tensor(outputs))


@pytest.mark.parametrize("name", ["segments", "projective", "siblings", "non-projective", "constituents"])
def test_every_output_is_one(name):
    case = CASES[name](np.random.default_rng(0))
    for k in range(max(map(len, case.outputs))):
        outputs = np.stack([each[min(k, len(each) - 1)] for each in case.outputs])
        assert case.structure.score(case.scores, torch.from_numpy(outputs), case.mask).isfinite().all()


def test_scores_that_do_not_fit():
    with pytest.raises(DataError, match=r"which is not \(B, T \(T \+ 1\) / 2, L\)"):
        Constituents().decode(torch.zeros(1, 4, 2))
    with pytest.raises(DataError, match="the rules must have the shape"):
        Constituents().decode((torch.zeros(1, 3, 2), torch.zeros(2, 2)))
    with pytest.raises(DataError, match="siblings are scored in projective trees only"):
        DependencyTrees(projective=False).decode((torch.zeros(1, 3, 3), torch.zeros(1, 3, 3, 3)))
    with pytest.raises(DataError, match="the siblings must have the shape"):
        DependencyTrees().decode((torch.zeros(1, 3, 3), torch.zeros(1, 3, 3)))
    with pytest.raises(DataError, match="no place for the root"):
        DependencyTrees().decode(torch.zeros(1, 0, 0))
    with pytest.raises(DataError, match="no labels or no lengths"):
        Segments().decode(torch.zeros(1, 3, 0, 2))


@pytest.mark.parametrize("name", ["segments", "siblings", "non-projective", "constituents with rules"])
def test_threads_change_nothing(name):
    results = []
    for n_threads in (1, 3):
        case = CASES[name](np.random.default_rng(1))
        case.structure.n_threads = n_threads
        case.structure.work = lambda each: np.full(len(each.lengths), 10_000.0)  # enough to wake all threads
        scores = tuple(each.requires_grad_() for each in case.scores)
        for loss in (StructuredHinge, Likelihood):
            loss(case.structure)(scores, case.gold(), case.mask).backward()
        results.append([each.grad for each in scores])
    assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))
