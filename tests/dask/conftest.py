"""A cluster of two processes, for all tests of this folder."""

import multiprocessing

import dask
import distributed.utils
import pytest
from distributed import Client, LocalCluster

from helpers.cluster import SETTINGS
from widemargin.dask import DaskSequenceTagger

IMPORTED = ["distributed", "sklearn.base", "widemargin.dask.estimator", "widemargin.tasks.tag.estimator"]


@pytest.fixture(scope="session")
def client():
    # Workers are forked from a process that has imported everything: tests kill many, and starting one takes seconds.
    multiprocessing.get_context("forkserver").set_forkserver_preload(IMPORTED)
    distributed.utils._forkserver_preload_set = True
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def tagger(client):
    """Makes taggers on the cluster."""

    def make(**settings):
        found = DaskSequenceTagger(**{**SETTINGS, **settings})
        found.client = client
        return found

    return make
