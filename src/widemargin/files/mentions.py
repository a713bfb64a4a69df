"""Mentions in texts: CoNLL-U with ``Entity=`` in the last column, or CoNLL files with a column of coreference.

    1  The   …  Entity=(7-person-1-coref(3        1  The   (7(3     a mention of the entity 7 begins, and one of 3
    2  pope  …  Entity=3)7)                       2  pope  3)7)     both end

``(7)`` is a mention of a single token; ``|`` may stand between brackets. The text after the name of an entity is kept,
but not read, because in some corpora it gives the answer away. If a mention has several parts, ``(7[1/2]``, the first
counts.
Documents begin at ``# newdoc`` or ``# begin document``. Predictions replace the names of entities by numbers, or all
brackets by new ones.

In trees in brackets, mentions can only be detected (`read_trees`): a file is one document without marked entities.
Predictions are then written in columns: word, tag, parse column as in CoNLL-2012, coreference.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, cast

import numpy as np

from widemargin.errors import DataError
from widemargin.files.brackets import parse as parse_brackets
from widemargin.files.formats import parse
from widemargin.files.raw import RawText, shorten
from widemargin.files.table import TokenTable
from widemargin.text.mentions import Mentions
from widemargin.text.trees import Tree

BEGIN = re.compile(r"#\s*(?:newdoc(?:\s+id\s*=\s*(.*))?|begin document\s*(.*))$")
BORDER = re.compile(r"#\s*(?:begin|end) document\b")
BRACKET = re.compile(r"\((?P<begun>[^()|\-]+)(?P<rest>(?:-[^()|]*)?)(?P<single>\)?)|(?P<ended>[^()|]+)\)")
ENTITY = re.compile(r"(?:(?<=\|)|^)Entity=([^|]*)")
PART = re.compile(r"\[(\d+)/\d+\]$")
NOTHING = ("_", "-", "*")
USED = ("word", "lemma", "upos", "xpos", "feats", "head", "deprel", "parse")
CONLL_2012 = 11  # the fewest columns of a file of the CoNLL-2012 shared task


class MentionPlace(NamedTuple):
    """A mention: its tokens [start, end) in its document, its entity, and the numbers of its brackets in the file."""

    start: int
    end: int
    entity: str
    brackets: list[int]


class MentionFile(NamedTuple):
    """The documents of a file and their mentions; `column` holds the brackets."""

    document: TokenTable
    column: str
    X: list[Mentions]
    y: list[list[str]]
    places: list[list[MentionPlace]]
    names: Sequence[str]
    facts: dict[str, Any]

    @property
    def sizes(self) -> list[int]:
        """The number of mentions of each document."""
        return list(map(len, self.X))

    def rewrite(self, outputs: Sequence[Sequence[int]]) -> str:
        """The file with the numbers of clusters in place of the names of entities."""
        number: dict[int, int] = {}
        for places, clusters in zip(self.places, outputs, strict=True):
            for place, cluster in zip(places, clusters, strict=True):
                number |= dict.fromkeys(place.brackets, cluster + 1)
        count = iter(range(len(number)))

        def with_number(bracket: re.Match[str]) -> str:
            name = str(number[next(count)])
            if bracket["ended"] is not None:
                return f"{name}{_part(bracket['ended'])})"
            return f"({name}{_part(bracket['begun'])}{bracket['rest']}{bracket['single']}"

        def with_entities(value: str) -> str:
            begin, end = _annotation(value, self.column)
            return value[:begin] + BRACKET.sub(with_number, value[begin:end]) + value[end:]

        return self.document.text({self.column: list(map(with_entities, self.document.columns[self.column].strings()))})

    def mark_mentions(self, spans: Sequence[Sequence[tuple[int, int]]], outputs: Sequence[Sequence[int]]) -> str:
        """The file with its brackets replaced by those of these mentions, which have the numbers of their clusters."""
        values = self.document.columns[self.column].strings()
        raw = self.document.raw
        nothing = raw.judge_once("nothing", lambda: next((value for value in values if value in NOTHING), "_"))
        written, token = [], 0
        for mentions, found, clusters in zip(self.X, spans, outputs, strict=True):
            for brackets in new_brackets(len(mentions.sentence), found, clusters):
                written.append(_with_brackets(values[token], self.column, brackets, nothing))
                token += 1
        return self.document.text({self.column: written})


def new_brackets(n: int, spans: Sequence[tuple[int, int]], clusters: Sequence[int]) -> list[list[str]]:
    """The brackets at each of n tokens: opening ones, the longest mention first, then closing ones, the longest last.

    >>> new_brackets(3, [(0, 1), (0, 3), (1, 3)], [1, 0, 2])
    [['(1', '(2)'], ['(3'], ['3)', '1)']]
    """
    begun: list[list[str]] = [[] for _ in range(n)]
    ended: list[list[str]] = [[] for _ in range(n)]
    for (start, end), cluster in sorted(zip(spans, clusters, strict=True), key=lambda each: each[0][0] - each[0][1]):
        if end - start == 1:
            begun[start].append(f"({cluster + 1})")
        else:
            begun[start].append(f"({cluster + 1}")
            ended[end - 1].insert(0, f"{cluster + 1})")
    return [one + other for one, other in zip(begun, ended, strict=True)]


def _with_brackets(value: str, column: str, brackets: Sequence[str], nothing: str) -> str:
    """The value of a token with these brackets instead of its own."""
    if column != "misc":
        return "|".join(brackets) or nothing
    rest = [part for part in value.split("|") if part not in NOTHING and not part.startswith("Entity=")]
    return "|".join([*(["Entity=" + "".join(brackets)] if brackets else []), *rest]) or "_"


def read(
    raw: RawText,
    chosen: str,
    names: Sequence[str] | None,
    about: Mapping[str, Any],
    *,
    gold: bool,
    required: bool = True,
) -> MentionFile:
    """Read mentions; if they are `required`, there must be some. Names of entities matter only with `gold`."""
    lines = ["" if chosen == "conll" and BORDER.match(line) else line for line in raw.lines]
    tokens = replace(raw, lines=lines)
    if chosen == "conll" and names is None:
        names = raw.judge_once("names", lambda: _guessed_names(tokens))
    # The lines that are not tokens are put back, so that they are written.
    document = replace(cast("TokenTable", parse(tokens, chosen, names)), raw=raw)  # both formats are tables
    column = "misc" if chosen == "conllu" else document.columns.names[-1]
    starts, titles = _documents(document)
    brackets = document.columns[column].strings()
    columns = {name: document.columns[name].strings() for name in USED if name in document.columns}
    if "word" not in columns:
        raise DataError(f"{raw.source} has no column 'word'; name the columns by --columns")
    sentence = np.repeat(np.arange(document.columns.n_sequences), np.diff(document.columns.indptr))
    X, places, count = [], [], 0
    for title, begin, end in zip(titles, starts, [*starts[1:], document.columns.n_tokens], strict=True):
        found, count = _places(document, brackets, column, begin, end, count)
        places.append(found)
        part = {name: values[begin:end] for name, values in columns.items()}
        X.append(Mentions(part, sentence[begin:end], [(place.start, place.end) for place in found], title))
    if required and not some_mentions(raw, any(places)):
        raise DataError(f"{raw.source} has no mentions in its column {column!r}")
    y = [[place.entity for place in each] for each in places]
    return MentionFile(document, column, X, y, places, names or (), {})


def cut(lines: Sequence[str]) -> int:
    """The number of lines of whole documents (`files.pieces`): up to the last line that begins another document."""
    begins = (k for k in range(len(lines) - 1, 0, -1) if lines[k].startswith("#") and BEGIN.match(lines[k]))
    end = next(begins, 0)
    return end if any(line.strip() and not line.startswith("#") for line in islice(lines, end)) else 0


def some_mentions(raw: RawText, found: bool) -> bool:
    """Whether this piece of a file or one before it has mentions; True unless it is the last, as later ones may."""
    seen: set[bool] = raw.judge_once("some mentions", set)
    seen.add(found)
    return True in seen or not raw.is_last


def _guessed_names(raw: RawText) -> list[str]:
    """The names of columns: those of CoNLL-2012 if there are many; otherwise word, or number and word, come first."""
    first = next((line for line in raw.lines if line.strip()), "").split(
        "\t" if any("\t" in x for x in raw.lines) else None
    )
    if len(first) >= CONLL_2012:
        between = [f"column{k}" for k in range(7, len(first))]
        return ["document", "part", "id", "word", "xpos", "parse", *between, "coref"]
    begin = ["id", "word"] if len(first) > 2 and first[0].isdecimal() else ["word"]
    return [*begin, *(f"column{k}" for k in range(len(begin) + 1, len(first))), "coref"]


def _documents(document: TokenTable) -> tuple[list[int], list[str]]:
    """The first token of each document, and its name; empty documents are left out."""
    token_lines = document.token_lines
    found = [(line, BEGIN.match(text)) for line, text in enumerate(document.raw.lines) if text.startswith("#")]
    begun = [(line, (match[1] or match[2] or "").strip()) for line, match in found if match]
    at = np.searchsorted(token_lines, [line for line, _ in begun]).tolist()
    starts: dict[int, str] = {0: ""}
    starts |= {start: title for start, (_, title) in zip(at, begun, strict=True) if start < len(token_lines)}
    return list(starts), list(starts.values())


def _annotation(value: str, column: str) -> tuple[int, int]:
    """Where the brackets begin and end in the value of a token; equal places if there are none."""
    if column != "misc":
        return (0, 0) if value in NOTHING else (0, len(value))
    found = ENTITY.search(value)
    return found.span(1) if found else (0, 0)


def _brackets(document: TokenTable, value: str, column: str, token: int) -> Iterator[re.Match[str]]:
    begin, end = _annotation(value, column)
    text = value[begin:end]
    if BRACKET.sub("", text).strip("|"):
        raise _fault(document, token, f"{shorten(text)!r} is not a row of brackets such as (7(3) or 7)")
    yield from BRACKET.finditer(text)


def _places(
    document: TokenTable, values: Sequence[str], column: str, begin: int, end: int, count: int
) -> tuple[list[MentionPlace], int]:
    """The mentions of the document of these tokens, in order, and the number of brackets so far."""
    opened: dict[str, list[tuple[int, int]]] = {}
    found: list[MentionPlace] = []
    parts: list[MentionPlace] = []
    for token in range(begin, end):
        for bracket in _brackets(document, values[token], column, token):
            if bracket["ended"] is None and not bracket["single"]:
                opened.setdefault(bracket["begun"], []).append((token, count))
            else:
                name = bracket["begun"] or bracket["ended"]
                if bracket["ended"] is not None and not opened.get(name):
                    raise _fault(document, token, f"a mention of {shorten(name)!r} ends that has not begun")
                start, first = (token, count) if bracket["single"] else opened[name].pop()
                place = MentionPlace(start - begin, token + 1 - begin, PART.sub("", name), [first, count])
                (found if (PART.search(name) or "01")[1] == "1" else parts).append(place)
            count += 1
    for name, left in opened.items():
        if left:
            raise _fault(document, left[0][0], f"a mention of {shorten(name)!r} begins that does not end")
    for part in parts:
        # The brackets of further parts are kept with the mention that they belong to.
        whole = [place for place in found if place.entity == part.entity and place.start <= part.start]
        if not whole:
            raise _fault(document, begin + part.start, f"{shorten(part.entity)!r} has a further part but no first one")
        whole[-1].brackets.extend(part.brackets)
    return sorted(found, key=lambda place: (place.start, -place.end)), count


def _part(name: str) -> str:
    found = PART.search(name)
    return found[0] if found else ""


def _fault(document: TokenTable, token: int, complaint: str) -> DataError:
    return document.raw.fault(document.token_lines[token], complaint)


class MentionTrees(NamedTuple):
    """The only document of a file."""

    X: list[Mentions]
    y: list[list[str]]
    names: Sequence[str] = ()
    facts: Mapping[str, Any] = {}

    def mark_mentions(self, spans: Sequence[Sequence[tuple[int, int]]], outputs: Sequence[Sequence[int]]) -> str:
        """The text in columns, with these clusters of these mentions."""
        lines = []
        for document, found, clusters in zip(self.X, spans, outputs, strict=True):
            brackets = new_brackets(len(document.sentence), found, clusters)
            columns = (document.columns[name] for name in ("word", "xpos", "parse"))
            for token, fields in enumerate(zip(*columns, strict=True)):
                if token and document.sentence[token] != document.sentence[token - 1]:
                    lines.append("")
                lines.append("\t".join([*fields, "|".join(brackets[token]) or "-"]))
        return "".join(f"{line}\n" for line in lines)


def read_trees(raw: RawText, *, gold: bool) -> MentionTrees:
    """Read trees; there are no entities to learn from, so `gold` is an error."""
    if gold:
        raise DataError(f"{raw.source} holds trees in brackets, which mark no entities; mentions can only be detected")
    trees = parse_brackets(raw).trees
    tagged = [tree.tagged() for tree in trees]
    columns = {
        "word": [word for tokens in tagged for word, _ in tokens],
        "xpos": [tag for tokens in tagged for _, tag in tokens],
        "parse": [piece for tree in trees for piece in _parse_column(tree)],
    }
    sentence = np.repeat(np.arange(len(trees)), [len(tokens) for tokens in tagged])
    return MentionTrees([Mentions(columns, sentence, [])], [[]])


def _parse_column(tree: Tree) -> list[str]:
    """The parse column: for each word, the constituents that begin with it, a star, and those that end with it.

    >>> _parse_column(Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"))
    ['(S(NP*', '*)', '(VP*))']
    """
    if tree.word is not None:
        return ["*"]
    found = [piece for child in tree.children if isinstance(child, Tree) for piece in _parse_column(child)]
    found[0] = f"({tree.label or 'TOP'}{found[0]}"
    found[-1] += ")"
    return found
