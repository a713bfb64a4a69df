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

TREES = treebank(40, seed=1, non_projective=0.3)


def bits(found):
    return found.solution_.w.tobytes(), [row._replace(seconds=0.0) for row in found.solution_.trace]


def both(client, local, there, X, y, **options):
    there.client = client
    return local.fit(X, y), there.fit(X, y, rounds="oracle", parts=3, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hash_bits": 12},
        {"solver": "one-slack", "loss": "hinge"},
        {"objective": "positions"},
        {"objective": "golden-slack", "max_epochs": 3, "tol": None},
        {"solver": "bcfw", "loss": "hinge", "max_epochs": 5, "tol": None},
    ],
    ids=str,
)
def test_a_tagger_is_that_of_one_machine(client, options):
    settings = {**SETTINGS, **options}
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
    X, y = TREES.columns, TREES.arcs
    alone, there = both(client, DependencyParser(**settings), DaskDependencyParser(**settings), X, y)
    assert bits(there) == bits(alone)
    assert there.n_unreachable_ == alone.n_unreachable_


def test_files_and_a_run_that_is_resumed(client, tmp_path):
    for k in range(2):
        (tmp_path / f"part{k}.conllu").write_text(treebank(20, seed=k).conllu(), encoding="utf-8")
    (tmp_path / "whole.conllu").write_text("".join(treebank(20, seed=k).conllu() for k in range(2)), encoding="utf-8")
    settings = {"hash_bits": 14, "tags": "given", "n_jobs": 1, "tol": None}
    run = {"rounds": "oracle", "checkpoint": tmp_path / "run"}

    def there(epochs, name="part*", **options):
        made = DaskDependencyParser(**settings, max_epochs=epochs)
        made.client = client
        return made.fit(Files(str(tmp_path / f"{name}.conllu")), **options)

    there(2, **run)
    resumed = there(5, resume=True, **run)
    assert bits(resumed)[0] == bits(there(5, "whole", rounds="oracle"))[0]
    (tmp_path / "part1.conllu").write_text(treebank(20, seed=2).conllu(), encoding="utf-8")
    with pytest.raises(WidemarginError, match="belongs to another run"):
        there(6, resume=True, **run)


def test_an_error_of_a_worker_arrives(client):
    class Failing(Sign):
        def decode(self, x, w, y=None):
            if x == 7.0:
                raise ZeroDivisionError("of the user's own")
            return super().decode(x, w, y)

    X, y = [1.0, -1.0, 7.0, -3.0], [1, -1, 1, -1]
    for structure, expected in ((Failing(), ZeroDivisionError), (Sign(), None)):
        made = DaskStructuredPredictor(structure, n_jobs=1)
        made.client = client
        if expected is None:
            found = made.fit(X, y, rounds="oracle", parts=2)
            assert bits(found) == bits(StructuredPredictor(structure, n_jobs=1).fit(X, y))
        else:
            with pytest.raises(expected, match="of the user's own"):
                made.fit(X, y, rounds="oracle", parts=2)


def test_a_worker_that_is_killed_is_replaced(mortal):
    class Kill(Callback):
        def on_epoch(self, epoch):
            if epoch.epoch == 2:
                os.kill(sorted(mortal.run(os.getpid).values())[0], signal.SIGKILL)

    settings = {**SETTINGS, "hash_bits": 12, "tol": None, "max_epochs": 6}
    there = DaskSequenceTagger(**settings)
    there.client = mortal
    there.fit(X, Y, rounds="oracle", parts=3, callbacks=[Kill()])
    assert bits(there) == bits(SequenceTagger(**settings).fit(X, Y))
    assert there.trained_.rebuilt >= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [({"objective": "likelihood"}, "single outputs"), ({"solver": "perceptron"}, "would wait for workers")],
    ids=str,
)
def test_what_is_refused(client, options, message):
    made = DaskSequenceTagger(**{**SETTINGS, **options})
    made.client = client
    with pytest.raises(UnsupportedError, match=message):
        made.fit(X, Y, rounds="oracle")
    with pytest.raises(WidemarginError, match="consensus, cocoa, oracle, not 'orcale'"):
        made.fit(X, Y, rounds="orcale")


def test_the_progress_line_says_what_takes_the_time(client, capsys):
    made = DaskSequenceTagger(**{**SETTINGS, "max_epochs": 3, "verbose": True})
    made.client = client
    made.fit(X, Y, rounds="oracle")
    assert "% decoding" in capsys.readouterr().err
