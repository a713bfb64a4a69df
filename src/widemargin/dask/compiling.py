"""From pieces of data to what all parts share: a survey of all of them, made on the workers and merged in a tree."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from distributed import Client, Future

from widemargin.dask import makers
from widemargin.dask.cluster import results
from widemargin.errors import DataError
from widemargin.tasks import Kind
from widemargin.tasks.survey import Survey
from widemargin.tasks.training import Compiled


class Surveyed(NamedTuple):
    """The pieces that have examples, with their numbers, and the survey of all of them."""

    pieces: dict[int, Any]
    survey: Survey


def surveyed(
    client: Client, kind: Kind, parameters: Any, pieces: dict[int, Any], view: makers.View | None = None
) -> Surveyed:
    """Survey the pieces on the workers, in a tree."""

    def submit(workers: list[str] | None) -> list[Future[Any]]:
        # Pieces travel with their tasks: Dask then repeats these by itself when a worker dies.
        run = uuid4().hex[:8]
        options = {"workers": workers, "pure": False}
        found = [
            client.submit(makers.survey, kind, parameters, piece, k, view, key=f"survey-{k}-{run}", **options)
            for k, piece in pieces.items()
        ]
        there = [client.submit(makers.exists, each, **options) for each in found]
        return [*there, _reduced(found, partial(client.submit, makers.merged, **options))]

    *there, survey = results(client, submit)
    if survey is None:
        raise DataError("there are no examples to learn from")
    return Surveyed({k: piece for (k, piece), each in zip(pieces.items(), there, strict=True) if each}, survey)


def compiled_here(
    client: Client, kind: Kind, parameters: Any, found: Surveyed, dev: Any, view: makers.View | None
) -> tuple[Compiled[Any], dict[str, Any]]:
    """Compile the first example, to make a model from, and the development data; with facts about the first file."""
    first = next(iter(found.pieces.values()))
    (sample, about), *_ = results(
        client, lambda workers: [client.submit(makers.sample, first, workers=workers, pure=False)]
    )
    if view is not None:
        sample = view(sample)
    return kind.compile(parameters, sample._replace(dev=dev), survey=found.survey), about


def _reduced(futures: list[Future[Any]], merge: Callable[..., Future[Any]]) -> Future[Any]:
    """One future from many, neighbours first."""
    while len(futures) > 1:
        pairs = [futures[k : k + 2] for k in range(0, len(futures), 2)]
        futures = [pair[0] if len(pair) == 1 else merge(*pair) for pair in pairs]
    return futures[0]
