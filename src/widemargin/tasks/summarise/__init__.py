"""Summaries of several documents: the sentences that say most within a number of words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import Parameters, parameter

LONGEST, WIDEST = 1_000_000, 10
"""The most words of a summary and of a concept."""


@dataclass(kw_only=True, repr=False, eq=False)
class SummariserParameters(Parameters):
    """Parameters of summarisers."""

    usual_C: ClassVar[float] = 1.0

    length: int | None = parameter(
        None,
        "How many words a summary has at most. By default the mean length of the references.",
        metavar="WORDS",
        least=1,
        most=LONGEST,
    )
    order: int = parameter(
        2, "How many words a concept has: sentences are chosen for the concepts they cover.", least=1, most=WIDEST
    )
    stop_words: "Sequence[str] | None" = parameter(
        None,
        "Words of little meaning, which features tell apart from others. By default English ones.",
        given_as="names",
        metavar="A,B,…",
    )
    lower: bool = parameter(True, "Whether words that differ in case only are the same.")
    split_sentences: bool = parameter(
        False, "Cut lines into sentences; by default a line of a text is a sentence.", option="--split-sentences"
    )
    time_limit: float | None = parameter(
        60.0,
        "Seconds for each integer programme, of which one is solved for every topic at every visit. What a limit "
        "leaves open is part of the proven gap. Results that met it may not repeat; with node_limit they do.",
        metavar="SECONDS",
        above=0,
    )
    node_limit: int | None = parameter(
        None, "Nodes of the search for each integer programme.", metavar="NODES", least=1, most=2**31 - 1
    )


@dataclass(kw_only=True)
class FileOptions:
    """Command-line options that are not training parameters."""

    encoding: str = parameter("utf-8", "The encoding of the files, such as cp1252.", metavar="NAME")


def _model() -> type[Any]:
    from widemargin.tasks.summarise.model import SummaryModel

    return SummaryModel


def _estimator() -> type[Any]:
    from widemargin.tasks.summarise.estimator import Summariser

    return Summariser


def _files() -> Any:
    from widemargin.tasks.summarise.files import SummaryFiles

    return SummaryFiles()


TASK = Task(
    {"summaries": Kind("Summariser", SummariserParameters, _model, _estimator)},
    does="Learn to summarise topics of several documents by some of their sentences, from reference summaries.\n\n"
    'Reads JSON lines ({"documents": [[sentences] or text, ...], "references": [text, ...]}), folders (topics/NAME, a '
    "text with a sentence per line or a folder of texts; references/NAME/*), and CoNLL-U with summaries in comments.",
    example="--train reviews --length 20 --out summaries.wm",
    files=_files,
    options=FileOptions,
    reads=("format",),
)
