"""Two passes: a tagger that reads the labels that another one has found, also those that are still to come.

The second pass has two more columns, and templates for them (stacking, Cohen & Carvalho 2005; non-local features,
Krishnan & Manning 2006):

| column | value |
| --- | --- |
| ``guess`` | the label that the first pass gives the token; if labels are BIO, also whether its span ends there |
| ``nearby`` | the label that the first pass most often gives to the same word in sequences nearby, if any |

The first pass is nearly always right about data that it has learnt. So the columns of the training data come from
taggers that have learnt from other parts of them (jack-knifing, `tasks.jackknife`).
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._types import IntVector
from widemargin.core.loop import name_run
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.jackknife import QUICK, codes_by, only, parts
from widemargin.tasks.tag.parameters import TaggerParameters
from widemargin.tasks.training import Data
from widemargin.text.attributes import Resources
from widemargin.text.columns import Column, Columns, Notation
from widemargin.text.inputs import as_columns, choose_extractor
from widemargin.text.labels import as_sequences
from widemargin.text.partial import are_partial
from widemargin.text.spans import bioes, is_bio, parsed, spans
from widemargin.text.template_extractor import TemplateExtractor
from widemargin.text.template_sets import spelt_out
from widemargin.text.templates import DEFAULT_TEMPLATES

if TYPE_CHECKING:
    from widemargin.tasks.tag.model import Tagger

GUESS, NEARBY = "guess", "nearby"
FOLDS = 5
GUESSES = (f"{GUESS}[-2..2]", f"{GUESS}[-1]|{GUESS}[1]")
NEARBYS = (f"{NEARBY}[-1..1]", f"{NEARBY}|lower")
"""Templates of the second pass for its own columns."""


@dataclass(frozen=True, slots=True)
class Guessed(Columns):
    """Columns that a second pass can read."""


@dataclass(frozen=True)
class FirstPass:
    """A tagger for the first pass, and how many sequences before and after a word's own are nearby."""

    tagger: "Tagger"
    nearby: int = 0

    def read(self, X: Columns) -> Guessed:
        """The columns of the second pass."""
        if isinstance(X, Guessed):
            return X
        return self.with_guesses(X, self.tagger.predict_codes(X))

    def with_guesses(self, X: Columns, codes: IntVector) -> Guessed:
        """The columns of the second pass, with these guesses."""
        if not X.n_tokens:
            return Guessed({}, X.indptr, X.source)
        labels = self.tagger.labels
        read = [*self.tagger.columns_read, *(["word"] if self.nearby else [])]
        columns = {**{name: X[name] for name in read}, GUESS: Column(codes, labels)}
        if self.nearby:
            columns[NEARBY] = Column(nearby_labels(X, codes, len(labels), self.nearby), [*labels, ""])
        return Guessed(columns, X.indptr, X.source)


def nearby_labels(X: Columns, codes: IntVector, n_labels: int, distance: int) -> IntVector:
    """For each token the most frequent label of its word, whatever the case, in other sequences up to `distance` away.

    The label with the smallest number wins a tie; `n_labels` stands for none.
    """
    word = X["word"]
    number: dict[str, int] = {}
    lower = np.array([number.setdefault(value.lower(), len(number)) for value in word.values], dtype=np.int64)
    sequence = np.repeat(np.arange(X.n_sequences), np.diff(X.indptr))
    # Sorted by word, then by sequence: the tokens of a word in neighbouring sequences stand together.
    width = X.n_sequences + 2 * distance + 2
    key = lower[word.codes] * width + sequence + distance
    order = np.argsort(key, kind="stable")
    own, ordered = key[order], codes[order]
    begin, end = (np.searchsorted(own, own + step) for step in (-distance, distance + 1))
    here, there = np.searchsorted(own, own), np.searchsorted(own, own + 1)
    best, most = np.full(len(own), n_labels, dtype=np.int32), np.zeros(len(own), dtype=np.int64)
    for label in range(n_labels):
        so_far = np.concatenate([[0], np.cumsum(ordered == label)])
        count = so_far[end] - so_far[begin] - (so_far[there] - so_far[here])
        best[count > most] = label
        most = np.maximum(most, count)
    found = np.empty_like(best)
    found[order] = best
    return found


