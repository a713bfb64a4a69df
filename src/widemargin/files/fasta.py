"""FASTA files: a header that begins with >, then the letters of the sequence on any number of lines.

    >ARS102 label=1 sites=56:73:+ anything else
    TTGTATAACTGCCCTTAATACATACGTTATACCACTTTTGCACCATATACTTACC
    ACTCCATTTATATACACTTATG

The first word of a header is the name. A word `label=…` (or `class=…`) is the label, and a word `sites=…` lists known
sites; both may be missing. Lines that begin with a semicolon are comments.
"""

from collections.abc import Sequence

from widemargin.files.raw import RawText, shorten
from widemargin.files.sequences import LABEL, NAMES, FoundSequence, SequenceData, gather, sites_in


def is_fasta(raw: RawText) -> bool:
    """Whether the first line that is not a comment begins with >."""
    first = (line for line in raw.lines if line.strip() and not line.startswith(";"))
    return raw.judge_once("is FASTA", lambda: next(first, "").startswith(">"))


def cut(lines: Sequence[str]) -> int:
    """The lines of whole sequences (`files.pieces`): up to the last header."""
    headers = [k for k, line in enumerate(lines) if line.startswith(">")]
    return headers[-1] if len(headers) > 1 else 0


def parse(raw: RawText, label: str | None = None) -> SequenceData:
    """Read a file; `label` is the word before = in headers that gives the label."""
    headers: list[tuple[int, str]] = []
    letters: list[list[str]] = []
    for number, line in enumerate(raw.lines):
        if line.startswith(">"):
            headers.append((number, line[1:]))
            letters.append([])
        elif line.strip() and not line.startswith(";"):
            if not headers:
                raise raw.fault(number, f"expected a header that begins with >: {shorten(line.strip())!r}")
            letters[-1].append("".join(line.split()))
    found = []
    for (number, header), parts in zip(headers, letters, strict=True):
        name, *words = header.split() or [""]
        text = "".join(parts)
        facts = {key.lower(): value for key, equals, value in (word.partition("=") for word in words) if equals}
        known = {key if key == label else NAMES.get(key, key): value for key, value in facts.items()}
        sites = sites_in(known["sites"], len(text), raw, number) if "sites" in known else []
        found.append(FoundSequence(number, name, known.get(label or LABEL), text, sites))
    return gather(raw, found)
