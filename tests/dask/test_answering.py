"""Oracle rounds: the ordinary solver, whose questions workers answer, bit for bit as on one machine."""

import os
import signal

import numpy as np
import pytest

from helpers.custom import Sign
from helpers.parts import SETTINGS, X, Y
from widemargin import Callback, DependencyParser, SequenceTagger, StructuredPredictor
from widemargin.dask import DaskDependencyParser, DaskSequenceTagger, DaskStructuredPredictor, Files
from widemargin.data.treebanks import treebank
from widemargin.errors import UnsupportedError, WidemarginError

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Dask and Tornado when a cluster is closed

TREES = treebank(40, seed=1)


def bits(found):
    return found.solution_.w.tobytes(), [row._replace(seconds=0.0) for row in found.solution_.trace]


def both(client, local, there, X, y, **options):
    there.client = client
    return local.fit(X, y), there.fit(X, y, rounds="oracle", parts=3, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "one-slack", "loss": "hinge"},
        {"objective": "positions"},
        {"objective": "golden-slack", "max_epochs": 3, "tol": None},
        {"solver": "mira(k=3)", "max_epochs": 3},
    ],
    ids=str,
)
def test_a_tagger_is_that_of_one_machine(client, options):
    settings = {**SETTINGS, "hash_bits": 12, **options}
    weight = np.where(np.arange(len(X)) % 7 == 3, 0.0, 1.0 + np.arange(len(X)) % 2)
    there = DaskSequenceTagger(**settings)
    there.client = client
    alone = SequenceTagger(**settings).fit(X, Y, sample_weight=weight)
    there.fit(X, Y, sample_weight=weight, rounds="oracle", parts=3)
    assert bits(there) == bits(alone)
    assert there.solution_.certified == alone.solution_.certified
    assert there.trained_.sent > 0 < there.trained_.received
    assert there.predict(X) == alone.predict(X)


@pytest.mark.parametrize("order", [1, "grandsiblings"])
def test_a_parser_is_that_of_one_machine(client, order):
    settings = {"order": order, "hash_bits": 14, "tags": "given", "n_jobs": 1, "max_epochs": 8}
    X, y = TREES.X, TREES.y
    alone, there = both(client, DependencyParser(**settings), DaskDependencyParser(**settings), X, y)
    assert bits(there) == bits(alone)
    assert there.n_unreachable_ == alone.n_unreachable_
