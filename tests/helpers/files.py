"""Small files to learn from, for every task with a command line, and with all that it can hold, for every format."""

from collections.abc import Callable
from typing import NamedTuple

from helpers.command_line import written
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
    "graph": lambda: sample("graph"),
    "motif": lambda: TaskFile("train.tsv", planted_table(), ["--length", "8", "--order", "0"]),
}


XML = """<?xml version="1.0" encoding="UTF-8"?>
<!-- two sequences -->
<references>
<reference id="1"><author>Solon, G.</author> <date>(1999).</date> <title>A <b>nested</b> &amp; title</title></reference>
<reference><author>Wu</author>, in: <title>Ünïcode</title></reference>
</references>
"""

SPANS = """{"tokens": ["in", "New", "York"], "spans": [[1, 3, "city"]], "id": 1.0}
{"tokens": ["Köln"], "spans": [{"start": 0, "end": 1, "label": "city"}]}
"""

FASTA = """; a comment
>ars1 label=1 sites=1:4:+;6:9 known since 1980
ACGTAC
 GTNac
>neg1 class=-1
ACGT
"""


def conllx() -> str:
    """The treebank in CoNLL-X, whose last two columns are numbers and relations."""
    rows = (line.split("\t") for line in TASK_FILES["parse"]().text.splitlines() if not line.startswith("#"))
    return "".join("\t".join([*row[:8], row[6], row[7]]) + "\n" if len(row) == 10 else "\n" for row in rows)


FORMAT_FILES: dict[str, Callable[[], list[str]]] = {
    "conll": lambda: [written("conll", 3, 1), "# a comment\nNew York B-city\n\na b O\n"],
    "conllu": lambda: [written("conllu", 3, 1), TASK_FILES["parse"]().text],
    "conllx": lambda: [conllx()],
    "brackets": lambda: [TASK_FILES["bracket"]().text, "( (S (NP-SBJ-1 (-NONE- *)) (VP (VB go)\n  (. .))))\n"],
    "jsonl": lambda: [written("jsonl", 3, 1), SPANS],
    "xml": lambda: [XML],
    "svmlight": lambda: [TASK_FILES["classify"]().text, "sweet,salty qid:4 2:1.5 7:-1e3 # a comment\n 7:1\n"],
    "fasta": lambda: [FASTA],
    "sequences": lambda: [TASK_FILES["motif"]().text, "+,S10,\tacgtN\n-,S11,ttg*\n", "0,t,a,c,+\n", "1 ACGT\n"],
}
