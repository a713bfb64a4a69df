"""Files of labelled tokens: reading, constraints from options and columns, evaluation."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.core.problem import predict
from widemargin.core.sparse import boundaries
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.files.document import Document, label_column
from widemargin.files.formats import FORMATS, guess
from widemargin.files.jsonlines import LABEL_KEYS
from widemargin.files.pieces import Cut
from widemargin.files.raw import RawText, Source
from widemargin.metrics import (
    Scores,
    confusion_counts,
    quotient,
    scores_from_counts,
    scores_of_pairs,
    sequences_right,
    span_counts,
)
from widemargin.report.evaluation import Evaluation, Table, by_support, overall, plain, score_table, spelt_f1
from widemargin.report.text import share
from widemargin.tasks.answers import AnswerLimits
from widemargin.tasks.base import Corpus, Reading, Tally
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.files import (
    Files,
    Likeness,
    SentenceReporter,
    TallyReporter,
    cut_tokens,
    gold_column,
    known_columns,
    open_tokens,
    size_of,
    time_call,
)
from widemargin.tasks.tokens import TokenModel
from widemargin.text.attributes import Resources
from widemargin.text.columns import VALUED, Column, Columns, Notation
from widemargin.text.labels import as_sequences
from widemargin.text.partial import are_partial, known_runs, spell_labels
from widemargin.text.spans import is_bio
from widemargin.text.spans import spans as spans_in
from widemargin.text.template_sets import spelt_out

FREE = ("*", "_", "")
MOST_CONFUSIONS = 10
MOST_TYPES = 60
WHOLE, SEQUENCES, UNKNOWN = ("whole",), ("sequences",), ("unknown",)
PAIR, SPANS = "pair", ("right", "found", "wanted")
"""Keys of counts: of sequences, of tokens by their labels, and of spans by their type."""


class TokenReporter(SentenceReporter, TallyReporter):
    """Reports on models whose outputs are a code per token."""

    model: TokenModel[Any]

    counts = "tokens"
    sequence = "sequence"

    def count(self, X: Any, y: Any, n_threads: int, **options: Any) -> Tally:
        """Counts of right and wrong labels and spans."""
        model = self.model
        examples, extracting = time_call("features", model.examples, X)
        parts, decoding = time_call("decoding", predict, examples, model.decoded_with, n_threads)
        predicted = model.names_of(np.concatenate(parts), boundaries(examples.lengths))
        return Tally(label_counts(model.gold_names(X, y), predicted, model.names_given), extracting | decoding)

    def score(self, tally: Tally, calibration: Mapping[str, float]) -> Evaluation:
        """How well labels and spans agree."""
        return counted_evaluation(tally.counts, self.model.names_given, calibration, tally.seconds)

    def warm_up(self) -> None:
        """Label one token, so that loading compiled kernels does not count as decoding."""
        one = Column(np.zeros(1, dtype=np.int32), ["a"])
        columns = {"word": one} | dict.fromkeys(self.model.columns_read, one)
        self.model.predict_codes(Columns(columns, np.array([0, 1], dtype=np.int64)))

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """A file of tokens, with its column of labels or without."""
        about = dict(self.model.about)
        if Notation().unknown in self.model.code_names:
            about.setdefault("unknown", "")  # the model knows it as a label
        return read_tokens(path, reading, about, gold=gold, columns=self.model.columns_read)

    def constraints(self, corpus: Corpus, limits: AnswerLimits) -> Constraints | None:
        """The command line's constraints on the sequences of a file, or None."""
        if not any(limits):
            return None
        known = {str(label): label for label in self.model.labels_given}
        return Constraints(
            allowed=_allowed_labels(limits, corpus.document, known),
            forbidden=[_pair(text, known) for text in limits.forbid],
            bio=limits.bio,
            at_most_one=limits.at_most_one,
        )

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The text of the document with its label column filled in."""
        column = corpus.document.label if reading.text else self.column_to_write(corpus, reading.label)
        return str(corpus.document.text({column: self.cells(outputs, corpus.X)}))

    def cells(self, outputs: list[list[Any]], X: Columns) -> list[str]:
        """Outputs as a column of labels."""
        return [str(label) for labels in outputs for label in labels]

    def column_to_write(self, corpus: Corpus, wanted: str | None) -> str:
        """The column for labels, which may be new: the wanted one, else the one of training, else the format's own."""
        about, document = self.model.about, corpus.document
        if wanted is not None:
            return label_column(document, wanted) if wanted.isdecimal() and wanted not in document.columns else wanted
        before = about.get("label")
        if before is None:
            return str(document.label)
        new_key = corpus.about["format"] == about.get("format") == "jsonl" and before not in LABEL_KEYS
        return str(before if before in document.columns or new_key else document.label)


