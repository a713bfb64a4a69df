"""How the first of two passes is trained, and what the second is trained with (`tasks.tag.passes`).

The first pass is nearly always right about data that it has learnt. So the columns of the training data come from
taggers that have learnt from other parts of them (jack-knifing, `tasks.jackknife`).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from widemargin._types import IntVector
from widemargin.core.loop import name_run
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.jackknife import QUICK, codes_by, only, parts
from widemargin.tasks.tag.parameters import TaggerParameters
from widemargin.tasks.tag.passes import GUESS, NEARBY, FirstPass
from widemargin.tasks.training import Data, train
from widemargin.text.attributes import Resources
from widemargin.text.columns import Column, Columns, Notation
from widemargin.text.inputs import as_columns, choose_extractor
from widemargin.text.labels import as_sequences
from widemargin.text.partial import are_partial
from widemargin.text.spans import bioes, is_bio, parsed, spans
from widemargin.text.template_extractor import TemplateExtractor
from widemargin.text.template_sets import spelt_out
from widemargin.text.templates import DEFAULT_TEMPLATES

FOLDS = 5
GUESSES = (f"{GUESS}[-2..2]", f"{GUESS}[-1]|{GUESS}[1]")
NEARBYS = (f"{NEARBY}[-1..1]", f"{NEARBY}|lower")
"""Templates of the second pass for its own columns."""


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
    """The parameters and data to train the second pass with, and the first pass."""
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

    tagger, solution = train(compile_tags, parameters, data, data.told)
    if solution.stopped == "interrupted":
        raise KeyboardInterrupt  # there is no model yet that could be kept
    tagger.online = None  # it learns no more
    return tagger
