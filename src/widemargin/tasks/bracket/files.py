"""Files of trees in brackets."""

from collections.abc import Mapping
from typing import Any

from widemargin.files.brackets import parse
from widemargin.files.formats import guess
from widemargin.files.raw import RawText
from widemargin.report.evaluation import Evaluation
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.files import Files, Likeness, check_same_words, size_of


class BracketFiles(Files):
    """Files with trees to learn."""

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

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """Drop the option that only reading needs."""
        return {name: value for name, value in given.items() if name != "keep_functions"}

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Trees in brackets."""
        return Likeness.LIKELY if (reading.format or guess(raw)) == "brackets" else Likeness.NONE

    def check_aligned(self, gold: Corpus, predicted: Corpus) -> None:
        """The words must be the same."""
        check_same_words(gold.document, predicted.document)

    def compared(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """F1 of labelled brackets."""
        from widemargin.tasks.bracket.metrics import bracket_evaluation

        return bracket_evaluation(gold.y, predicted.y, {})
