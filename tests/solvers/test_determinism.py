"""The same seed gives the same bits, wherever in memory the arrays happen to lie.

A loop that both sums and writes is vectorised only where its arrays are found to lie far apart, and rounds otherwise
from one run to the next. So sums in kernels have loops of their own.
"""

import ast
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import widemargin
from helpers import SOLVERS, chain, problem, taken_by
from widemargin import Problem, Stop, fit
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
        for node in ast.parse(path.read_text()).body:
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


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_number_of_blas_threads_does_not_matter(solver):
    """BLAS splits long sums among its threads; weights and trace must not show it."""
    examples = chain(0, [6] * 12, n_features=12_000, per_position=9, binary=False).examples
    options = taken_by(SOLVERS[solver]) | {"loss": SOLVERS[solver].losses[-1]}
    options |= {} if "maximum" in SOLVERS[solver].kinds else {"objective": Softmax()}
    found = set()
    for n_threads in (1, 2, 5):
        training = Problem(examples, C=1.0, **options)
        with threadpool_limits(n_threads, user_api="blas"):
            solution = fit(training, SOLVERS[solver], stop=Stop(epochs=4, gap=None), seed=0)
        found.add((solution.w.tobytes(), tuple((row.primal, row.dual) for row in solution.trace)))
    assert len(found) == 1