class TokenFiles(Files):
    """Files with a label column to learn."""

    def read(self, path: Source, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """A file of tokens with its column of labels."""
        return read_tokens(path, reading, about, gold=gold)

    def cut(self, head: RawText, reading: Reading) -> Cut:
        """Cut between two sequences."""
        found = cut_tokens(head, reading)
        if found is None:
            raise UnsupportedError(
                f"{head.source} is {reading.format or guess(head)}, which cannot be read in pieces; convert it to "
                "another format, or leave out --out-of-core"
            )
        return found

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """Fill in default templates that use all lexicons and clusters; the user's own templates must use them too."""
        lexicons, clusters = given.get("lexicons") or {}, given.get("clusters") or {}
        wanted = "default" if given["templates"] is None else given["templates"]
        texts = spelt_out(wanted, Resources(lexicons, clusters))
        needed = (("lexicon", lexicons if self.lexicons_need_templates(given) else ()), ("cluster", clusters))
        for kind, name in ((kind, name) for kind, names in needed for name in names):
            if not any(re.search(rf"\b{kind}\({re.escape(name)}[,)]", text) for text in texts):
                raise WidemarginError(f"no template makes use of the {kind} {name!r}; add one like {kind}({name})")
        return given | {"templates": texts}

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Certain for a file of tokens if the user names a label column, possible otherwise."""
        if not FORMATS[reading.format or guess(raw)].has_tokens:
            return Likeness.NONE
        return Likeness.POSSIBLE if reading.label is None else Likeness.CERTAIN

    def compare(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """Scores of labels, and of spans if the labels mark any."""
        right = [spell_labels(labels) for labels in as_sequences(gold.X, gold.y)]
        found = predicted.X.sequences(predicted.about["label"])
        known = sorted({label for labels in (*right, *found) for label in labels if isinstance(label, str)})
        return counted_evaluation(label_counts(right, found, known), known, {}, {})

    def lexicons_need_templates(self, given: Mapping[str, Any]) -> bool:
        """Whether lexicons have an effect only through templates."""
        return True


def read_tokens(
    path: Source, reading: Reading, about: Mapping[str, Any], *, gold: bool, columns: Sequence[str] = ()
) -> Corpus:
    """A file of tokens; `gold` labels are in the wanted column, else the one of training, else the format's own."""
    document, format_ = open_tokens(path, reading, about)
    X = known_columns(document.columns, columns)
    found: dict[str, Any] = {"format": format_, "columns": X.names}
    label = gold_column(document, reading.label, about.get("label")) if gold else None
    if label is None:
        return Corpus(X, None, found, size_of(X, "sequences"), document)
    # As the user says, else as in training.
    stated = {name: about[name] for name in Notation._fields if name in about} | {
        name: getattr(reading, name) for name in Notation._fields if getattr(reading, name) is not None
    }
    usual = Notation(unknown=None) if format_ == "conllu" and label in VALUED else Notation()
    # The empty string is no label; it says that the file has no such notation.
    notation = usual._replace(**{name: text or None for name, text in stated.items()})
    found = {"label": label, **found, **stated}
    return Corpus(X, replace(X[label], notation=notation), found, size_of(X, "sequences"), document)


def _allowed_labels(
    limits: AnswerLimits, document: Document, known: dict[str, Any]
) -> list[list[set[Any] | None]] | None:
    """The labels that both columns permit at each position."""
    cuts = [
        [_cells(document, column, i, cells, known, separator) for i, cells in enumerate(sequences)]
        for column, separator in ((limits.allowed, ","), (limits.forced, None))
        if column is not None
        for sequences in [document.columns.sequences(label_column(document, column))]
    ]
    if len(cuts) == 2:
        return [[_both(*pair) for pair in zip(*pairs, strict=True)] for pairs in zip(*cuts, strict=True)]
    return cuts[0] if cuts else None


def _cells(
    document: Document, column: str, i: int, cells: Sequence[str], known: dict[str, Any], separator: str | None
) -> list[set[Any] | None]:
    """The labels that a column permits at the positions of sequence i; None where it permits all."""
    found: list[set[Any] | None] = []
    for t, cell in enumerate(cells):
        named = [name.strip() for name in cell.split(separator)] if separator else [cell]
        for name in () if cell in FREE else named:
            if name not in known:
                raise WidemarginError(
                    f"{document.raw.source}, sequence {i + 1}, token {t + 1}: the column {column} names the label "
                    f"{name!r}, which the model does not know"
                )
        found.append(None if cell in FREE else {known[name] for name in named})
    return found


def _both(one: set[Any] | None, other: set[Any] | None) -> set[Any] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _pair(text: str, known: Mapping[str, Any]) -> tuple[Any, Any]:
    """Cut A:B at the colon that has a known label on either side."""
    for at in range(len(text)):
        if text[at] == ":" and text[:at] in known and text[at + 1 :] in known:
            return known[text[:at]], known[text[at + 1 :]]
    raise WidemarginError(f"--forbid {text} does not name two labels of the model with a colon between them")


def label_counts(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], known: Sequence[str]
) -> Counter[Any]:
    """The counts for `counted_evaluation`; counts of several pieces of data can be added."""
    right, n = sequences_right(gold, predicted)
    counts: Counter[Any] = Counter({WHOLE: int(right), SEQUENCES: int(n)})
    counts[UNKNOWN] = sum(label is None for labels in gold for label in labels)
    if are_partial(gold):
        gold, predicted = known_runs(gold, predicted)
    counts |= Counter({(PAIR, *pair): count for pair, count in confusion_counts(gold, predicted).items()})
    if is_bio({*(label for labels in gold for label in labels), *known}):
        for what, found in zip(
            SPANS, span_counts(list(map(spans_in, gold)), list(map(spans_in, predicted))), strict=True
        ):
            counts |= Counter({(what, type_): count for type_, count in found.items()})
    return counts


