"""Progress on a cluster: rounds, gap, bytes moved, and what each worker does."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from widemargin.core.stop import Callback
from widemargin.dask.carrier import DaskCarrier
from widemargin.parts.team import Team
from widemargin.report.progress import Aside, Progress


class Shown:
    """Shows the runs of a training, if `verbose` is set, for as long as its `with` block lasts."""

    def __init__(self, parameters: Any) -> None:
        verbose = bool(parameters.verbose)
        self._progress = Progress(tol=parameters.tol, enabled=verbose, more=self._more, unit="round")
        self._now: tuple[Team, DaskCarrier] | None = None

    @property
    def callbacks(self) -> list[Callback]:
        """The callbacks that show runs for other models that the main run needs, such as taggers."""
        return [Aside(self._progress)]

    @contextmanager
    def of(self, team: Team, carrier: DaskCarrier, *, aside: bool) -> Iterator[list[Callback]]:
        """Show a run over these parts; `aside` if it is for a model that the main run needs, such as a tagger."""
        self._now = team, carrier
        try:
            yield self.callbacks if aside else [self._progress]
        finally:
            self._now = None

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.__exit__(kind, error, traceback)

    def _more(self) -> str:
        """Bytes moved, the work of each worker, and the number of rebuilt parts."""
        if self._now is None:
            return ""
        team, carrier = self._now
        faults = f"{team.rebuilt} rebuilt" if team.rebuilt else ""
        figures = [f"{_spelt(team.sent + team.received)} moved", carrier.doing, faults]
        return "  ".join(each for each in figures if each)


def _spelt(n_bytes: int) -> str:
    """A number of bytes for people.

    >>> _spelt(1234), _spelt(56_000_000)
    ('1.23 kB', '56 MB')
    """
    size, unit = float(n_bytes), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.3g} {unit}"
