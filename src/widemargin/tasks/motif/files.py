"""Files of sequences, FASTA and tables; their classes, and the sites where motifs are found in them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import BoolVector, FloatMatrix
from widemargin.errors import DataError, WidemarginError
from widemargin.files import fasta, sequences
from widemargin.files.formats import guess
from widemargin.files.pieces import Cut
from widemargin.files.raw import RawText, Source
from widemargin.files.sequences import LABEL, SequenceData
from widemargin.metrics import accuracy, label_scores, quotient
from widemargin.report.evaluation import Evaluation, by_support, plain, score_table
from widemargin.report.text import share
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.files import Files, Likeness
from widemargin.text.sequences import Sequences, Span


class Site(NamedTuple):
    """The letters `start:end` of a sequence, counted from 0, and their score as a motif.

    On the strand ``"-"`` the motif is read from the other strand: `letters` are the reverse complement.
    """

    start: int
    end: int
    strand: str
    letters: str
    score: float


def best_sites(scores: FloatMatrix, k: int, length: int) -> list[tuple[int, float]]:
    """2h + strand and score of the `k` best windows without overlap, best first; `scores` has a row per window.

    >>> best_sites(np.array([[3.0], [4.0], [1.0], [2.0]]), 2, 2)
    [(2, 4.0), (6, 2.0)]
    """
    left = scores.copy()
    found: list[tuple[int, float]] = []
    while len(found) < k and left.size and left.max() > -np.inf:
        start, strand = divmod(int(left.argmax()), left.shape[1])
        found.append((2 * start + strand, float(left[start, strand])))
        left[max(0, start - length + 1) : start + length] = -np.inf
    return found


def share_found(sites: Sequence[Site | None], gold: Sequence[Sequence[Span]]) -> tuple[float, int]:
    """The share of sequences whose predicted site is a gold site, among those with gold sites; and their number.

    Two sites match if they share at least half of the shorter one; strands do not matter.

    >>> share_found([Site(4, 15, "+", "", 1.0), None], [[Span(0, 10)], [Span(3, 9)]])
    (0.5, 2)
    """
    known = [(site, right) for site, right in zip(sites, gold, strict=True) if right]
    found = sum(site is not None and any(_covers(site, each) for each in right) for site, right in known)
    return quotient(found, len(known)), len(known)


def _covers(site: Site, gold: Span) -> bool:
    shorter = min(site.end - site.start, gold.end - gold.start)
    return 2 * (min(site.end, gold.end) - max(site.start, gold.start)) >= shorter


READERS = {"fasta": fasta.parse, "sequences": sequences.parse}
POSITIVE = "1"  # the label of sequences without one, if negative or background sequences have their own file
OTHERS: Mapping[str, Any] = {"negative": "-1", "background": None}
"""Options that name files of more training data, and the label of the sequences in each."""
HEADER = ("#id", "label", "score", "start", "end", "strand", "site", "sequence")


class MotifFiles(Files):
    """Files with sequences and their classes."""

    def read(self, path: str, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """The sequences of a file and their labels; training data include the sequences of the files in `OTHERS`.

        The file holds training data if `about`, facts about similar files, is empty.
        """
        data = read_sequences(path, reading)
        others = {name: label for name, label in OTHERS.items() if own.get(name) and not about}
        if not others:
            return _corpus(data.sequences, labels_of(data) if gold else None, reading, data)
        X, y = data.sequences, [POSITIVE if label is None else label for label in data.labels]
        for name, label in others.items():
            more = read_sequences(own[name], Reading()).sequences
            X, y = X.followed_by(more), [*y, *[label] * len(more)]
        return _corpus(X, y, reading, data)

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """Drop the options that only reading needs: names of other files."""
        return {name: value for name, value in given.items() if name not in OTHERS}

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Files of sequences."""
        return Likeness.LIKELY if (reading.format or guess(raw)) in READERS else Likeness.NONE

    def compared(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """How many labels are right."""
        right, found = [gold.y], [predicted.y]
        by_label, share_right = label_scores(right, found).by_label, accuracy(right, found)
        results = {"accuracy": share_right, "by_label": plain(by_label)}
        tables = [score_table("By label", "label", by_support(by_label))]
        return Evaluation(results, "accuracy", [("accuracy", share(share_right))], tables, {})


def read_sequences(path: Source, reading: Reading) -> SequenceData:
    """Read a file of sequences, in the given format or the one that it looks like."""
    if reading.format not in (None, *READERS):
        raise WidemarginError(f"motifs are in {' or '.join(READERS)} files, not {reading.format}")
    if reading.columns is not None or reading.text:
        raise WidemarginError("files of sequences have no columns of tokens; leave out --columns and --text")
    raw = RawText.load(path)
    chosen = reading.format or ("fasta" if fasta.is_fasta(raw) else "sequences")
    return READERS[chosen](raw, reading.label)


def cut(head: RawText, reading: Reading) -> Cut:
    """How to cut a file into pieces."""
    is_fasta = reading.format == "fasta" or (reading.format is None and fasta.is_fasta(head))
    return fasta.cut if is_fasta else sequences.cut


def read_corpus(path: Source, reading: Reading, *, gold: bool) -> Corpus:
    """A file for prediction or evaluation."""
    data = read_sequences(path, reading)
    return _corpus(data.sequences, labels_of(data) if gold else None, reading, data)


def labels_of(data: SequenceData) -> list[str]:
    """The label of every sequence; raise if there are none."""
    if not any(data.labels):
        raise DataError(
            f"{data.raw.source} has no labels; a table has them in a column, FASTA files as label=… in the headers"
        )
    return data.classes()


def located_table(
    X: Sequences, labels: Sequence[Any], scores: Sequence[float], sites: Sequence[Site | None], *, headed: bool = True
) -> str:
    """A table of all sequences with their labels, scores and sites; with its header, it can be read again."""
    rows = [
        [X.name(i), str(label), f"{score:.6g}", *_site_columns(site), X.texts[i]]
        for i, (label, score, site) in enumerate(zip(labels, scores, sites, strict=True))
    ]
    return "".join("\t".join(row) + "\n" for row in [*[HEADER] * headed, *rows])


def _site_columns(site: Site | None) -> list[str]:
    return ["."] * 4 if site is None else [str(site.start), str(site.end), site.strand, site.letters]


def _corpus(X: Sequences, y: Any, reading: Reading, data: SequenceData) -> Corpus:
    about = {"format": "fasta" if fasta.is_fasta(data.raw) else "sequences", "label": reading.label or LABEL}
    return Corpus(X, y, about, {"sequences": len(X), "letters": X.n_letters}, data)


SPELLINGS = ("1", "+", "+1", "1.0", "true", "yes", "positive", "pos")
"""Common spellings of the positive label."""


def plain_labels(y: Any) -> list[Any]:
    """Labels as plain Python values; None is a background sequence."""
    if isinstance(y, str) or not hasattr(y, "__len__"):
        raise DataError(f"y must be a list of labels, not {type(y).__name__}")
    return [each.item() if isinstance(each, np.generic) else each for each in y]


def two_labels(y: Sequence[Any], positive: Any = None) -> list[Any]:
    """The negative and the positive label of the data, in this order.

    >>> two_labels(["+", "-", None]), two_labels([0, 1]), two_labels(["ars", None])
    (['-', '+'], [0, 1], ['background', 'ars'])
    """
    known = sorted({each for each in y if each is not None}, key=lambda label: (str(type(label)), label))
    if positive is not None:
        known.sort(key=lambda label: str(label) == str(positive))
        if not known or str(known[-1]) != str(positive):
            raise DataError(f"no sequence has the positive label {positive!r}")
    elif len(known) == 2:
        known.sort(key=lambda label: str(label).lower() in SPELLINGS)
    if len(known) == 1 and any(each is None for each in y):
        known = ["background" if isinstance(known[0], str) else type(known[0])(-1), *known]
    if len(known) != 2:
        labels = ", ".join(map(repr, known[:5])) or "none"
        raise DataError(f"motifs tell two classes apart, positive and negative; the labels are {labels}")
    return known


def is_positive(y: Sequence[Any], labels: Sequence[Any]) -> BoolVector:
    """Which labels are the positive one; background is negative."""
    # Compared as strings, because labels read from a file are strings.
    negative, positive = map(str, labels)
    for i, label in enumerate(y):
        if label is not None and str(label) not in (negative, positive):
            raise DataError(f"sequence {i + 1} has the label {label!r}, which is neither {negative!r} nor {positive!r}")
    return np.array([label is not None and str(label) == positive for label in y], dtype=bool)
