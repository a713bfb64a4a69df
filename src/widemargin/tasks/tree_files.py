"""How parsers read and write files, and how their trees are scored and drawn."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.files.raw import Source
from widemargin.report.evaluation import Evaluation
from widemargin.report.svg import page
from widemargin.report.text import share
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.carried import FilledColumns, count_right
from widemargin.tasks.files import SentenceReporter, open_tokens, size_of
from widemargin.tasks.trees import TreeModel
from widemargin.text.columns import Column, Columns

PREDICTED, RIGHT_TAGS, GIVEN_TAGS = "predicted tags", "right tags", "given tags"
"""Keys of the counts of each column of tags."""


class TreeReporter(SentenceReporter):
    """Reports on parsers."""

    model: TreeModel

    counts = "sentences"
    sequence = "sentence"
    takes_tags = True

    @abstractmethod
    def gold(self, document: Any) -> Any:
        """The trees in a document."""

    @abstractmethod
    def drawings(self, corpus: Corpus, trees: Sequence[Any], *, terminal: bool) -> list[Any]:
        """A picture of every tree, or the lines of text that draw it on a terminal."""

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """A file of sentences, with its trees or without.

        Plain text is split into words as in treebanks, unless the user says otherwise. Bracketed trees keep function
        tags if the training data did.
        """
        if reading.tags == "predicted" and not self.model.taggers:
            raise UnsupportedError("the model carries no taggers: it was trained to read the tags that are given")
        if reading.label is not None:
            raise WidemarginError("trees are not in a label column; leave out --label")
        options = {"brackets": {"strip_functions": not self.model.about.get("keep_functions")}}
        split = True if reading.split is None else reading.split
        document, format_ = open_tokens(path, reading._replace(split=split), self.model.about, options)
        X = self.model.with_columns(document.columns, reading.tags, document.raw.judge_once)
        y = self.gold(document) if gold else None
        return Corpus(X, y, {"format": format_}, size_of(X, "sentences"), document)

    def tag_counts(self, X: FilledColumns) -> Counter[Any]:
        """How many tags the model has predicted, how many of them have a given tag, and how many equal it."""
        counts: Counter[Any] = Counter()
        for name in X.predicted:
            counts[PREDICTED, name] = X.n_tokens
            both = count_right(X, name)
            if both is not None:
                counts[RIGHT_TAGS, name], counts[GIVEN_TAGS, name] = both
        return counts

    def with_tag_accuracy(self, evaluation: Evaluation, counts: Counter[Any]) -> Evaluation:
        """The evaluation of trees, with the accuracy of the tags that they rest on, from `tag_counts`."""
        read = [name for name in self.model.columns_read if name != "word"]
        if not read:
            return evaluation
        known = {name: counts[GIVEN_TAGS, name] for name in read if counts[PREDICTED, name]}
        shares = {name: counts[RIGHT_TAGS, name] / n if n else None for name, n in known.items()}
        results = {name: {"predicted": name in shares, "accuracy": shares.get(name)} for name in read}
        spelt = [name if each is None else f"{name} {share(each)} right" for name, each in shares.items()]
        given = [name for name in read if name not in shares]
        parts = [f"{', '.join(spelt)}, predicted by the model"] if spelt else []
        parts += [f"{', '.join(given)}, as given in the data"] if given else []
        facts = [("tags", "; ".join(parts)), *evaluation.facts]
        return evaluation._replace(results={"tags": results, **evaluation.results}, facts=facts)

    def remarks(self) -> list[tuple[str, str]]:
        """The taggers that the model carries."""
        carried = [f"{name} ({len(tagger.labels)} tags)" for name, tagger in self.model.taggers.items()]
        return [("taggers", f"{', '.join(carried)}: the model tags words by itself")] if carried else []

    def draw(self, corpus: Corpus, outputs: Any, *, terminal: bool) -> str:
        """The trees as an SVG file, or as lines for a terminal."""
        drawn = self.drawings(corpus, outputs, terminal=terminal)
        return "".join(line + "\n" for lines in drawn for line in [*lines, ""]) if terminal else page(drawn)

    def unused_columns(self, corpus: Corpus) -> list[str]:
        """The columns of its training data that no feature looks at, though they hold something.

        A model with taggers reads words alone by design, so it lists none.
        """
        return [] if self.model.taggers else super().unused_columns(corpus)

    def warm_up(self) -> None:
        """Parse two tokens, so that loading compiled kernels does not count as parsing."""
        self.model.predict(self.two_tokens())

    def two_tokens(self) -> Columns:
        """A sentence of two identical tokens."""
        two = Column(np.zeros(2, dtype=np.int32), ["a"])
        return Columns(dict.fromkeys(["word", *self.model.columns_read], two), np.array([0, 2], dtype=np.int64))


def shown_tags(X: Columns) -> list[list[str]]:
    """The tags to draw below the words of every sentence, from the first column that has any; empty if none has."""
    for name in ("upos", "xpos", "pos"):
        if name in X and set(X[name].values) - {"_", ""}:
            return X.sequences(name)
    return [[] for _ in range(X.n_sequences)]
