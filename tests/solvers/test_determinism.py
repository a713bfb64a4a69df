"""The same seed gives the same bits, wherever in memory the arrays happen to lie.

A loop that both sums and writes is vectorised only where its arrays are found to lie far apart, and rounds otherwise
from one run to the next. So sums in kernels have loops of their own.
"""

import ast
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

import widemargin
from helpers import SOLVERS, chain, problem, taken_by
from widemargin import Problem, Stop, fit
from widemargin._threads import one_blas_thread
from widemargin.objectives import Softmax

SOURCE = Path(widemargin.__file__).parent


@pytest.mark.parametrize("solver", ["auto", "dcd", "sdm", "one-slack", "bundle", "bcfw", "mira", "adagrad", "proximal"])
def test_the_place_in_memory_does_not_matter(solver):
    rng, found = np.random.default_rng(0), set()
    for _ in range(60):
        clutter = [np.full(rng.integers(1, 400), 1.0) for _ in range(rng.integers(1, 50))]
        training, _ = problem("chain, real-valued", **taken_by(SOLVERS[solver]))
        found.add(fit(training, SOLVERS[solver], stop=Stop(epochs=6, gap=None), seed=0).w.tobytes())
        del clutter[::2]
    assert len(found) == 1


def kernels():
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and any(
                getattr(each, "id", "") == "kernel" for each in node.decorator_list
            ):
                yield path.relative_to(SOURCE).as_posix(), node


def innermost_loops(function):
    for node in ast.walk(function):
        if isinstance(node, ast.For) and not any(
            isinstance(inner, ast.For | ast.While) for each in node.body for inner in ast.walk(each)
        ):
            yield node


def sums_products(loop):
    """Whether a plain variable collects products of array entries."""
    return any(
        isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Name)
        and any(
            isinstance(part, ast.BinOp)
            and isinstance(part.op, ast.Mult)
            and isinstance(part.left, ast.Subscript)
            and isinstance(part.right, ast.Subscript)
            for part in ast.walk(node.value)
        )
        for each in loop.body
        for node in ast.walk(each)
    )


def writes(loop):
    """Whether an array is written to one place after the other; writing here and there is never vectorised."""
    targets = [
        target
        for each in loop.body
        for node in ast.walk(each)
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    steps = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    return any(
        isinstance(part, ast.Subscript)
        and steps & {name.id for name in ast.walk(part.slice) if isinstance(name, ast.Name)}
        for target in targets
        for part in ast.walk(target)
    )


def test_sums_of_products_have_loops_of_their_own():
    found = [
        (path, function.name)
        for path, function in kernels()
        for loop in innermost_loops(function)
        if sums_products(loop)
    ]
    assert ("core/cuts.py", "add") in found
    both = [
        (path, function.name, loop.lineno)
        for path, function in kernels()
        for loop in innermost_loops(function)
        if sums_products(loop) and writes(loop)
    ]
    assert both == []


def in_a_thread(call):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


PLACES = [(1, "main"), (2, "main"), (5, "main"), (1, "other"), (2, "other")]


def results(examples, solver, epochs, **options):
    """Weights and trace with several numbers of BLAS threads, in the main thread, which sets them, and in another."""
    found = set()
    for n_threads, thread in PLACES:
        train = partial(fit, Problem(examples, **options), SOLVERS[solver], stop=Stop(epochs=epochs, gap=None), seed=0)
        with threadpool_limits(n_threads, user_api="blas"):
            solution = train() if thread == "main" else in_a_thread(train)
        found.add((solution.w.tobytes(), tuple((row.primal, row.dual) for row in solution.trace)))
    return found


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_number_of_blas_threads_does_not_matter(solver):
    """BLAS splits long sums among its threads; weights and trace must not show it, whichever thread trains."""
    examples = chain(0, [6] * 12, n_features=12_000, per_position=200, binary=False).examples
    options = taken_by(SOLVERS[solver]) | {"loss": SOLVERS[solver].losses[-1]}
    options |= {} if "maximum" in SOLVERS[solver].kinds else {"objective": Softmax()}
    assert len(results(examples, solver, 4, C=1.0, **options)) == 1


@pytest.mark.parametrize(("n_examples", "n_features"), [(400, 30), (120, 800)])
def test_nor_does_it_where_whole_matrices_are_multiplied(n_examples, n_features):
    """With more cuts than weights, and with fewer."""
    examples = chain(0, [3] * n_examples, n_features=n_features, per_position=9, binary=False).examples
    assert len(results(examples, "interior", 3, C=10.0)) == 1


def test_products_do_not_go_through_blas():
    """But for the dense programme, whose matrices are too large for anything slower."""
    names = {"dot", "einsum", "inner", "linalg", "matmul", "tensordot", "vdot"}
    found = {
        path.relative_to(SOURCE).as_posix()
        for folder in ("core", "decoders", "objectives", "parts", "solvers", "structures")
        for path in (SOURCE / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(getattr(node, "op", None), ast.MatMult)
        or (isinstance(node, ast.Attribute) and node.attr in names and getattr(node.value, "id", "") in ("np", "scipy"))
        or (isinstance(node, ast.ImportFrom) and node.module == "scipy.linalg")
    }
    assert found == {"solvers/interior.py"}


def test_blas_gets_its_threads_back_whoever_leaves_last():
    def held(inside, leave):
        with one_blas_thread():
            inside.set()
            assert leave.wait(60)

    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    inside, leave = threading.Event(), threading.Event()
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            other = threading.Thread(target=held, args=(inside, leave))
            other.start()
            assert inside.wait(60)
        assert {library.num_threads for library in libraries} == {1}
        leave.set()
        other.join(60)
        assert {library.num_threads for library in libraries} == {2}
