"""Texts with their entities in colours, and why mentions are linked.

Texts are drawn as a web page without scripts, or as lines for a terminal. Entities of several mentions have a colour
and a number; single mentions have only a faint line. Links are explained by the names of their features and by their
weights.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.sparse import boundaries
from widemargin.errors import WidemarginError
from widemargin.report.explain import Explanation, Option, Question, compare_options, list_parts
from widemargin.report.svg import web_page
from widemargin.report.text import printable
from widemargin.tasks.clusters import COLOURS, larger_clusters
from widemargin.tasks.coreference.examples import link_features
from widemargin.tasks.coreference.features import MEASURES, LinkExtractor, measures_of, mention_columns
from widemargin.tasks.strongest import Part, strongest
from widemargin.text.attributes import Resources
from widemargin.text.columns import Column, Columns
from widemargin.text.mentions import KINDS, PRONOUNS, Mentions, describe_mentions
from widemargin.text.roles import RoleHasher, measure_keys, spell_roles
from widemargin.text.templates import Atoms

if TYPE_CHECKING:
    from widemargin.tasks.coreference.model import CoreferenceModel


CODES = (34, 31, 32, 35, 33, 36, 94, 91, 92, 95)
"""Colours of a terminal."""
STYLE = """
body { font-size: 1.06rem; line-height: 2.1; }
h2 { font-size: 1.1rem; margin: 2.5rem 0 0.5rem; } p { margin: 0 0 0.6rem; }
span { border-bottom: 1px dotted var(--strong); padding: 0 1px 1px; }
span.e { border-bottom: 2px solid; border-radius: 3px; }
span.e span.e { padding-bottom: 0; }
b { font-size: 0.65em; vertical-align: super; margin-left: 1px; }
"""


class MentionPiece(NamedTuple):
    """A run of tokens of a mention; a mention that crosses another has several, and `is_last` marks the last."""

    start: int
    end: int
    entity: int
    is_last: bool


def text_page(X: Sequence[Mentions], outputs: Sequence[Sequence[int]]) -> str:
    """The documents as a web page."""
    body = "".join(_section(document, entities) for document, entities in zip(X, outputs, strict=True))
    return web_page("Entities", body, STYLE, dark=False)  # the colours of entities are made for white


def text_lines(X: Sequence[Mentions], outputs: Sequence[Sequence[int]]) -> str:
    """The documents as lines, a sentence each; coloured if standard output is a terminal with colours."""
    coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    lines = []
    for document, entities in zip(X, outputs, strict=True):
        if document.name:
            lines.append(printable(document.name))
        lines += [*_lines(document, entities, coloured=coloured), ""]
    return "\n".join(lines)


def _lines(document: Mentions, entities: Sequence[int], *, coloured: bool = False) -> Iterator[str]:
    r"""The sentences of a document.

    >>> import numpy as np
    >>> document = Mentions({"word": "Ada saw her .".split()}, np.zeros(4, dtype=int), [(0, 1), (2, 3)])
    >>> list(_lines(document, [0, 0]))
    ['[Ada]1 saw [her]1 .']
    """
    numbers, codes = _numbers(entities), list[int]()

    def begin(piece: MentionPiece) -> str:
        number = numbers.get(piece.entity)
        if number is None:
            return ""
        codes.append(CODES[(number - 1) % len(CODES)])
        return f"\x1b[{codes[-1]}m[" if coloured else "["

    def end(piece: MentionPiece) -> str:
        number = numbers.get(piece.entity)
        if number is None:
            return ""
        codes.pop()  # the mention around this one, if any, goes on in its own colour
        return f"]{number if piece.is_last else '…'}" + (f"\x1b[{codes[-1] if codes else 0}m" if coloured else "")

    return _sentences(document, entities, begin, end, printable)


def _section(document: Mentions, entities: Sequence[int]) -> str:
    numbers = _numbers(entities)

    def begin(piece: MentionPiece) -> str:
        number = numbers.get(piece.entity)
        if number is None:
            return "<span>"
        colour = COLOURS[(number - 1) % len(COLOURS)]
        return f'<span class="e" style="border-color:{colour};background:{colour}18" title="entity {number}">'

    def end(piece: MentionPiece) -> str:
        number = numbers.get(piece.entity)
        if number is None or not piece.is_last:
            return "</span>"
        return f'<b style="color:{COLOURS[(number - 1) % len(COLOURS)]}">{number}</b></span>'

    written = _sentences(document, entities, begin, end, lambda word: escape(printable(word)))
    return f"<h2>{escape(printable(document.name))}</h2>\n" + "".join(f"<p>{sentence}</p>\n" for sentence in written)


def _numbers(entities: Sequence[int]) -> dict[int, int]:
    """A number for each entity with several mentions, from 1 on."""
    return {entity: number + 1 for entity, number in larger_clusters(entities).items()}


def _sentences(
    document: Mentions,
    entities: Sequence[int],
    begin: Callable[[MentionPiece], str],
    end: Callable[[MentionPiece], str],
    spelt: Callable[[str], str],
) -> Iterator[str]:
    """The sentences; `begin` and `end` give the text before and after each piece of a mention."""
    words, sentence = document.columns["word"], document.sentence.tolist()
    opened: list[list[MentionPiece]] = [[] for _ in words]
    closed: list[list[MentionPiece]] = [[] for _ in words]
    for piece in _pieces(document, entities):
        opened[piece.start].append(piece)
        closed[piece.end - 1].insert(0, piece)
    line: list[str] = []
    for token, word in enumerate(words):
        if token and sentence[token] != sentence[token - 1]:
            yield " ".join(line)
            line = []
        around = "".join(map(begin, opened[token])), "".join(map(end, closed[token]))
        line.append(f"{around[0]}{spelt(word)}{around[1]}")
    if line:
        yield " ".join(line)


def _pieces(document: Mentions, entities: Sequence[int]) -> Iterator[MentionPiece]:
    """The pieces of all mentions, properly nested, outer ones first; mentions are also cut at ends of sentences."""
    sentence = document.sentence.tolist()
    around: list[int] = []
    order = sorted(zip(document.spans, entities, strict=True), key=lambda each: (each[0][0], -each[0][1]))
    waiting = [(start, end, entity) for (start, end), entity in order]
    while waiting:
        start, end, entity = waiting.pop(0)
        around = [each for each in around if each > start]
        last = next((t for t in range(start, end - 1) if sentence[t] != sentence[t + 1]), end - 1) + 1
        stop = min([last, end, *around])
        if stop < end:
            waiting.append((stop, end, entity))
            waiting.sort(key=lambda each: (each[0], -each[1]))
        around.append(stop)
        yield MentionPiece(start, stop, entity, stop == end)


NEW_ENTITY, APART = "a new entity", "apart"
MOST_SHOWN = 50
TYPES = [*dict.fromkeys([*KINDS.values(), "other"]), *PRONOUNS]


class LinkVotes:
    """The votes for the links of one document."""

    def __init__(self, extractor: LinkExtractor, document: Mentions, w: FloatVector) -> None:
        self.document, self.w = document, w
        links = extractor.links([document])
        self.keys, self.templates = links.keys, extractor.in_order
        self.scores = links.scores_of_all(w)
        self._description = describe_mentions(document)
        self._atoms = Atoms(mention_columns([document], [self._description]), Resources())

    def option(self, m: int, a: int) -> Option:
        """The link of two mentions, and its votes."""
        end, reach = int(self.keys.pairs[m + 1]), int(self.keys.pairs[m + 1] - self.keys.pairs[m])
        if not 0 < m - a <= reach:
            raise WidemarginError(f"the model does not look as far back as from mention {m + 1} to {a + 1}")
        values = measures_of(self._description, np.array([a]), np.array([m]))
        spelt = {name: MEASURES[name][int(codes[0])] for name, codes in values.items()}
        places = link_features(self.keys, m, end - (m - a))
        tokens: dict[str, int | str] = {"mention": m, "antecedent": a}
        names = [spell_roles(self._atoms, template, tokens, spelt) for template in self.templates]
        votes = [(name, float(self.w[place])) for name, place in zip(names, places.tolist(), strict=True)]
        return Option(f"{self.name(m)} → {self.name(a)}", votes)

    def new(self, m: int) -> Option:
        """The option to start an entity; it has no votes."""
        return Option(f"{self.name(m)}: {NEW_ENTITY}", [])

    def choices(self, m: int) -> list[tuple[float, int]]:
        """The scores of all choices of a mention, best first; ties go to a new entity, then to the closest."""
        scores = self.scores[self.keys.pairs[m] : self.keys.pairs[m + 1]].tolist()
        found = [(0.0, 0), *((score, len(scores) - k) for k, score in enumerate(scores))]
        return sorted(found, key=lambda each: (-each[0], each[1]))

    def name(self, m: int) -> str:
        """The number and the words of a mention."""
        text = self.document.text(m)
        return f"{m + 1} {text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + '…'}"


def explain_links(model: "CoreferenceModel", X: Sequence[Mentions], question: Question) -> Explanation:
    """The choices of all mentions, or the reasons for and against linking two mentions."""
    votes = LinkVotes(model.extractor, X[0], model.weights)
    if question.span is not None:
        a, m = sorted(number - 1 for number in question.span)
        if not 0 <= a < m < len(X[0]):
            raise WidemarginError(f"{a + 1} and {m + 1} are not two mentions of the document, which has {len(X[0])}")
        return _comparison(model, votes, m, a)
    if model.decoder == "forest":
        return list_parts(_list_forest(model, votes))
    return list_parts(_list_choices(votes))


def _comparison(model: "CoreferenceModel", votes: LinkVotes, m: int, a: int) -> Explanation:
    """A link compared with the mention's choice or, if it is the choice, with the second best."""
    asked = votes.option(m, a)
    if model.decoder == "forest":
        apart = Option(f"{votes.name(a)}, {votes.name(m)}: {APART}", [])
        return compare_options(asked, apart) if asked.score > 0.0 else compare_options(apart, asked)
    best, other = (votes.new(m) if back == 0 else votes.option(m, m - back) for _, back in votes.choices(m)[:2])
    return compare_options(best, other if best.name == asked.name else asked)