def counted_evaluation(
    found: Counter[Any], known: Sequence[str], calibration: Mapping[str, float], seconds: dict[str, float]
) -> Evaluation:
    """How well labels agree, by the counts of `label_counts`."""
    unknown, whole = found[UNKNOWN], quotient(found[WHOLE], found[SEQUENCES])
    pairs = {key[1:]: count for key, count in found.items() if key[0] == PAIR}
    counts = Counter[str]()
    for (label, _), count in pairs.items():
        counts[label] += count
    spans = is_bio({*counts, *known})
    of_spans = ({key[1]: count for key, count in found.items() if key[0] == what} for what in SPANS)
    scores: Scores = scores_from_counts(*of_spans) if spans else scores_of_pairs(pairs)
    right = quotient(sum(count for (g, p), count in pairs.items() if g == p), sum(pairs.values()))
    confusions = _confusions(pairs)
    unseen = {label: counts[label] for label in sorted(counts.keys() - set(known))}
    results = {
        "accuracy": right,
        "sequence_accuracy": whole,
        "scored": "spans" if spans else "labels",
        **overall(scores.micro),
        "by_type": plain(scores.by_label),
        "confusions": confusions,
        "unseen_labels": unseen,
        **({"not_scored": unknown} if unknown else {}),
        **({"calibration": dict(calibration)} if calibration else {}),
    }
    facts = [("accuracy", share(right)), ("sequences", f"{share(whole)} all right")]
    if unknown:
        facts.append(("not scored", f"{unknown:,} tokens whose label is unknown"))
    if spans:
        facts.append(spelt_f1(scores.micro))
    if calibration:
        errors = ", ".join(f"{error:.4f} of {kind}" for kind, error in calibration.items())
        facts.append(("expected calibration error", errors))
    heading, of = ("Spans by type", "type") if spans else ("Tokens by label", "label")
    tables = [score_table(heading, of, by_support(scores.by_label), MOST_TYPES)]
    if confusions:
        rows = [[each["gold"], each["predicted"], f"{each['count']:,}"] for each in confusions]
        tables.append(Table("Most frequent confusions", ["gold", "predicted", "tokens"], rows))
    if unseen:
        rows = [[name, f"{count:,}"] for name, count in unseen.items()]
        tables.append(Table("Labels that training did not have", ["label", "tokens"], rows))
    return Evaluation(results, "f1" if spans else "accuracy", facts, tables, seconds)


def _confusions(pairs: Mapping[tuple[str, str], int]) -> list[dict[str, Any]]:
    """The most frequent pairs of a gold label and a wrong prediction."""
    wrong = sorted((-count, *pair) for pair, count in pairs.items() if pair[0] != pair[1])[:MOST_CONFUSIONS]
    return [{"gold": gold, "predicted": predicted, "count": -count} for count, gold, predicted in wrong]
