"""Files of trees in brackets."""

from collections.abc import Mapping
from typing import Any

from widemargin.files.brackets import parse
from widemargin.files.raw import RawText
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.files import Files, size_of


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
