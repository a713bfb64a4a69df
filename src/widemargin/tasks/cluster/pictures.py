"""Clusters as pictures: lists of items by cluster; mentions are underlined in their text. And why items are linked."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.clusterings import clusters_of
from widemargin.core.sparse import entries_of
from widemargin.errors import WidemarginError
from widemargin.report import svg
from widemargin.report.explain import Explanation, Option, Question, compare_options, list_parts
from widemargin.report.svg import Picture, number
from widemargin.report.text import printable
from widemargin.structures.forest import Documents
from widemargin.tasks.cluster.features import Pairs
from widemargin.tasks.clusters import COLOURS, larger_clusters
from widemargin.text.mentions import Mentions

if TYPE_CHECKING:
    from widemargin.tasks.cluster.model import ClusterModel

SIZE, LINE, LEVEL, WIDTH = 15.0, 34.0, 4.0, 760.0
MOST_SHOWN = 70


def described_items(document: Any, n: int) -> list[str]:
    """Each item in a few words, after its number from 1 on."""
    if isinstance(document, Mentions):
        texts = [document.text(k) for k in range(n)]
    elif isinstance(document, Pairs):
        texts = [""] * n
    else:
        texts = [_record(record) for record in document]
    cut = (text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…" for text in texts)
    return [f"{k} {text}".rstrip() for k, text in enumerate(cut, start=1)]


def _record(record: Any) -> str:
    if isinstance(record, dict):
        return ", ".join(str(value) for value in record.values() if value is not None)
    return str(record)


def cluster_lines(items: Sequence[str], clusters: Sequence[int]) -> list[str]:
    r"""The clusters of a document as lines, the items of each under one another.

    >>> print(*cluster_lines(["1 Rome", "2 she", "3 the city"], [0, 1, 0]), sep="\n")
    ┬─ 1 Rome
    ╰─ 3 the city
    ── 2 she
    """
    lines = []
    for members in clusters_of(clusters):
        last = len(members) - 1
        for place, item in enumerate(members):
            joint = "─" if last == 0 else "┬" if place == 0 else "╰" if place == last else "├"
            lines.append(f"{joint}─ {printable(items[item])}")
    return lines


def cluster_pictures(X: Sequence[Any], items: Sequence[Sequence[str]], outputs: Sequence[Sequence[int]]) -> str:
    """The clusters of all documents as an SVG page."""
    pictures = []
    for document, described, clusters in zip(X, items, outputs, strict=True):
        marked = isinstance(document, Mentions)
        pictures.append(_text_picture(document, clusters) if marked else _list_picture(described, clusters))
    return svg.page(pictures)


def _colours(clusters: Sequence[int]) -> dict[int, str]:
    """A colour for each cluster with several items, in turn."""
    return {cluster: COLOURS[k % len(COLOURS)] for cluster, k in larger_clusters(clusters).items()}


def _list_picture(items: Sequence[str], clusters: Sequence[int]) -> Picture:
    """Items by cluster, each cluster with a bar in its colour."""
    colours, y, body, width = _colours(clusters), 0.0, "", 0.0
    for members in clusters_of(clusters):
        height = len(members) * (SIZE + 6)
        colour = colours.get(clusters[members[0]], svg.LINE)
        body += f'<rect x="0" y="{number(y)}" width="5" height="{number(height)}" rx="2" fill="{colour}"/>\n'
        for place, item in enumerate(members):
            body += _text_at(14.0, y + SIZE + place * (SIZE + 6), items[item])
            width = max(width, 14.0 + svg.width_of(items[item], SIZE))
        y += height + 8
    return Picture(width, y, body)


def _text_picture(mentions: Mentions, clusters: Sequence[int]) -> Picture:
    """The text, with mentions underlined in the colour of their cluster; single mentions have none."""
    places, height = _word_places(mentions.columns["word"], mentions.sentence.tolist())
    colours, body = _colours(clusters), ""
    levels: list[list[tuple[int, int]]] = []
    # Inner mentions first, so that those around them are underlined further down.
    for span, cluster in sorted(zip(mentions.spans, clusters, strict=True), key=lambda each: each[0][1] - each[0][0]):
        if cluster not in colours:
            continue
        level = next(
            (k for k, taken in enumerate(levels) if all(b <= span[0] or span[1] <= a for a, b in taken)), len(levels)
        )
        levels += [[]] * (level == len(levels))
        levels[level] = [*levels[level], span]
        body += _underline(places, span, LEVEL * (level + 1), colours[cluster], cluster)
    for (x, y, _), word in zip(places, mentions.columns["word"], strict=True):
        body += _text_at(x, y, word)
    return Picture(WIDTH, height, svg.title(mentions.name) + body)


def _word_places(words: Sequence[str], sentences: Sequence[int]) -> tuple[list[tuple[float, float, float]], float]:
    """For each word its left end, its base line and its right end; every sentence begins a new line."""
    places, x, y = [], 0.0, SIZE
    for k, word in enumerate(words):
        width = svg.width_of(word, SIZE)
        if x and (sentences[k] != sentences[k - 1] or x + width > WIDTH):
            x, y = 0.0, y + LINE
        places.append((x, y, x + width))
        x += width + 0.4 * SIZE
    return places, y + LINE


def _underline(
    places: Sequence[tuple[float, float, float]], span: tuple[int, int], below: float, colour: str, cluster: int
) -> str:
    """A line under the words of a span, one for each line of text, with the number of the cluster at its end."""
    body = ""
    for y in dict.fromkeys(places[t][1] for t in range(*span)):
        row = [places[t] for t in range(*span) if places[t][1] == y]
        path = f"M{number(row[0][0])} {number(y + below)}H{number(row[-1][2])}"
        body += f'<path d="{path}" stroke="{colour}" stroke-width="2"><title>{cluster + 1}</title></path>\n'
    _, y, end = places[span[1] - 1]
    return body + _text_at(end + 1, y - 8, str(cluster + 1), size=9.0, colour=colour)


def _text_at(x: float, y: float, text: str, *, size: float = SIZE, colour: str = svg.INK) -> str:
    return (
        f'<text x="{number(x)}" y="{number(y)}" font-size="{size:g}" fill="{colour}" text-anchor="start">'
        f"{escape(printable(text))}</text>\n"
    )


def explain_pairs(model: "ClusterModel", X: Any, question: Question) -> Explanation:
    """The links of a document, or the reasons for and against linking two items."""
    documents, one = model.extractor.transform(X), np.zeros(1, dtype=np.int32)
    examples = model.examples_of(documents)
    scores = examples.scored(model.weights, one).scores.own
    items = described_items(X[0], int(documents.items[-1]))
    if question.span is None:
        outputs: Any = examples.decode(model.weights, one)
        joined = examples.structure.flags(examples.sizes, outputs)
        found = sorted(np.flatnonzero(joined).tolist(), key=lambda pair: -scores[pair])
        return list_parts((_pair(documents, items, pair), float(scores[pair]), "apart") for pair in found)
    i, j = sorted(question.span)
    (at, *_) = [*np.flatnonzero((documents.first == i - 1) & (documents.second == j - 1)).tolist(), None]
    if at is None:
        raise WidemarginError(f"{i} and {j} are not a pair of items of the document, which has {len(items)}")
    linked, apart = _option(model, documents, items, at), Option("apart", [])
    return compare_options(linked, apart) if linked.score > 0.0 else compare_options(apart, linked)


def _option(model: "ClusterModel", documents: Documents, items: Sequence[str], pair: int) -> Option:
    names, votes = model.extractor.names(), entries_of(documents.features, pair)
    return Option(
        _pair(documents, items, pair),
        [(names[f] + ("" if value == 1.0 else f"={value:.3g}"), float(value * model.weights[f])) for f, value in votes],
    )


def _pair(documents: Documents, items: Sequence[str], pair: int) -> str:
    return f"{items[documents.first[pair]]} – {items[documents.second[pair]]}"
