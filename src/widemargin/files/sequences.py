"""Files of labelled sequences, one per line: tables with a header, or without one.

    #id   label  acs_sites  sequence         names of columns, in any order, separated by tabs or commas
    ARS1  1      56:73:+    TTGTATAACTG…

    +,S10,TACTAGCAATACGC…                    without names: label, name, sequence; or label and sequence
    0,t,a,c,t,a,g,…,+                        a letter per column: name, letters, label
    TACTAGCAATACGC…                          a sequence alone, for prediction

The column `sequence` is required; `id` (or `name`), `label` (or `class`) and one that ends in `sites` are optional.
Sites are start:end:strand, counted from 0, with semicolons between them, or a dot for none. Lines that begin with # are
comments, except for a first line that is the header. Without tabs and commas, blanks separate columns.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from widemargin.errors import DataError
from widemargin.files.raw import RawText, shorten
from widemargin.text.sequences import Sequences, Span

LABEL = "label"
NAMES = {"id": "id", "name": "id", "sequence": "sequence", "seq": "sequence", "label": LABEL, "class": LABEL}
SITE = re.compile(r"(\d{1,10}):(\d{1,10})(?::([+-]))?")


class SequenceData(NamedTuple):
    """The sequences of a file and their labels, None for a missing label."""

    sequences: Sequences
    labels: list[str | None]
    raw: RawText

    def classes(self) -> list[str]:
        """The label of every sequence; raises an error about the first that has none."""
        for line, label in zip(self.sequences.lines, self.labels, strict=True):
            if label is None:
                raise self.raw.fault(line - self.raw.first, "the sequence has no label")
        return [str(label) for label in self.labels]


class FoundSequence(NamedTuple):
    """One sequence as it is found in a file."""

    line: int
    name: str
    label: str | None
    text: str
    sites: list[Span]


def gather(raw: RawText, found: Sequence[FoundSequence]) -> SequenceData:
    """The sequences of a file, checked: there must be at least one, and letters must be valid."""
    if not found and not raw.first:
        raise DataError(f"{raw.source} has no sequences")
    for each in found:
        if not each.text:
            raise raw.fault(each.line, f"the sequence {shorten(each.name)!r} has no letters")
        if not each.text.isprintable() or " " in each.text:
            raise raw.fault(each.line, f"{shorten(each.text)!r} is not a sequence of letters")
    sites = [each.sites for each in found] if any(each.sites for each in found) else None
    count: Iterator[int] = raw.judge_once("numbers of sequences", lambda: itertools.count(1))
    sequences = Sequences(
        [each.text for each in found],
        [each.name or str(k) for each, k in zip(found, count, strict=False)],
        sites,
        raw.source,
        [raw.first + each.line for each in found],
    )
    return SequenceData(sequences, [each.label or None for each in found], raw)


def parse(raw: RawText, label: str | None = None) -> SequenceData:
    """Read a file; `label` names the column of labels. Errors name the file, the line and the value."""
    lines = [(number, line.strip("\r\n ")) for number, line in enumerate(raw.lines) if line.strip()]
    first = raw.judge_once("first line", lambda: lines[0][1] if lines else "")
    separator, header = _header(first)
    known = NAMES if label in (None, LABEL) else {**NAMES, LABEL: "", "class": "", str(label).lower(): LABEL}
    columns = {known.get(name, name): k for k, name in enumerate(header)}
    found = []
    if "sequence" in columns:
        if label not in (None, LABEL) and LABEL not in columns:
            raise raw.fault(
                lines[0][0] if lines else 0, f"there is no column {label!r}; there are {', '.join(map(repr, header))}"
            )
        sites = next((name for name in columns if name.endswith("sites")), "")
        for number, line in lines if raw.first else lines[1:]:
            if line.startswith("#"):
                continue
            fields = _cut(line, separator)
            if len(fields) != len(header):
                raise raw.fault(number, f"expected {len(header)} columns, found {len(fields)}: {shorten(line)!r}")
            row = {name: fields[k] for name, k in columns.items()}
            known_sites = sites_in(row[sites], len(row["sequence"]), raw, number) if sites else []
            found.append(FoundSequence(number, row.get("id", ""), row.get(LABEL), row["sequence"], known_sites))
    else:
        if label not in (None, LABEL):
            raise raw.fault(0, f"there is no header that says which column is {label!r}")
        found = [_row(line, number, raw) for number, line in lines if not line.startswith("#")]
    return gather(raw, found)


def cut(lines: Sequence[str]) -> int:
    """The number of lines of whole sequences (`files.pieces`): all, or 0 if there is only a header."""
    filled = [line.strip("\r\n ") for line in lines if line.strip()]
    named = bool(filled) and any(NAMES.get(name) == "sequence" for name in _header(filled[0])[1])
    return len(lines) if any(not line.startswith("#") for line in filled[named:]) else 0


def _header(line: str) -> tuple[str | None, list[str]]:
    """The separator of columns, and the names of columns if this line is a header."""
    separator = "\t" if "\t" in line else "," if "," in line else None
    return separator, [name.partition("(")[0].strip().lower() for name in _cut(line.lstrip("#"), separator)]


def sites_in(text: str, length: int, raw: RawText, line: int) -> list[Span]:
    """The sites in a field; they must be inside the sequence."""
    sites = []
    for each in text.split(";") if text not in (".", "") else []:
        match = SITE.fullmatch(each.strip())
        if match is None or not int(match[1]) < int(match[2]) <= length:
            raise raw.fault(line, f"{shorten(each)!r} is not a site start:end:strand within {length} letters")
        sites.append(Span(int(match[1]), int(match[2]), match[3] or "+"))
    return sites


def _cut(line: str, separator: str | None) -> list[str]:
    return [field.strip() for field in line.split(separator)]


def _row(line: str, number: int, raw: RawText) -> FoundSequence:
    """A line without named columns."""
    fields = _cut(line, "," if "," in line else "\t" if "\t" in line else None)
    if len(fields) <= 3:
        label, name = (fields[0] if len(fields) > 1 else None), (fields[1] if len(fields) == 3 else "")
        return FoundSequence(number, name, label, fields[-1], [])
    begin, end = not _is_letter(fields[0]), len(fields) - (not _is_letter(fields[-1]))
    letters = fields[begin:end]
    if not all(len(field) == 1 for field in letters) or (not begin and end == len(fields)):
        raise raw.fault(number, f"expected label, name and sequence, found {len(fields)} columns: {shorten(line)!r}")
    name, label = (fields[0] if begin else ""), (fields[-1] if end < len(fields) else None)
    return (
        FoundSequence(number, name, label, "".join(letters), [])
        if label
        else FoundSequence(number, "", name, "".join(letters), [])
    )


def _is_letter(field: str) -> bool:
    return len(field) == 1 and (field.isalpha() or field in "*.")
