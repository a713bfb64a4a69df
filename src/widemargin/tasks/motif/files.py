"""Files of sequences, FASTA and tables; their classes, and the sites where motifs are found in them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from widemargin._types import BoolVector, FloatMatrix
from widemargin.errors import DataError
from widemargin.files import fasta, sequences
from widemargin.files.formats import guess
from widemargin.files.pieces import Cut
from widemargin.files.raw import RawText, Source
from widemargin.files.sequences import LABEL, SequenceData
from widemargin.metrics import accuracy, area_under_curve, label_scores, quotient
from widemargin.report.evaluation import Evaluation, by_support, overall, plain, score_table, spelt_f1
from widemargin.report.svg import page
from widemargin.report.text import share
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.files import Files, Likeness, Reporter, check_no_tokens, time_call
from widemargin.tasks.motif.logo import logo_lines, logo_picture, logo_png
from widemargin.tasks.strongest import Part, strongest
from widemargin.text.sequences import Sequences, Span, as_sequences

if TYPE_CHECKING:
    from widemargin.tasks.motif.model import MotifModel


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


class MotifReporter(Reporter):
    """Reports on motif finders."""

    model: "MotifModel"

    counts = "sequences"
    exports: ClassVar[Mapping[str, str]] = {
        ".meme": "the matrix in MEME's minimal format",
        ".svg": "a sequence logo",
        ".png": "a sequence logo",
    }

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """The share of right labels, how well scores separate the classes, and the share of known sites found."""
        X, labels = as_sequences(X), self.model.labels
        sites, seconds = time_call("searching", self.model.locate, X, n_threads, everywhere=True)
        scores = np.array([-np.inf if site is None else site.score for site in sites])
        positive = self.model.is_positive(X, y)
        spelt = [[str(labels[int(right)]) for right in each.tolist()] for each in (positive, scores > 0.0)]
        by_label = label_scores(spelt[:1], spelt[1:]).by_label
        right, area = float(np.mean((scores > 0.0) == positive)), area_under_curve(scores, positive)
        results: dict[str, Any] = {"accuracy": right, "error": 1.0 - right, "auc": area}
        facts = [("accuracy", share(right)), ("area under the curve", f"{area:.3f}")]
        if str(labels[1]) in by_label:
            results |= overall(by_label[str(labels[1])])
            facts.insert(1, spelt_f1(by_label[str(labels[1])]))
        if X.sites is not None:
            found, n = share_found(sites, X.sites)
            results |= {"sites_found": found, "sites": n}
            facts.append(("known sites found", f"{share(found)} in {n} sequences that have some"))
        results["by_label"] = plain(by_label)
        return Evaluation(results, "accuracy", facts, [score_table("By label", "label", by_label)], seconds)

    def warm_up(self) -> None:
        """Search one sequence, so that loading compiled kernels does not count as searching."""
        self.model.predict([self.model.reads.letters * self.model.reads.length])

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Between two sequences."""
        is_fasta = reading.format == "fasta" or (reading.format is None and fasta.is_fasta(head))
        return fasta.cut if is_fasta else sequences.cut

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """A file of sequences."""
        data = read_sequences(path, reading)
        return _corpus(data.sequences, labels_of(data) if gold else None, reading, data)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """A table: name, label, score, site and letters of each sequence."""
        if not len(corpus.X):
            return ""  # there is nothing left behind the last sequence
        scores, headed = self.model.scores(corpus.X).tolist(), corpus.document.raw.first == 0
        return located_table(corpus.X, outputs, scores, self.model.locate(corpus.X), headed=headed)

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest weights of the motif and of the background."""
        letters, order = self.model.reads.letters, self.model.reads.order
        n = len(letters)

        def context(number: int) -> str:
            spelt = "".join(letters[number // n**back % n] for back in range(order, -1, -1))
            return f"{spelt[-1]} after {spelt[:-1]}" if order else spelt

        return {
            "motif": Part(
                "Letters at places of the motif",
                strongest(self.model.matrix.ravel(), top, lambda at: f"{letters[at % n]} at {at // n + 1}"),
            ),
            "background": Part("Letters of the background", strongest(self.model.background, top, context)),
        }

    def remarks(self) -> list[tuple[str, str]]:
        """The motif in words and, if several lengths were tried, their scores."""
        motif, n_sites = self.model.motif, round(float(self.model.found.sum(axis=1).max(initial=0.0)))
        bits = float(motif.information.sum())
        facts = [("motif", f"{motif.consensus}, {bits:.1f} bits, at {n_sites:,} sites of the training data")]
        tried: Mapping[str, float] = self.model.summary.get("lengths", {})
        if tried:
            facts.append(("lengths", ", ".join(f"{length} ({share(score)})" for length, score in tried.items())))
        return facts

    def picture(self) -> list[str]:
        """The logo as lines for a terminal."""
        return logo_lines(self.model.motif)

    def export(self, suffix: str) -> bytes:
        """The matrix in MEME's format, or the logo as a picture."""
        motif = self.model.motif
        if suffix == ".png":
            return logo_png(motif)
        return (motif.meme() if suffix == ".meme" else page([logo_picture(motif)])).encode()


class MotifFiles(Files):
    """Files with sequences and their classes."""

    reporter = MotifReporter
    only_read = OTHERS

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

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Files of sequences."""
        return Likeness.LIKELY if (reading.format or guess(raw)) in READERS else Likeness.NONE

    def compare(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """How many labels are right."""
        right, found = [gold.y], [predicted.y]
        by_label, share_right = label_scores(right, found).by_label, accuracy(right, found)
        results = {"accuracy": share_right, "by_label": plain(by_label)}
        tables = [score_table("By label", "label", by_support(by_label))]
        return Evaluation(results, "accuracy", [("accuracy", share(share_right))], tables, {})


def read_sequences(path: Source, reading: Reading) -> SequenceData:
    """Read a file of sequences, in the given format or the one that it looks like."""
    check_no_tokens(reading, "sequences with motifs", list(READERS), labelled=True)
    raw = RawText.load(path)
    chosen = reading.format or ("fasta" if fasta.is_fasta(raw) else "sequences")
    return READERS[chosen](raw, reading.label)


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
