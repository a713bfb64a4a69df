"""For every task with a command line, once: a small file to learn from, and options that make learning fast."""

import json
from collections.abc import Callable
from typing import NamedTuple

from helpers.coreference import small_texts
from helpers.motifs import planted_table
from widemargin.data.generators import addresses
from widemargin.data.treebanks import treebank


class TaskFile(NamedTuple):
    """The name and text of a file, and options of `train`."""

    name: str
    text: str
    options: list[str]


def labelled(n: int = 40) -> str:
    return "\n".join(
        "".join(f"{token}\t{label}\n" for token, label in zip(*pair, strict=True))
        for pair in zip(*addresses(n), strict=True)
    )


def vectors() -> str:
    return "".join(f"{'even' if k % 2 == 0 else 'odd'} 0:{k % 2} 1:{k % 3} 2:{k % 5}\n" for k in range(30))


def queries() -> str:
    return "".join(f"{k % 7 % 3} qid:{k // 6} 0:{k % 7 % 3 - k % 2} 1:{k % 2} 3:{k % 5 / 2}\n" for k in range(36))


def people(n: int = 6) -> str:
    """Documents of records, each of two people who are written in three ways."""
    forms = ("{first} {last}", "{initial}. {last}", "{last}, {first}")
    lines = []
    for k in range(n):
        pairs = [("Anna", "Berg"), ("Carl", "Dahl"), ("Eva", "Falk"), ("Gustav", "Holm")]
        chosen = [pairs[k % 4], pairs[(k + 1) % 4]]
        records = [
            {"name": form.format(first=first, last=last, initial=first[0]), "year": 1900 + len(last) + k}
            for form in forms
            for first, last in chosen
        ]
        lines.append(json.dumps({"id": k, "records": records, "clusters": [last for _ in forms for _, last in chosen]}))
    return "\n".join(lines) + "\n"


def reviews(n: int = 5) -> str:
    """Topics of three reviews each, with two references."""
    things = [("battery", "long"), ("screen", "bright"), ("keyboard", "small"), ("sound", "loud")]
    lines = []
    for k in range(n):
        (thing, how), (other, so) = things[k % 4], things[(k + 1) % 4]
        documents = [
            [f"The {thing} is very {how}.", f"I bought it in week {k}.", f"My {other} is {so}."],
            f"Delivered on day {k}.\nThe {thing} is very {how} indeed.\nIs the {other} fine?",
            [f"A {how} {thing}, and the {other} is {so} as well.", f"The {thing} is very {how}."],
        ]
        references = [f"The {thing} is very {how}.", f"A {how} {thing}; the {other} is {so}."]
        lines.append(json.dumps({"id": k, "documents": documents, "references": references}))
    return "\n".join(lines) + "\n"


TASK_FILES: dict[str, Callable[[], TaskFile]] = {
    "tag": lambda: TaskFile("train.tsv", labelled(), ["--templates", "word lower"]),
    "segment": lambda: TaskFile("train.tsv", labelled(), ["--templates", "word lower", "--segment-features", "lower"]),
    "parse": lambda: TaskFile("train.conllu", treebank(20).conllu(), ["--hash-bits", "10"]),
    "bracket": lambda: TaskFile(
        "train.mrg", "".join(f"{tree}\n" for tree in treebank(20).trees), ["--hash-bits", "10"]
    ),
    "classify": lambda: TaskFile("train.svm", vectors(), []),
    "rank": lambda: TaskFile("train.svm", queries(), ["--k", "2"]),
    "cluster": lambda: TaskFile("train.jsonl", people(), []),
    "coreference": lambda: TaskFile("train.conllu", small_texts(), ["--hash-bits", "10"]),
    "summarise": lambda: TaskFile("train.jsonl", reviews(), ["--length", "10"]),
    "motif": lambda: TaskFile("train.tsv", planted_table(), ["--length", "8", "--order", "0"]),
}
