"""Limits: what a single example may take, and that it is refused before anything is allocated."""

import numpy as np
import pytest

from helpers import STRUCTURES, dependencies, examples_of, offering
from widemargin.core import checks
from widemargin.core.problem import Problem
from widemargin.core.sparse import Rows
from widemargin.errors import UnsupportedError
from widemargin.objectives import OBJECTIVES
from widemargin.tasks.tag.features import ChainExamples, ChainShape

pytestmark = pytest.mark.interpreted

BYTES = {"slack": "slack_bytes", "positions": "violator_bytes"}
OFFERED = [
    (name, objective)
    for objective, method in BYTES.items()
    for name in offering(OBJECTIVES[objective].requires)
    if hasattr(examples_of(name), method)
]


@pytest.mark.parametrize(("name", "objective"), OFFERED)
def test_an_example_beyond_the_limit_is_refused_before_training(monkeypatch, name, objective):
    examples = STRUCTURES[name]().examples
    needed = getattr(examples, BYTES[objective])()
    assert needed.shape == (examples.n_examples,)
    monkeypatch.setattr(checks, "MOST_BYTES", needed.max())
    Problem(examples, OBJECTIVES[objective])
    monkeypatch.setattr(checks, "MOST_BYTES", needed.max() - 1)
    with pytest.raises(UnsupportedError, match=f"example {needed.argmax() + 1} would need .* Use the objective"):
        Problem(examples, OBJECTIVES[objective])


@pytest.mark.parametrize("name", [name for name, objective in OFFERED if objective == "positions"])
def test_violators_stay_within_what_they_are_said_to_take(name):
    examples, rng = STRUCTURES[name]().examples, np.random.default_rng(0)
    for w in (np.zeros(examples.n_weights), rng.normal(size=examples.n_weights)):
        for i, most in enumerate(examples.violator_bytes()):
            _, psi = examples.violators(w, np.array([i], dtype=np.int32))
            assert psi.indices.nbytes + psi.values.nbytes <= most


@pytest.mark.parametrize("objective", BYTES)
def test_thirty_thousand_tokens_are_refused_in_a_sentence(objective):
    n, L = 30_000, 9
    rows = Rows(np.arange(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int32), np.empty(0))
    examples = ChainExamples(ChainShape(L, 1, 0), np.array([0, n]), rows, np.zeros(n, dtype=np.int32))
    assert examples.slack_bytes() == [2 * 8 * n * L * (n + 1)]
    with pytest.raises(UnsupportedError, match=r"example 1 would need .* GB .*the limit is 1 GB.*margin"):
        Problem(examples, OBJECTIVES[objective])
    Problem(examples, OBJECTIVES["margin"])
    Problem(examples, OBJECTIVES["approximate-slack"])


@pytest.mark.parametrize(
    ("kind", "n", "refused"),
    [
        (("projective", 1), 2000, ""),
        (("projective", 1), 5000, "cube of the length.*nonprojective"),
        (("nonprojective", 1), 5000, ""),
        (("nonprojective", 1), 6000, "square of the length"),
        (("projective", 2), 450, ""),
        (("projective", 2), 600, "cube of the length.*order 1"),
    ],
)
def test_long_sentences_are_refused_or_parsed_with_less(kind, n, refused):
    trees = type(dependencies(0, [1]).examples.trees)(2, 4, *kind)
    if not refused:
        trees.check_lengths(np.array([3, n]), "a.conllu")
        return
    with pytest.raises(UnsupportedError, match=f"^a.conllu, sentence 2 would .*{refused}"):
        trees.check_lengths(np.array([3, n]), "a.conllu")