def check_passes(parameters: TaggerParameters, *, at_once: bool) -> bool:
    """Whether there are two passes; an error if that is not possible, or data come in parts instead of `at_once`."""
    if parameters.passes not in (1, 2) or isinstance(parameters.passes, bool):
        raise WidemarginError(f"passes must be 1 or 2, not {parameters.passes!r}")
    nearby = parameters.nearby
    if isinstance(nearby, bool) or not isinstance(nearby, int | np.integer) or nearby < 0:
        raise WidemarginError(f"nearby must be a whole number of at least 0, not {nearby!r}")
    if parameters.passes == 1:
        if nearby:
            raise WidemarginError("nearby is about labels of a first pass: it needs passes=2")
        return False
    if not at_once:
        raise UnsupportedError("two passes need all training data at once, in memory; take passes=1")
    return True


def guessed(parameters: TaggerParameters, data: Data) -> tuple[TaggerParameters, Data, FirstPass]:
    """What the second pass is trained with, and the first pass."""
    resources = Resources(parameters.lexicons or {}, parameters.clusters or {})
    extractor = choose_extractor(data.X, parameters.templates, resources)
    if not isinstance(extractor, TemplateExtractor):
        raise UnsupportedError("a second pass adds columns to tokens; ready-made features have none")
    for name in {GUESS, NEARBY}.intersection(extractor.columns_read):
        raise DataError(
            f"a template reads a column {name!r}, which two passes fill in by themselves; rename the column"
        )
    X = as_columns(data.X)
    if X.n_tokens:
        X = X.only(*dict.fromkeys(["word", *extractor.columns_read] if parameters.nearby else extractor.columns_read))
    first, codes = _first_pass(parameters, data._replace(X=X, dev=None))
    templates = DEFAULT_TEMPLATES if parameters.templates is None else spelt_out(parameters.templates, resources)
    chosen = replace(
        parameters, passes=1, nearby=0, templates=[*templates, *GUESSES, *(NEARBYS if parameters.nearby else ())]
    )
    dev = None if data.dev is None else (first.read(as_columns(data.dev[0])), data.dev[1])
    name_run("the second pass", data.told)
    return chosen, data._replace(X=first.with_guesses(X, codes), dev=dev), first


def _first_pass(parameters: TaggerParameters, data: Data) -> tuple[FirstPass, IntVector]:
    """The first pass, and the labels of taggers that have not learnt from the sequence at hand."""
    X, y = data.X, first_labels(data.X, data.y)
    if np.count_nonzero(np.diff(X.indptr)) < 2:
        raise DataError("two passes need two sequences or more to learn from")
    simple = replace(parameters, passes=1, nearby=0, scheme="given", warm_start=False, verbose=False)
    name_run("the first pass", data.told)
    whole = _tagger(simple, data._replace(y=y))
    part, codes = parts(X.indptr, FOLDS), np.empty(X.n_tokens, dtype=np.int32)
    of_token = np.repeat(part, np.diff(X.indptr))
    for k in range(int(part.max()) + 1):
        rest, here = part != k, of_token == k
        name_run(f"the first pass, part {k + 1}/{part.max() + 1}", data.told)
        weight = None if data.sample_weight is None else np.asarray(data.sample_weight)[rest]
        others = Data(X.chosen(np.flatnonzero(rest)), only(y, ~here), weight, told=data.told)
        codes[here] = codes_by(
            whole, _tagger(replace(simple, tol=QUICK["tol"]), others), X.chosen(np.flatnonzero(~rest))
        )
    return FirstPass(whole, int(parameters.nearby)), codes


def first_labels(X: Columns, y: Any) -> Column:
    """The labels that the first pass learns, as texts: where they are BIO, also whether spans end."""
    gold = as_sequences(X, y)
    if are_partial(gold):
        raise UnsupportedError("two passes need labels that are all known; take passes=1")
    texts = [[str(label) for label in labels] for labels in gold]
    known = {label for labels in texts for label in labels}
    if is_bio(known) and {parsed(label)[0] for label in known} <= set("BIO"):
        texts = [bioes(spans(labels), len(labels)) for labels in texts]
    column = Column.of([label for labels in texts for label in labels])
    return replace(column, notation=Notation(unknown=None))


def _tagger(parameters: TaggerParameters, data: Data) -> Any:
    from widemargin.tasks.tag.compile import compile_tags  # which imports this module
    from widemargin.tasks.training import train

    tagger, solution = train(compile_tags, parameters, data, data.told)
    if solution.stopped == "interrupted":
        raise KeyboardInterrupt  # there is no model yet that could be kept
    return tagger
