"""A small file for every task with a command line, just large enough to learn something.

`widemargin warm` fills the cache of compiled kernels with them, and the tests learn from them.
"""

import json
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from widemargin.data.generators import addresses
from widemargin.data.treebanks import treebank

MOTIF = "TGACGTCA"


class Sample(NamedTuple):
    """The name and text of a file, and the options without which `train` cannot learn from it."""

    name: str
    text: str
    options: tuple[str, ...] = ()


def labelled_addresses(n: int = 40) -> str:
    """Addresses, a token and its label per line."""
    return "\n".join(
        "".join(f"{token}\t{label}\n" for token, label in zip(*pair, strict=True))
        for pair in zip(*addresses(n), strict=True)
    )


def vectors() -> str:
    """Numbers of two classes."""
    return "".join(f"{'even' if k % 2 == 0 else 'odd'} 0:{k % 2} 1:{k % 3} 2:{k % 5}\n" for k in range(30))


def queries() -> str:
    """Six queries of six documents each."""
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


def rings(n: int = 12) -> str:
    """Rings of six nodes, half of which are left and half right."""
    rng, lines = Random(0), []
    for k in range(n):
        labels = ["left" if (v + k) % 6 < 3 else "right" for v in range(6)]
        places = [(1 if label == "left" else -1) + rng.gauss(0, 0.6) for label in labels]
        nodes = [[round(place, 3), round(rng.gauss(0, 1), 3)] for place in places]
        edges = [[v, (v + 1) % 6] for v in range(6)]
        lines.append(json.dumps({"id": k, "nodes": nodes, "edges": edges, "labels": labels}))
    return "\n".join(lines) + "\n"


NAMES = (("Ada", "she", "her"), ("Carl", "he", "him"), ("Eva", "she", "her"), ("Gustav", "he", "him"))


def small_texts(n: int = 6) -> str:
    """CoNLL-U with documents of two sentences about two people and a dog."""
    lines: list[str] = []
    for k in range(n):
        (one, she, _), (two, _, him) = NAMES[k % 4], NAMES[(k + 1) % 4]
        sentences = [
            [(one, "PROPN", "(1)"), ("met", "VERB", ""), (two, "PROPN", "(2)"), ("and", "CCONJ", "")],
            [("the", "DET", "(3"), ("dog", "NOUN", "3)"), (".", "PUNCT", "")],
            [(she.title(), "PRON", "(1)"), ("liked", "VERB", ""), (him, "PRON", "(2)"), ("and", "CCONJ", "")],
            [("the", "DET", "(3"), ("old", "ADJ", ""), ("dog", "NOUN", "3)"), (".", "PUNCT", "")],
        ]
        lines.append(f"# newdoc id = text {k}")
        for begin in (0, 2):
            tokens = [token for sentence in sentences[begin : begin + 2] for token in sentence]
            for t, (word, tag, brackets) in enumerate(tokens, start=1):
                misc = f"Entity={brackets}" if brackets else "_"
                head, relation = (
                    (0, "root") if tag == "VERB" else (t + 1, "det") if tag in ("DET", "ADJ") else (2, "dep")
                )
                lines.append(f"{t}\t{word}\t{word.lower()}\t{tag}\t_\t_\t{head}\t{relation}\t_\t{misc}")
            lines.append("")
    return "\n".join(lines) + "\n"


def sequences(n: int = 24, size: int = 30) -> str:
    """A table of random sequences; every other one, from the first on, holds the motif at a random place."""
    rng = Random(0)
    rows = ["#id\tlabel\tsequence"]
    for i in range(n):
        letters, start = "".join(rng.choices("ACGT", k=size)), rng.randrange(size - len(MOTIF) + 1)
        planted = letters[:start] + MOTIF + letters[start + len(MOTIF) :]
        rows.append(f"s{i}\t{1 - i % 2}\t{letters if i % 2 else planted}")
    return "\n".join(rows) + "\n"


SAMPLES: dict[str, Callable[[], Sample]] = {
    "tag": lambda: Sample("train.tsv", labelled_addresses()),
    "segment": lambda: Sample("train.tsv", labelled_addresses()),
    "parse": lambda: Sample("train.conllu", treebank(20).conllu()),
    "bracket": lambda: Sample("train.mrg", "".join(f"{tree}\n" for tree in treebank(20).trees)),
    "classify": lambda: Sample("train.svm", vectors()),
    "rank": lambda: Sample("train.svm", queries()),
    "cluster": lambda: Sample("train.jsonl", people()),
    "coreference": lambda: Sample("train.conllu", small_texts()),
    "summarise": lambda: Sample("train.jsonl", reviews(), ("--length", "10")),
    "graph": lambda: Sample("train.jsonl", rings()),
    "motif": lambda: Sample("train.tsv", sequences(), ("--length", str(len(MOTIF)))),
}
