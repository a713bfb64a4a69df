"""How a worker makes its part: it compiles its own piece, or takes its share of examples that the driver compiled."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from distributed import get_worker

from widemargin.core.examples import Examples, Latent
from widemargin.core.problem import checked_weights
from widemargin.dask.data import as_data, taken
from widemargin.errors import UnsupportedError
from widemargin.parts.choice import part_of
from widemargin.parts.part import Part
from widemargin.tasks import Kind
from widemargin.tasks.parameters import Parameters
from widemargin.tasks.survey import Survey
from widemargin.tasks.training import Data, problem_of, solver_of


@dataclass(frozen=True)
class Shared:
    """What all parts share where each compiles its own piece."""

    kind: Kind
    parameters: Parameters
    survey: Survey


@dataclass(frozen=True)
class Whole:
    """What all parts share where the driver has compiled all examples: each takes some of them."""

    examples: Examples
    sample_weight: Any
    parameters: Parameters
    n_parts: int


def survey(kind: Kind, parameters: Parameters, piece: Any) -> Survey:
    """The survey of a piece."""
    found: Survey = kind.load("survey")(parameters, as_data(piece))
    return found


def merged(one: Survey, two: Survey) -> Survey:
    """The survey of two pieces, one after the other."""
    return one.merged(two)


def first_example(piece: Any) -> Data:
    """The first example of a piece: enough for the driver to make a model from."""
    return taken(as_data(piece), np.zeros(1, dtype=np.int64))


def own_piece(shared: Shared, piece: Any, number: int) -> Part:
    """A part that compiles its own piece."""
    data = as_data(piece)
    compiled = shared.kind.load("compile")(shared.parameters, data, survey=shared.survey)
    check_examples(compiled.examples)
    parameters = on_this_worker(shared.parameters)
    return part_of(problem_of(parameters, compiled.examples, compiled.sample_weight), solver_of(parameters), number)


def own_share(whole: Whole, piece: Any, number: int) -> Part:
    """A part that takes every n_parts-th of all examples; the others have weight 0."""
    n = whole.examples.n_examples
    weight = checked_weights(whole.sample_weight, n)
    weight[np.arange(n) % whole.n_parts != number] = 0.0
    parameters = on_this_worker(whole.parameters)
    return part_of(problem_of(parameters, whole.examples, weight), solver_of(parameters), number)


def check_examples(examples: Examples) -> None:
    """Refuse latent variables, whose rounds are made on one machine."""
    if isinstance(examples, Latent):
        raise UnsupportedError("latent variables are learnt on one machine only; take the estimator without Dask")


def on_this_worker(parameters: Parameters) -> Parameters:
    """The parameters with as many threads as the worker has, unless the user wants fewer."""
    threads = int(get_worker().state.nthreads)
    wanted = parameters.n_jobs
    return replace(parameters, n_jobs=threads if wanted is None or wanted < 1 else min(wanted, threads))
