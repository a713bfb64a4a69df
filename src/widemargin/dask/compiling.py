"""From pieces of data to what all parts share: a survey of all of them, made on the workers and merged in a tree."""

from collections.abc import Callable
from typing import Any, NamedTuple

from distributed import Client, Future

from widemargin.dask import makers
from widemargin.dask.cluster import large_messages, result
from widemargin.errors import DataError
from widemargin.tasks import Kind
from widemargin.tasks.survey import Survey
from widemargin.tasks.training import Compiled


class Surveyed(NamedTuple):
    """The pieces that have examples, with their numbers, and the survey of all of them."""

    pieces: dict[int, Any]
    survey: Survey


def surveyed(
    client: Client, run: str, kind: Kind, parameters: Any, pieces: dict[int, Any], view: makers.View | None = None
) -> Surveyed:
    """Survey the pieces on the workers, in a tree."""
    # Pieces travel with their tasks: Dask then repeats these by itself when a worker dies.
    with large_messages():
        found = {
            k: client.submit(makers.survey, kind, parameters, piece, k, view, key=f"survey-{k}-{run}", pure=False)
            for k, piece in pieces.items()
        }
        there = {k: client.submit(makers.exists, each, key=f"exists-{k}-{run}") for k, each in found.items()}
        there = {k: each for k, each in there.items() if result(client, each)}
        if not there:
            raise DataError("there are no examples to learn from")
        together = _reduced(client, run, [found[k] for k in there], makers.merged)
        return Surveyed({k: pieces[k] for k in there}, result(client, together))


def compiled_here(
    client: Client, kind: Kind, parameters: Any, found: Surveyed, dev: Any, view: makers.View | None
) -> tuple[Compiled[Any], dict[str, Any]]:
    """Compile the first example, to make a model from, and the development data; with facts about the first file."""
    with large_messages():
        first = next(iter(found.pieces.values()))
        sample, about = result(client, client.submit(makers.sample, first, pure=False))
    if view is not None:
        sample = view(sample)
    return kind.load("compile")(parameters, sample._replace(dev=dev), survey=found.survey), about


def _reduced(client: Client, run: str, futures: list[Future[Any]], function: Callable[..., Any]) -> Future[Any]:
    """One future from many, neighbours first."""
    level = 0
    while len(futures) > 1:
        level += 1
        pairs = [futures[k : k + 2] for k in range(0, len(futures), 2)]
        futures = [
            pair[0] if len(pair) == 1 else client.submit(function, *pair, key=f"merge-{level}-{k}-{run}", pure=False)
            for k, pair in enumerate(pairs)
        ]
    return futures[0]
