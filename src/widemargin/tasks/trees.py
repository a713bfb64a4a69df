"""Models of trees over sentences: their features are hashed into one table of weights (`text.roles`).

A model may carry taggers for the columns that its features read (`tasks.carried`). It then reads words alone, unless
the user asks for the given tags.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from widemargin._threads import run
from widemargin._types import AnyArray, FloatMatrix, FloatVector
from widemargin.core.checks import check_memory
from widemargin.core.header import Fields, names, whole
from widemargin.core.problem import in_shares, predict
from widemargin.core.solution import Solution
from widemargin.core.stored import Stored
from widemargin.errors import DataError
from widemargin.tasks.answers import Probable
from widemargin.tasks.base import VectorModel
from widemargin.tasks.carried import (
    TAGGERS,
    FilledColumns,
    Taggers,
    check_filled,
    describe_taggers,
    fill_columns,
    is_blank,
    restore_taggers,
)
from widemargin.text import KEY_BITS
from widemargin.text.columns import Columns

TAGS = ("pos", "xpos", "upos", "label")
"""Columns that may hold the tags of a sentence, best first."""
Judge: TypeAlias = Callable[[str, Callable[[], Any]], Any]
UNTAGGED = "fill it in, or train a parser with --tags predicted, which does that itself"


def judge_alone(what: str, judge: Callable[[], Any]) -> Any:
    """Judge sentences that are not a piece of a file; the counterpart of `RawText.judge_once`."""
    return judge()


class HashedModel(VectorModel):
    """A model whose features are hashed into one table of weights; they stay, used or not."""

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of labels, templates and weights."""
        return {
            "labels": len(self.labels),
            "templates": sum(map(len, self.templates.values())),
            "weights": len(self.weights),
            "non-zero weights": int(np.count_nonzero(self.weights)),
        }

    def with_solution(self, solution: Solution, summary: dict[str, Any]) -> Self:
        """The same model with the weights of a solution."""
        model: Any = self  # a dataclass, which has these two fields
        trained: Self = replace(model, weights=solution.w, summary=summary)
        return trained

    @abstractmethod
    def _header(self) -> dict[str, Any]:
        """The header of its file, without labels and summary."""

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        used = np.flatnonzero(self.weights).astype(np.int32)
        return self._header(), {"weights.indices": used, "weights.values": self.weights[used]}


