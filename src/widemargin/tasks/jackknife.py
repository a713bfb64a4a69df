"""Tags to train a parser on: as wrong as those that it will be given later.

A tagger is nearly always right about sentences that it has learnt, so a parser trained on such tags, or on gold ones,
trusts tags too much. Hence each of k parts of the sentences is tagged by a tagger that has learnt from all other parts
(jack-knifing). The taggers that the parser then carries have learnt from all of them.

Where the data are in parts (`TagsOf`, `TaggedBy`), a fold is the union of one block of sentences of every part. Its
tagger learns from all other sentences of all parts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import IntVector, LongVector
from widemargin.core.loop import name_run
from widemargin.core.stop import Callback
from widemargin.errors import DataError, WidemarginError
from widemargin.tasks.carried import Fills, blanks, check_filled, is_blank, kind_of_taggers, settled
from widemargin.tasks.training import Data, train
from widemargin.tasks.tree_parameters import TAGS, TreeParameters
from widemargin.text.columns import Column, Columns, Notation

MOST_VALUES = 300
"""The time of a tagger grows with the square of the number of its labels."""

QUICK = {"tol": 0.3}
"""The training of the taggers of parts: half the time of the usual one, and tags nearly as good."""

FILL = "fill it in, or leave out the templates that read it"


class Tagged(NamedTuple):
    """Sentences with the tags that a parser learns from, those of the development data, and the taggers it carries.

    `filled` names the columns that have a value at every token.
    """

    X: Columns
    dev: Columns | None
    taggers: dict[str, Any]
    filled: list[str]


def offered(parameters: TreeParameters, X: Columns, predictable: Sequence[str]) -> list[str]:
    """The columns that default templates may read: those with values, and only `predictable` ones if tags are."""
    check_tags(parameters)
    names = X.names if parameters.tags == "given" else [name for name in X.names if name in predictable]
    return [name for name in names if name == "word" or not is_blank(X, name)]


def tagged(
    parameters: TreeParameters, X: Columns, dev: Columns | None, read: Sequence[str], told: Sequence[Callback] = ()
) -> Tagged:
    """The data for a parser whose templates read these columns, with tags as the parameters say.

    `told` are callbacks for the training of the taggers.
    """
    check_tags(parameters)
    if isinstance(X, Retagged):
        return Tagged(X, None if dev is None else settled(dev, X.taggers), X.taggers, [])
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
    by_name = {name: jackknifed(parameters, X, name, told) for name in tags}
    if tags:
        name_run("the parser", told)
    taggers = {name: tagger for name, (tagger, _) in by_name.items()}
    columns = {"word": X["word"], **{name: column for name, (_, column) in by_name.items()}}
    return Tagged(Columns(columns, X.indptr, X.source), None if dev is None else settled(dev, taggers), taggers, [])


def jackknifed(
    parameters: TreeParameters, X: Columns, name: str, told: Sequence[Callback] = ()
) -> tuple[Fills, Column]:
    """A tagger for a column, and the column as taggers see it that have not learnt from the sentence at hand."""
    n_folds = int(parts(X.indptr, parameters.tag_folds).max()) + 1
    name_run(f"a tagger for {name}", told)
    whole = _tagger(parameters, _tags_of(X, name, None, n_folds), told)

    def taggers() -> Iterator[Fills]:
        for k in range(n_folds):
            name_run(f"a tagger for {name}, part {k + 1}/{n_folds}", told)
            yield _tagger(parameters, _tags_of(X, name, k, n_folds), told, **QUICK)

    return whole, tagged_by(X.only("word"), whole, taggers(), n_folds)


def _tags_of(X: Columns, name: str, fold: int | None, n_folds: int) -> Data:
    """Words and tags of all sentences, without those of one fold, if any."""
    labels, words = Column(X[name].codes, X[name].values, Notation(unknown=None)), X.only("word")
    if fold is None:
        return Data(words, labels)
    rest = parts(X.indptr, n_folds, least=1) != fold
    return Data(words.chosen(np.flatnonzero(rest)), only(labels, np.repeat(rest, np.diff(X.indptr))))


def tagged_by(X: Columns, whole: Fills, taggers: Iterable[Fills], n_folds: int) -> Column:
    """The tags of each fold by its tagger, under the numbers that they have in one that knows all of them."""
    fold, codes = parts(X.indptr, n_folds, least=1), np.empty(X.n_tokens, dtype=np.int32)
    number = {label: code for code, label in enumerate(whole.labels)}
    for k, tagger in enumerate(taggers):
        here = np.repeat(fold == k, np.diff(X.indptr))
        if here.any():
            known = np.array([number[label] for label in tagger.labels], dtype=np.int32)
            codes[here] = known[tagger.predict_codes(X.chosen(np.flatnonzero(fold == k)))]
    return Column(codes, whole.labels)


@dataclass(frozen=True, slots=True)
class Retagged(Columns):
    """Sentences that have been tagged already; `taggers` are those that a parser shall carry."""

    taggers: dict[str, Any] = field(default_factory=dict)


def parts(indptr: LongVector, n_parts: int, *, least: int = 2) -> IntVector:
    """The part of each sentence: `n_parts` blocks of about as many sentences with words; there must be `least`.

    Neighbours stay together, since they are often of one text and share its words: the tagger of a part shall know as
    little about them as about new text.

    >>> parts(np.array([0, 2, 2, 3, 5, 6]), 2).tolist()
    [0, 0, 0, 1, 1]
    """
    if isinstance(n_parts, bool) or not isinstance(n_parts, int | np.integer) or n_parts < 2:
        raise WidemarginError(f"tag_folds must be a whole number of at least 2, not {n_parts!r}")
    has_words = np.diff(indptr) > 0
    n = int(has_words.sum())
    if n < least:
        raise DataError("predicted tags need two sentences or more to learn from; take the tags that are given")
    number = np.maximum(np.cumsum(has_words) - 1, 0)
    return (number * min(n_parts, n) // n).astype(np.int32)


def check_tags(parameters: TreeParameters) -> None:
    """Raise unless tags come from where they can come from."""
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


def only(column: Column, tokens: Any) -> Column:
    """A column at these tokens only."""
    return Column(column.codes[tokens], column.values, column.notation)


def tagger_parameters(parameters: TreeParameters, **options: Any) -> Any:
    """The parameters of a tagger of a parser with these."""
    return kind_of_taggers().load("parameters")(
        n_jobs=parameters.n_jobs, random_state=parameters.random_state, **options
    )


def _tagger(parameters: TreeParameters, data: Data, told: Sequence[Callback], **options: Any) -> Any:
    return trained(kind_of_taggers().load("compile"), tagger_parameters(parameters, **options), data, told)


def trained(compile_tags: Callable[..., Any], parameters: Any, data: Data, told: Sequence[Callback]) -> Any:
    """A tagger for another model, which is still to be trained."""
    tagger, solution = train(compile_tags, parameters, data, told)
    if solution.stopped == "interrupted":
        raise KeyboardInterrupt  # there is no model yet that could be kept
    tagger.online = None  # it learns no more
    return tagger


class Learnt(NamedTuple):
    """How a kind of parser learns tags: how it reads sentences, and which columns its templates read."""

    read: Callable[[Any], Columns]
    columns: Callable[[Any, Any], Sequence[str]]

    def wanted(self, parameters: TreeParameters, survey: Any) -> list[str]:
        """The columns to learn, given the survey of all data."""
        check_tags(parameters)
        return [] if parameters.tags == "given" else [n for n in self.columns(parameters, survey) if n != "word"]


@dataclass(frozen=True)
class TagsOf:
    """Sentences as a tagger sees them that learns a column; without those of one `fold`, if any, of `n_folds`."""

    read: Callable[[Any], Columns]
    name: str
    fold: int | None
    n_folds: int

    def __call__(self, data: Data) -> Data:
        """Words and tags of these data."""
        X = self.read(data.X)
        check_filled(X, self.name, FILL, everywhere=False)
        check_learnable(X, self.name)
        return _tags_of(X, self.name, self.fold, self.n_folds)


@dataclass(frozen=True)
class TaggedBy:
    """Sentences with tags of taggers that have not learnt from them: for each column, one tagger per fold."""

    read: Callable[[Any], Columns]
    taggers: dict[str, Any]
    by_fold: dict[str, list[Any]]

    def __call__(self, data: Data) -> Data:
        """These data with tags."""
        X = self.read(data.X)
        columns = {"word": X["word"]}
        for name, taggers in self.by_fold.items():
            columns[name] = tagged_by(X.only("word"), self.taggers[name], taggers, len(taggers))
        return data._replace(X=Retagged(columns, X.indptr, X.source, self.taggers))
