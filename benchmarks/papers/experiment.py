"""What a paper is made of: experiments that measure, and sections of its report that read what was measured."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from matplotlib.figure import Figure

SEED = 0
Size = TypeVar("Size")


class Bench(NamedTuple):
    """What an experiment may use: the folder of the corpora, whether to be quick, and whom to tell how it goes."""

    data: Path
    quick: bool
    tell: Callable[[str], None]

    def size(self, full: Size, quick: Size) -> Size:
        """A size of the full experiment, or of the quick one."""
        return quick if self.quick else full


class Experiment(NamedTuple):
    """What is measured in one go and stored in one file; `run` returns what JSON can hold."""

    name: str
    run: Callable[[Bench], Any]


class Table(NamedTuple):
    """Rows under a heading each; the first column names the row. None is shown as a dash."""

    head: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    caption: str = ""


class Picture(NamedTuple):
    """A figure to be stored under a name, and what it shows, in words."""

    name: str
    figure: Figure
    caption: str


class Claim(NamedTuple):
    """What the paper says, whether it holds here, and the figures that decide it."""

    says: str
    holds: bool
    because: str


Block = str | Table | Picture | Claim
Measured = Mapping[str, Any]


class Section(NamedTuple):
    """A table or figure of the paper: `write` makes its blocks of what the experiments `needs` came to."""

    title: str
    needs: tuple[str, ...]
    write: Callable[[Measured], Iterator[Block]]


class Paper(NamedTuple):
    """A paper: how it is cited, what differs here, its experiments and the sections of its report."""

    key: str
    title: str
    cited: str
    differs: str
    experiments: tuple[Experiment, ...]
    sections: tuple[Section, ...]
