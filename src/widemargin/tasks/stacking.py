"""Stacking: models that learn from the predictions of models that have not learnt from the example at hand.

A tagger is nearly always right about its training sentences, so a parser trained on such tags, or on gold ones, trusts
tags too much. Hence each fold of the sentences is tagged by a tagger that has learnt from all other folds
(jack-knifing): the parser learns from tags that are as wrong as those of new sentences. The taggers that it carries
have learnt from all sentences. The second of two passes of a tagger learns from the first in the same way.
`tasks.estimator.stacked` does it for any estimator.

A fold is a run of neighbours, since neighbours often come from one text and share its words: the model of a fold shall
know no more about it than about new text. If workers hold pieces of the data (`TagsOf`, `TaggedBy`), a fold is the
union of one run of every piece.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import IntVector, LongVector
from widemargin.core.loop import name_run
from widemargin.core.stop import Callback
from widemargin.errors import DataError, WidemarginError
from widemargin.tasks.carried import Fills, blanks, check_filled, fill_columns, is_blank, kind_of_taggers
from widemargin.tasks.parameters import TAGS, TreeParameters
from widemargin.tasks.training import Data, train
from widemargin.text.columns import Column, Columns, Notation

QUICK = {"tol": 0.3}
"""Parameters for the models of folds: half the usual training time, and predictions nearly as good."""


def checked_folds(n_folds: Any, name: str) -> int:
    """The number of folds; raise unless it is a whole number of at least 2."""
    if isinstance(n_folds, bool) or not isinstance(n_folds, int | np.integer) or n_folds < 2:
        raise WidemarginError(f"{name} must be a whole number of at least 2, not {n_folds!r}")
    return int(n_folds)


def block_numbers(counts: Any, n_blocks: int) -> IntVector:
    """The number of each example's run of neighbours; at most `n_blocks` runs share examples that count evenly."""
    number, n = np.maximum(np.cumsum(counts) - 1, 0), int(counts.sum())
    return (number * min(n_blocks, n) // n).astype(np.int32)


def fold_numbers(indptr: LongVector, n_folds: int, *, least: int = 2) -> IntVector:
    """The fold of each sentence; folds have about as many sentences with words, which must number at least `least`.

    >>> fold_numbers(np.array([0, 2, 2, 3, 5, 6]), 2).tolist()
    [0, 0, 0, 1, 1]
    """
    n_folds, has_words = checked_folds(n_folds, "tag_folds"), np.diff(indptr) > 0
    if has_words.sum() < least:
        raise DataError("predicted tags need two sentences or more to learn from; take the tags that are given")
    return block_numbers(has_words, n_folds)


def stack(compile_data: Callable[..., Any], parameters: Any, data: Data, n_folds: int, name: str) -> tuple[Any, Column]:
    """A model of all sequences, and the labels that each sequence gets from a model that has not learnt from it.

    Ctrl-C raises: there is no whole model to keep yet. Callbacks in the data see `name`.
    """
    n_folds = int(fold_numbers(data.X.indptr, n_folds).max()) + 1

    def learn(fold: int | None) -> Any:
        name_run(run_name(name, fold, n_folds), data.told)
        own = parameters if fold is None else replace(parameters, **QUICK)
        model, solution = train(compile_data, own, without(data, fold, n_folds), data.told)
        if solution.stopped == "interrupted":
            raise KeyboardInterrupt
        model.online = None  # it will not learn any further
        return model

    whole = learn(None)
    return whole, column_by(data.X, whole, map(learn, range(n_folds)), n_folds)


def run_name(name: str, fold: int | None, n_folds: int) -> str:
    """The name of a run on all data, or on all but one fold."""
    return name if fold is None else f"{name}, part {fold + 1}/{n_folds}"


def without(data: Data, fold: int | None, n_folds: int) -> Data:
    """Columns and labels of all sequences except those of one fold, if given."""
    if fold is None:
        return data
    rest = fold_numbers(data.X.indptr, n_folds, least=1) != fold
    y, tokens = data.y, np.repeat(rest, np.diff(data.X.indptr))
    return data._replace(
        X=data.X.chosen(np.flatnonzero(rest)),
        y=Column(y.codes[tokens], y.values, y.notation),
        sample_weight=None if data.sample_weight is None else np.asarray(data.sample_weight)[rest],
    )


def column_by(X: Columns, whole: Fills, models: Iterable[Fills], n_folds: int) -> Column:
    """The labels that each fold gets from its model, numbered as in the `whole` model, which has all labels."""
    fold, codes = fold_numbers(X.indptr, n_folds, least=1), np.empty(X.n_tokens, dtype=np.int32)
    number = {label: code for code, label in enumerate(whole.labels)}
    for k, model in enumerate(models):
        here = np.repeat(fold == k, np.diff(X.indptr))
        if here.any():
            known = np.array([number[label] for label in model.labels], dtype=np.int32)
            codes[here] = known[model.predict_codes(X.chosen(np.flatnonzero(fold == k)))]
    return Column(codes, whole.labels)


# The taggers of parsers

MOST_VALUES = 300
"""The most labels of a tagger: its time grows with their square."""

FILL = "fill it in, or leave out the templates that read it"


class Tagged(NamedTuple):
    """Sentences with the tags that a parser learns from, development sentences, and the taggers that it carries.

    `filled` names the columns that have a value at every token.
    """

    X: Columns
    dev: Columns | None
    taggers: dict[str, Any]
    filled: list[str]


@dataclass(frozen=True, slots=True)
class Retagged(Columns):
    """Sentences that are already tagged; a parser carries the `taggers`."""

    taggers: dict[str, Any] = field(default_factory=dict)


def offered(parameters: TreeParameters, X: Columns, predictable: Sequence[str]) -> list[str]:
    """The columns that default templates may read: they have values, and are `predictable` if tags are predicted."""
    check_tags(parameters)
    names = X.names if parameters.tags == "given" else [name for name in X.names if name in predictable]
    return [name for name in names if name == "word" or not is_blank(X, name)]


def tagged(
    parameters: TreeParameters, X: Columns, dev: Columns | None, read: Sequence[str], told: Sequence[Callback] = ()
) -> Tagged:
    """The data for a parser whose templates read these columns, with given or predicted tags.

    `told` are callbacks for the training of the taggers.
    """
    check_tags(parameters)
    if isinstance(X, Retagged):
        return Tagged(X, None if dev is None else fill_columns(dev, X.taggers), X.taggers, [])
    tags = [name for name in read if name != "word"]
    for name in tags:
        check_filled(X, name, FILL, everywhere=False)
    if parameters.tags == "given":
        filled = [name for name in tags if not blanks(X, name).any()]
        for name in tags:
            if dev is not None:
                check_filled(dev, name, FILL, everywhere=name in filled)
        return Tagged(X, dev, {}, filled)
    for name in tags:
        check_learnable(X, name)
    by_name = {name: learn_tags(parameters, X, name, told) for name in tags}
    if tags:
        name_run("the parser", told)
    taggers = {name: tagger for name, (tagger, _) in by_name.items()}
    columns = {"word": X["word"], **{name: column for name, (_, column) in by_name.items()}}
    return Tagged(
        Columns(columns, X.indptr, X.source), None if dev is None else fill_columns(dev, taggers), taggers, []
    )


def learn_tags(parameters: TreeParameters, X: Columns, name: str, told: Sequence[Callback] = ()) -> tuple[Any, Column]:
    """A tagger for a column, and the column as predicted by taggers that have not learnt from the sentence."""
    compile_tags, data = kind_of_taggers().compile, _tags_of(X, name)._replace(told=told)
    return stack(compile_tags, tagger_parameters(parameters), data, parameters.tag_folds, f"a tagger for {name}")


def _tags_of(X: Columns, name: str) -> Data:
    """Words and tags of all sentences."""
    return Data(X.only("word"), Column(X[name].codes, X[name].values, Notation(unknown=None)))


def check_tags(parameters: TreeParameters) -> None:
    """Raise unless the parameter `tags` is one of `TAGS`."""
    if parameters.tags not in TAGS:
        raise WidemarginError(f"tags must be {' or '.join(map(repr, TAGS))}, not {parameters.tags!r}")


def check_learnable(X: Columns, name: str) -> None:
    """Raise if a column has too many values for a tagger."""
    n_values = len(np.unique(X[name].codes))
    if n_values > MOST_VALUES:
        raise WidemarginError(
            f"the column {name} of {X.source} has {n_values:,} values, and taggers learn at most {MOST_VALUES}: leave "
            "out the templates that read it, or take the tags that are given"
        )


def tagger_parameters(parameters: TreeParameters, **options: Any) -> Any:
    """The parameters of the taggers of a parser with these parameters."""
    return kind_of_taggers().parameters(n_jobs=parameters.n_jobs, random_state=parameters.random_state, **options)


class TagColumns(NamedTuple):
    """How a kind of parser learns tags: how it reads sentences, and which columns its templates read."""

    read: Callable[[Any], Columns]
    columns: Callable[[Any, Any], Sequence[str]]

    def wanted(self, parameters: TreeParameters, survey: Any) -> list[str]:
        """The columns to learn, given the survey of all data."""
        check_tags(parameters)
        return [] if parameters.tags == "given" else [n for n in self.columns(parameters, survey) if n != "word"]


@dataclass(frozen=True)
class TagsOf:
    """Training data of a tagger for one column; leaves out one `fold` of `n_folds`, if given."""

    read: Callable[[Any], Columns]
    name: str
    fold: int | None
    n_folds: int

    def __call__(self, data: Data) -> Data:
        """Words and tags of these data."""
        X = self.read(data.X)
        check_filled(X, self.name, FILL, everywhere=False)
        check_learnable(X, self.name)
        return without(_tags_of(X, self.name), self.fold, self.n_folds)


@dataclass(frozen=True)
class TaggedBy:
    """Tags sentences by taggers that have not learnt from them: one tagger per column and fold."""

    read: Callable[[Any], Columns]
    taggers: dict[str, Any]
    by_fold: dict[str, list[Any]]

    def __call__(self, data: Data) -> Data:
        """These data with tags."""
        X = self.read(data.X)
        columns = {"word": X["word"]}
        for name, taggers in self.by_fold.items():
            columns[name] = column_by(X.only("word"), self.taggers[name], taggers, len(taggers))
        return data._replace(X=Retagged(columns, X.indptr, X.source, self.taggers))
