"""For every task with a command line, once: a small file to learn from, and options that make learning fast."""

from collections.abc import Callable
from typing import NamedTuple

from helpers.motifs import planted_table
from widemargin.data.samples import SAMPLES


class TaskFile(NamedTuple):
    """The name and text of a file, and options of `train`."""

    name: str
    text: str
    options: list[str]


def sample(task: str, *fast: str) -> TaskFile:
    name, text, options = SAMPLES[task]()
    return TaskFile(name, text, [*options, *fast])


TASK_FILES: dict[str, Callable[[], TaskFile]] = {
    "tag": lambda: sample("tag", "--templates", "word lower"),
    "segment": lambda: sample("segment", "--templates", "word lower", "--segment-features", "lower"),
    "parse": lambda: sample("parse", "--hash-bits", "10"),
    "bracket": lambda: sample("bracket", "--hash-bits", "10"),
    "classify": lambda: sample("classify"),
    "rank": lambda: sample("rank", "--k", "2"),
    "cluster": lambda: sample("cluster"),
    "coreference": lambda: sample("coreference", "--hash-bits", "10"),
    "summarise": lambda: sample("summarise"),
    "motif": lambda: TaskFile("train.tsv", planted_table(), ["--length", "8", "--order", "0"]),
}