@dataclass
class TreeModel(HashedModel, Probable):
    """A trained parser."""

    perhaps: ClassVar[Fields] = {"taggers": TAGGERS, "filled": names()}

    weights: FloatVector = field(kw_only=True)
    taggers: Taggers = field(default_factory=dict, kw_only=True)
    """The models that fill in the columns that features read."""
    filled: Sequence[str] = field(default=(), kw_only=True)
    """Given columns in which every token of the training data had a value: a blank there is an error."""

    @property
    @abstractmethod
    def columns_read(self) -> list[str]:
        """The columns of tokens that the features look at."""

    @abstractmethod
    def columns(self, X: Any) -> Columns:
        """Sentences as columns, with given tags, if any."""

    @abstractmethod
    def examples(self, X: Any) -> Any:
        """Sentences as examples to be parsed."""

    @abstractmethod
    def trees_of(self, outputs: AnyArray, columns: Columns) -> list[Any]:
        """The trees of these sentences in the user's form; `outputs` has them in that of the structure, end to end."""

    @abstractmethod
    def by_tokens(self, rows: FloatMatrix) -> AnyArray:
        """The probabilities of the parts of a sentence by two numbers of tokens, then by label."""

    @abstractmethod
    def likely_parts(self, probabilities: AnyArray) -> dict[str, Any]:
        """The parts with probabilities of `LEAST` or more, as JSON can hold them, the most likely first."""

    def predict(self, X: Any, n_threads: int = 1) -> list[Any]:
        """The best tree of every sentence."""
        columns = self.with_columns(X)
        return self.trees_of(np.concatenate(predict(self.examples(columns), self.weights, n_threads)), columns)

    def predict_minimum_risk(self, X: Any, n_threads: int = 1) -> list[Any]:
        """For each sentence the tree with the most right parts, or the fewest wrong ones, in expectation."""
        columns = self.with_columns(X)
        examples = self._examples_with_sums(columns)
        parts = in_shares(examples, partial(examples.decode_least_risk, self.weights), n_threads)
        return self.trees_of(np.concatenate(parts), columns)

    def probabilities(self, X: Columns, n_threads: int) -> Iterator[FloatMatrix]:
        """The probabilities of the parts of each sentence, a column per label, `labels` first; computed lazily."""
        examples = self._examples_with_sums(X)

        def of_sentence(i: int) -> FloatMatrix:
            rows: FloatMatrix = examples.probabilities(self.weights, np.array([i], dtype=np.int32))[0]
            return rows

        for begin in range(0, examples.n_examples, n_threads):
            numbers = range(begin, min(begin + n_threads, examples.n_examples))
            yield from run([partial(of_sentence, i) for i in numbers])

    def _examples_with_sums(self, X: Columns) -> Any:
        """The sentences as examples; raise if there are no probabilities, or a sentence is too long for them."""
        self.check_probable()
        examples = self.examples(X)
        check_memory(examples.sum_bytes(), "sums over all trees", "Split the sentence", f"{X.source}, sentence")
        return examples

    def expected_counts(self, X: Any, n_threads: int = 1) -> FloatMatrix:
        """The expected number of parts with each of the `labels`, a row per sentence."""
        found = self.probabilities(self.with_columns(X), n_threads)
        return np.array([rows[:, : len(self.labels)].sum(axis=0) for rows in found])

    def likely(self, X: Any, n_threads: int = 1) -> list[dict[str, Any]]:
        """The tokens and the likely parts of each sentence."""
        columns = self.with_columns(X)
        found = map(self.by_tokens, self.probabilities(columns, n_threads))
        return [
            {"tokens": words, **self.likely_parts(each)}
            for words, each in zip(columns.sequences("word"), found, strict=True)
        ]

    def with_columns(self, X: Any, tags: str | None = None, judge: Judge = judge_alone) -> FilledColumns:
        """Sentences with all columns that the model reads: tags are its own, or those `given` in `X`.

        Given tags must exist. Without a column `pos`, they come from another column of the format. `X` may be a piece
        of a file; `judge` then decides once for the whole file (`RawText.judge_once`).
        """
        if isinstance(X, FilledColumns):
            return X
        columns = self.columns(X)
        found = fill_columns(columns, {} if tags == "given" else self.taggers)
        if not columns.n_tokens:
            return found  # without tokens, there may be no columns
        read = [name for name in self.columns_read if name not in (*found.predicted, "word")]
        if "pos" in read and "pos" not in columns:
            pos = columns[judge("tags", partial(_tag_column, columns))]
            found = fill_columns(Columns({**columns.by_name, "pos": pos}, columns.indptr, columns.source), {})
        remedy = "leave out --tags given, and the model fills it in" if self.taggers else UNTAGGED
        for name in read:
            check = partial(check_filled, found, name, remedy, everywhere=name in self.filled)
            if name in self.filled:
                check()
            else:
                judge(f"the column {name}", check)  # blanks are an error only if the whole file has no value
        return found

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        header, tensors = super()._description()
        taggers, carried = describe_taggers(self.taggers)
        return header | taggers | ({"filled": list(self.filled)} if self.filled else {}), tensors | carried

    def with_carried(self, stored: Stored) -> Self:
        """The model with the taggers of its file."""
        self.taggers, self.filled = restore_taggers(stored, self.columns_read), stored.header.get("filled", ())
        return self


def _tag_column(X: Columns) -> str:
    """The column of tags in a file that does not call them `pos`."""
    tags = next((name for name in TAGS if name in X and not is_blank(X, name)), None)
    if tags is None or X[tags] is X["word"]:
        raise DataError(f"{X.source} has no tags, which the model reads; name them pos or xpos, or {UNTAGGED}")
    return tags


HASH_BITS = whole(at_least=1, at_most=KEY_BITS)
"""The size of a table, as a power of 2, in the header of a model file."""


def stored_weights(stored: Stored, n_weights: int) -> FloatVector:
    """The weights of a `HashedModel` from its file, which holds those other than zero."""
    used = stored.indices("weights.indices", np.int32, n_weights)
    values = stored.vector("weights.values", np.float64, len(used))
    weights = np.zeros(n_weights)
    weights[used] = values
    return weights
