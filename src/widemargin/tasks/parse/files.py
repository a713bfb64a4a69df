"""How parsers of dependencies read and write files, and how their trees are scored, drawn and explained."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.errors import WidemarginError
from widemargin.files.conllu import parse as parse_conllu
from widemargin.files.document import Document
from widemargin.files.formats import guess
from widemargin.files.raw import RawText
from widemargin.report.evaluation import Evaluation
from widemargin.report.explain import Explanation, Question, compare_options, list_parts
from widemargin.tasks.base import Corpus, Reading, Tally
from widemargin.tasks.files import Files, Likeness, TallyReporter, open_tokens, size_of, time_call
from widemargin.tasks.parse.dependencies import DependencyRows, arc_lists, arcs, as_dependencies
from widemargin.tasks.parse.explain import ArcExplainer, ArcVotes
from widemargin.tasks.parse.metrics import arc_counts, counted_evaluation
from widemargin.tasks.parse.pictures import arcs_lines, arcs_picture
from widemargin.tasks.strongest import Part, mask_weights, strongest
from widemargin.tasks.tree_files import TreeReporter, shown_tags
from widemargin.text.columns import Columns
from widemargin.text.trees import Arc, arc_columns

if TYPE_CHECKING:
    from widemargin.tasks.parse.model import Parser

GUESSED = ("conllu", "conllx")
GOLD = ("head", "deprel", "deps", "phead", "pdeprel")
"""Columns that features may not read, because they hold the trees to predict."""


class ParseReporter(TreeReporter, TallyReporter):
    """Reports on parsers of dependencies."""

    model: "Parser"

    asked = ("token", "head", "label")
    ask_for = "a --token, and perhaps another --head or --label"
    evaluation_options = frozenset({"punctuation"})

    def count(self, X: Any, y: Any, n_threads: int, *, punctuation: bool = True, **options: Any) -> Tally:
        """The counts of right and wrong arcs, with punctuation or without, and of tags."""
        columns = self.model.with_columns(X)
        gold = arc_lists(as_dependencies(columns, y), columns.indptr)
        predicted, seconds = time_call("parsing", self.model.predict, columns, n_threads)
        counts = arc_counts(gold, predicted, None if punctuation else columns.sequences("word"))
        return Tally(counts + self.tag_counts(columns), seconds)

    def score(self, tally: Tally, calibration: Mapping[str, float]) -> Evaluation:
        """Attachment scores."""
        return self.with_tag_accuracy(counted_evaluation(*tally), tally.counts)

    def gold(self, document: Document) -> DependencyRows:
        """The trees in the columns `head` and `deprel`."""
        return arcs(document)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The text of the document with the columns `head` and `deprel` filled in; plain text becomes CoNLL-U.

        Tags that the model predicted are filled in, too, where the document has a column for them.
        """
        document: Document = _as_conllu(corpus.document) if reading.text else corpus.document
        tags = {name: corpus.X.strings(name) for name in corpus.X.predicted if name in document.columns}
        return document.text(tags | arc_columns(outputs))

    def drawings(self, corpus: Corpus, trees: Sequence[Sequence[Arc]], *, terminal: bool) -> list[Any]:
        """A picture of every tree, or lines, one per word."""
        draw: Any = arcs_lines if terminal else arcs_picture
        sentences = zip(corpus.X.sequences("word"), trees, shown_tags(corpus.X), strict=True)
        return [draw(*each) for each in sentences]

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest relations of tokens before and after their head, whatever the two tokens are.

        All other features are hashed, and have no names outside a sentence.
        """
        model, one = self.model, np.zeros(len(self.model.labels), bool)
        votes = ArcVotes(model.extractor, self.two_tokens(), model.w, model.labels)
        one[list(chosen)] = True
        return {
            f"relations_{where}": Part(
                f"Relations of tokens {where} their head",
                strongest(mask_weights(votes.biases(*arc), one), top, model.labels.__getitem__),
            )
            for where, arc in (("before", (2, 1)), ("after", (1, 2)))
        }

    def answer(self, X: Columns, question: Question) -> Explanation:
        """Why a token has its head; without a token, the margin of every arc."""
        model = self.model
        X = model.with_columns(X)
        (words,), (arcs,) = X.sequences("word"), model.predict(X)
        explainer = ArcExplainer(ArcVotes(model.extractor, X, model.w, model.labels), words, arcs, model.labels)
        token = question.token
        if token is None:
            margins = explainer.margins(model.examples(X).part_scores(model.w, 0))
            parts = zip(arcs_lines(words, arcs), margins, strict=True)
            return list_parts(
                (line, margin, explainer.name_of(t, other)) for t, (line, (other, margin)) in enumerate(parts, 1)
            )
        if not 1 <= token <= len(words):
            raise WidemarginError(f"there is no token {token} in a sentence of {len(words)}")
        other = explainer.alternative(token, question.head, question.label)
        return compare_options(explainer.option(token, arcs[token - 1]), explainer.option(token, other))


class ParseFiles(Files):
    """Files whose columns `head` and `deprel` a parser learns to fill in."""

    reporter = ParseReporter

    def read(self, path: str, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """The columns to learn from, and the trees to learn."""
        document, format_ = open_tokens(path, reading, about)
        X = document.columns
        found = {"format": format_, "columns": X.names}
        y = arcs(document) if gold else None
        return Corpus(
            X.only(*(name for name in X.names if name not in GOLD)), y, found, size_of(X, "sentences"), document
        )

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Sentences with heads."""
        if reading.label is not None or (reading.format or guess(raw)) not in GUESSED:
            return Likeness.NONE
        tokens = (line.split("\t") for line in raw.lines if line[:1].isdecimal())
        return Likeness.LIKELY if any(len(fields) > 6 and fields[6].isdecimal() for fields in tokens) else Likeness.NONE

    def compare(self, gold: Corpus, predicted: Corpus, *, punctuation: bool = True, **options: Any) -> Evaluation:
        """Attachment scores, with punctuation or without."""
        X = gold.document.columns
        right, found = (arc_lists(corpus.y, X.indptr) for corpus in (gold, predicted))
        return counted_evaluation(arc_counts(right, found, None if punctuation else X.sequences("word")), {})


def _as_conllu(document: Document) -> Document:
    """A CoNLL-U document with the words alone."""
    lines = [
        "".join(f"{t}\t{word}" + "\t_" * 8 + "\n" for t, word in enumerate(words, 1))
        for words in document.columns.sequences("word")
    ]
    text = "".join(line + "\n" for line in lines)
    return parse_conllu(replace(document.raw, lines=text.split("\n")))