def _list_choices(votes: LinkVotes) -> Iterator[tuple[str, float, str]]:
    """Every mention with its choice, the margin over the second best, and this second best."""
    for m in range(len(votes.document)):
        ranked = votes.choices(m)
        names = [NEW_ENTITY if back == 0 else votes.name(m - back) for _, back in ranked[:2]]
        if len(ranked) > 1:
            yield f"{votes.name(m)} → {names[0]}", ranked[0][0] - ranked[1][0], names[1]


def _list_forest(model: "CoreferenceModel", votes: LinkVotes) -> Iterator[tuple[str, float, str]]:
    """The links of the forest, the strongest first."""
    examples: Any = model.examples([votes.document])
    one = np.zeros(1, dtype=np.int32)
    scores, layout = votes.scores, examples.layout
    for pair in sorted(np.flatnonzero(examples.decode(votes.w, one)).tolist(), key=lambda pair: -scores[pair]):
        first, second = int(layout.first[pair]), int(layout.second[pair])
        yield f"{votes.name(second)} → {votes.name(first)}", float(scores[pair]), APART


def strongest_measures(extractor: LinkExtractor, w: FloatVector, top: int) -> dict[str, Part]:
    """The strongest features that have names without a text: measures, alone or with the type of the mention."""
    types = Columns({"type": Column.of(TYPES), "word": Column.of(TYPES)}, boundaries([len(TYPES)]))
    names, weights = [], []
    for template in extractor.in_order:
        if not template.columns_read <= {"type"} or set(template.roles) > {"mention"}:
            continue
        (keyed,) = RoleHasher([template], {"mention": ""}).keys(types)
        rows = keyed[1:, 0] if template.roles else np.zeros(1, dtype=np.int32)
        keys = [measure_keys([template], name, MEASURES[name])[:, 0] for name in template.measures]
        for k, row in enumerate(rows.tolist()):
            for values in product(*(range(len(each)) for each in keys)):
                place = row + sum(int(each[value]) for each, value in zip(keys, values, strict=True))
                spelt = [MEASURES[name][value] for name, value in zip(template.measures, values, strict=True)]
                with_type = [TYPES[k]] if template.columns_read else []
                names.append(f"{template.text}={'|'.join([*with_type, *spelt])}")
                weights.append(w[place % len(w)])
    found = np.array(weights, dtype=np.float64)
    return {"measures": Part("Measures of links", strongest(found, top, names.__getitem__))}
