"""A cluster of two processes for each file of this folder."""

import multiprocessing
from contextlib import contextmanager

import dask
import distributed.utils
import pytest
from distributed import Client, LocalCluster

from helpers.parts import SETTINGS
from widemargin.dask import DaskSequenceTagger

IMPORTED = ["distributed", "sklearn.base", "widemargin.dask.estimator", "widemargin.tasks.tag.estimator"]


@contextmanager
def started(n_workers):
    """A client of a cluster of so many processes."""
    # Workers are forked from a process that has imported everything: tests kill many, and starting one takes seconds.
    multiprocessing.get_context("forkserver").set_forkserver_preload(IMPORTED)
    distributed.utils._forkserver_preload_set = True
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=n_workers == 2) as client,
    ):
        yield client


# Not for the session: the threads of a cluster draw random numbers, and Hypothesis reports that as a test's own doing.
@pytest.fixture(scope="module")
def client():
    with started(2) as client:
        yield client


@pytest.fixture
def mortal():
    """A client of another cluster, whose workers may be killed: Dask does not always bring them back."""
    with started(3) as client:
        yield client


@pytest.fixture
def tagger(client):
    """Makes taggers on the cluster."""

    def make(**settings):
        found = DaskSequenceTagger(**{**SETTINGS, **settings})
        found.client = client
        return found

    return make
