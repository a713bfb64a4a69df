"""Sharing a batch among threads: nothing lost, nothing reordered, errors not swallowed."""

import os
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin import _jit, _threads
from widemargin._threads import WAKING, cores, count_threads, run, shares
from widemargin.errors import WidemarginError

pytestmark = pytest.mark.interpreted
compiled = pytest.mark.skipif(bool(_jit.config.DISABLE_JIT), reason="needs compiled kernels")


@given(st.lists(st.integers(0, 1000), max_size=30), st.integers(1, 9))
def test_shares_are_the_batch_in_order(work, n_threads):
    work = np.array(work, dtype=np.float64)
    batch = np.random.default_rng(0).permutation(len(work)).astype(np.int32)
    parts = shares(batch, work, n_threads)
    assert np.concatenate(parts).tolist() == batch.tolist()
    assert all(part.dtype == np.int32 for part in parts)
    assert len(parts) <= n_threads
    assert len(batch) == 0 or all(map(len, parts))
    if len(parts) > 1:
        fair = work.sum() / n_threads + work.max() + WAKING
        assert all(work[part].sum() <= fair for part in parts), "a share is larger than the fair one by an example"
    else:
        largest_but_one_share = (work.sum() - WAKING) / n_threads
        assert n_threads == 1 or len(work) < 2 or largest_but_one_share < WAKING + work.max()


def test_without_work_nothing_is_shared():
    assert len(shares(np.arange(10, dtype=np.int32), None, 4)) == 1


def test_results_come_in_order_and_the_caller_works_too():
    gate = threading.Barrier(4)

    def task(k):
        gate.wait(timeout=600)
        return k, threading.current_thread()

    results = run([partial(task, k) for k in range(4)])
    assert [k for k, _ in results] == [0, 1, 2, 3]
    assert results[0][1] is threading.current_thread()
    assert len({thread for _, thread in results}) == 4
    assert run([]) == []


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_an_error_in_any_task_is_raised(bad):
    def task(k):
        if k == bad:
            raise KeyError(k)
        return k

    with pytest.raises(KeyError, match=str(bad)):
        run([partial(task, k) for k in range(3)])
    assert run([partial(task, 5), partial(task, 6)]) == [5, 6]


def test_counting_follows_scikit_learn():
    assert count_threads(-1) == cores() >= 1
    assert count_threads(-2) == max(1, cores() - 1)
    assert count_threads(-1000) == 1
    for bad in (0, 1.5, "all"):
        with pytest.raises(WidemarginError, match="n_jobs must be a positive number of threads"):
            count_threads(bad)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_has_a_pool_of_its_own():
    program = """if True:
        import os, signal, threading, time, warnings
        from widemargin._threads import run
        warnings.simplefilter("ignore")
        run([threading.Barrier(4).wait] * 4)
        time.sleep(0.2)  # until the pool's three threads are idle
        child = os.fork()
        if child == 0:
            signal.alarm(600)
            os._exit(0 if run([lambda: 1, lambda: 2, lambda: 3]) == [1, 2, 3] else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@compiled
def test_a_fork_waits_for_the_compiler(tmp_path):
    """A child has no thread that would ever finish the kernel and let go of the compiler."""
    program = """if True:
        import os, signal, threading, time, warnings
        from widemargin._jit import kernel, watched_compiler
        warnings.simplefilter("ignore")

        def begun(begins):
            if begins:
                compiling.set()
                time.sleep(0.3)

        twice = kernel(lambda x: 2 * x)
        thrice = kernel(lambda x: 3 * x)
        compiling = threading.Event()
        with watched_compiler(begun):
            threading.Thread(target=twice, args=[1]).start()
            assert compiling.wait(60)
            child = os.fork()
        if child == 0:
            signal.alarm(300)
            os._exit(0 if thrice(2) == 6 else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600, env=environment)


@compiled
def test_what_runs_when_the_interpreter_ends_does_without_the_pool():
    """In a thread that goes on when the main one is done, and in what is called at the very end."""
    program = """if True:
        import atexit, threading, time
        from concurrent.futures import ThreadPoolExecutor
        from widemargin import SequenceTagger, _threads
        from widemargin.data.generators import addresses
        _threads.WAKING = 0.0  # nothing is too little to be shared
        X, y = addresses(20)

        def trained():
            tagger = SequenceTagger(n_jobs=2, max_epochs=3, tol=None).fit(X, y)
            return tagger.predict(X), tagger.solution_.w.tobytes()

        def has_ended():
            try:
                ThreadPoolExecutor(1).submit(int).result()
            except RuntimeError:
                return True

        def late():
            while not has_ended():
                time.sleep(0.01)
            print(trained() == before)

        before = trained()
        atexit.register(lambda: print(has_ended(), trained() == before))
        threading.Thread(target=late).start()
    """
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, check=True, timeout=600, capture_output=True, encoding="utf-8")
    assert (done.stdout.split(), done.stderr) == (["True"] * 3, "")


def test_the_pool_is_made_once():
    run([lambda: 1, lambda: 2])
    assert _threads._executor() is _threads._executor()
