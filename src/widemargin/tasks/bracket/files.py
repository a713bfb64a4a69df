"""How parsers of constituents read and write files, and how their trees are scored, drawn and explained."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from widemargin.errors import DataError
from widemargin.files.brackets import Brackets, parse, text_of
from widemargin.files.document import Document
from widemargin.files.formats import guess
from widemargin.files.raw import RawText
from widemargin.report.evaluation import Evaluation
from widemargin.report.explain import Explanation, Question, compare_options, list_parts
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.bracket.binary import as_trees
from widemargin.tasks.bracket.explain import SpanExplainer
from widemargin.tasks.bracket.metrics import bracket_evaluation
from widemargin.tasks.bracket.pictures import brackets_lines, brackets_picture
from widemargin.tasks.files import Files, Likeness, size_of, time_call
from widemargin.tasks.strongest import Part, mask_weights, pair_name, pairs_with, strongest
from widemargin.tasks.tree_files import TreeReporter
from widemargin.text.columns import Columns
from widemargin.text.trees import Tree

if TYPE_CHECKING:
    from widemargin.tasks.bracket.model import Bracketer


class BracketReporter(TreeReporter):
    """Reports on parsers of constituents."""

    model: "Bracketer"

    asked = ("span", "label")
    ask_for = "a --span, and perhaps another --label"

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """F1 of labelled brackets."""
        columns = self.model.with_columns(X)
        gold = as_trees(columns, y)
        predicted, seconds = time_call("parsing", self.model.predict, columns, n_threads)
        return self.with_tag_accuracy(bracket_evaluation(gold, predicted, seconds), self.tag_counts(columns))

    def gold(self, document: Document) -> list[Tree]:
        """The trees of a file in brackets."""
        if not isinstance(document, Brackets):
            raise DataError(f"{document.raw.source} holds no trees in brackets to compare with")
        return document.trees

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """Trees in brackets, one per line."""
        return text_of(outputs)

    def drawings(self, corpus: Corpus, trees: Sequence[Tree], *, terminal: bool) -> list[Any]:
        """A picture of every tree, or indented lines."""
        return [brackets_lines(tree) if terminal else brackets_picture(tree) for tree in trees]

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest rules: labels of a half and its constituent; features have no names outside a sentence."""
        model, names = self.model, self.model.bracketing.names
        n = len(names)
        concerned = pairs_with(chosen if len(chosen) < len(model.labels) else range(n), n)
        rules = model.w[len(model.w) - 2 * n**2 :].reshape(2, n, n)
        return {
            f"{side}_halves": Part(
                f"{side.capitalize()} halves in constituents",
                strongest(mask_weights(weights, concerned), top, pair_name(names, "in")),
            )
            for side, weights in zip(("left", "right"), rules, strict=True)
        }

    def answer(self, X: Columns, question: Question) -> Explanation:
        """Why some words are a constituent; without a span, the margin of every constituent."""
        X = self.model.with_columns(X)
        explainer, (words,) = SpanExplainer(self.model, X), X.sequences("word")
        if question.span is not None:
            begin, end = question.span
            return compare_options(*explainer.options(explainer.alternative(begin - 1, end, question.label)))
        return list_parts(
            (f"{begin + 1}:{end} {label}: {' '.join(words[begin:end])}", margin, instead)
            for (begin, end, label), margin, instead in explainer.margins()
        )


class BracketFiles(Files):
    """Files with trees to learn."""

    reporter = BracketReporter
    only_read = ("keep_functions",)

    def read(
        self,
        path: str,
        reading: Reading,
        about: Mapping[str, Any],
        *,
        gold: bool,
        keep_functions: bool = False,
        **own: Any,
    ) -> Corpus:
        """Words and tags to learn from, and the trees to learn."""
        document = parse(RawText.load(path), strip_functions=not keep_functions)
        found = {"format": "brackets", "keep_functions": keep_functions}
        X = document.columns
        return Corpus(X, document.trees if gold else None, found, size_of(X, "sentences"), document)

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Trees in brackets."""
        return Likeness.LIKELY if (reading.format or guess(raw)) == "brackets" else Likeness.NONE

    def compare(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """F1 of labelled brackets."""
        return bracket_evaluation(gold.y, predicted.y, {})
