"""`widemargin predict` for parsers: dependency trees as columns of a file, trees of constituents as brackets."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from widemargin._threads import count_threads
from widemargin.cli.documents import Corpus, corpus, remembered, text_corpus
from widemargin.cli.pictures import draw
from widemargin.columns import Columns
from widemargin.data.brackets import Brackets, text_of
from widemargin.data.brackets import parse as parse_brackets
from widemargin.data.conllu import parse as parse_conllu
from widemargin.data.dependencies import arc_columns
from widemargin.data.document import Document, write_text
from widemargin.data.formats import guess
from widemargin.data.raw import RawText
from widemargin.errors import DataError, WidemarginError

TAGS = ("pos", "xpos", "upos", "label")
"""Columns that may hold the tags of a sentence, best first."""


class TreeFile(NamedTuple):
    """A file and the options that tell how to read it."""

    path: str
    label: str | None = None
    file_format: str | None = None
    columns: Sequence[str] | None = None
    text: bool = False

    def read(self, summary: Any) -> Document:
        """The document, as a model with this `summary` takes it."""
        if self.label is not None:
            raise WidemarginError("trees are not in a label column; leave out --label")
        data = remembered(summary)
        if self.text:
            return text_corpus(self.path).document
        raw = RawText.load(self.path)
        chosen = self.file_format or guess(raw)
        if chosen == "brackets":
            return read_brackets(raw, data)
        found: Corpus = corpus(raw, chosen, self.columns, data)
        return found.document


def read_brackets(raw: RawText, data: Mapping[str, Any]) -> Brackets:
    """Trees with function tags if the model has learnt them."""
    return parse_brackets(raw, strip_functions=not data.get("keep_functions"))


def predict(model: Any, file: TreeFile, out: str, drawing: str | None, jobs: int) -> None:
    """Parse a file; with a drawing, trees are written besides only if `out` is a file."""
    document = file.read(model.summary)
    trees = model.predict_trees(sentences(model, document), count_threads(jobs))
    if drawing is not None:
        draw(drawing, document.columns, trees)
        if out == "-":
            return
    if model.structure == "brackets":
        write_text(out, text_of(trees))
    else:
        target = _as_conllu(document) if file.text else document
        target.write(out, arc_columns(trees))


def sentences(model: Any, document: Document) -> Columns:
    """The columns of a document that the model reads; tags are those that the format has."""
    X = document.columns
    if "pos" in model.columns_read and "pos" not in X.columns:
        tags = next((name for name in TAGS if name in X.columns and X[name].values != ["_"]), None)
        if tags is None or X[tags] is X["word"]:
            raise DataError(f"{X.source} has no tags, which the model reads; name them pos or xpos")
        X = Columns({**X.columns, "pos": X[tags]}, X.indptr, X.source)
    for name in model.columns_read:
        X[name]  # made on first use; that it is missing is said at once
    return X


def _as_conllu(document: Document) -> Document:
    """Words as a CoNLL-U document that has nothing but them."""
    lines = [
        "".join(f"{t}\t{word}" + "\t_" * 8 + "\n" for t, word in enumerate(words, 1))
        for words in document.columns.sequences("word")
    ]
    return parse_conllu(RawText.of("\n".join(lines), document.raw.source))


def size(X: Columns) -> dict[str, int]:
    """How much there is to parse."""
    return {"sentences": X.n_sequences, "tokens": X.n_tokens}
