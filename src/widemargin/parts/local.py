"""Parts in this process, one after the other: for tests, and to count rounds and bytes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from widemargin.parts.messages import Call, Past
from widemargin.parts.part import Part, rebuilt
from widemargin.parts.team import About


class LocalCarrier:
    """Parts in this process; each of `makers` makes one of them."""

    def __init__(self, makers: Sequence[Callable[[], Part]]) -> None:
        self.makers, self.n_parts = makers, len(makers)
        self.parts: dict[int, Part] = {}

    def ask(self, calls: Mapping[int, Call], watch: Callable[[], None]) -> Iterator[tuple[int, Any]]:
        """The replies of the parts."""
        for k, call in calls.items():
            watch()
            yield k, call.on(self.parts.get(k))

    def rebuild(self, pasts: Mapping[int, Past], watch: Callable[[], None]) -> Iterator[tuple[int, About]]:
        """Make parts anew."""
        for k, past in pasts.items():
            watch()
            self.parts[k] = rebuilt(self.makers[k](), past)
            yield k, About.of(self.parts[k])
