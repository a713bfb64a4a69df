"""For every file format, once: a small file with all that the format can hold."""

from collections.abc import Callable

from helpers.command_line import written
from helpers.task_files import TASK_FILES

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
