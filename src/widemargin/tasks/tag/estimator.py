"""Sequence labelling as a scikit-learn estimator, and from labelled sequences to the examples of a chain.

The first of two passes (`tasks.tag.predict`) is nearly always right about its training data. So the second pass learns
from labels of taggers that have not seen the sequence (`tasks.stacking`).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.core.checks import checked_weights
from widemargin.core.loop import name_run
from widemargin.core.solution import Solution
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.abilities import TokenEstimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.plan import solver_and_objective
from widemargin.tasks.stacking import stack
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.features import ChainExamples, ChainShape, PartialChainExamples
from widemargin.tasks.tag.model import Tagger
from widemargin.tasks.tag.predict import GUESS, NEARBY, FirstPass, check_scheme, labels_to_learn
from widemargin.tasks.token_training import assemble, dev_score, extractor_for, match, metric_for
from widemargin.tasks.training import Compiled, Data
from widemargin.text.attributes import Resources
from widemargin.text.columns import Column, Columns, Notation
from widemargin.text.extractor import Draft, Extractor, FeatureRows
from widemargin.text.inputs import as_columns, choose_extractor, prepare
from widemargin.text.labels import (
    Encoded,
    as_sequences,
    checked_labels,
    cost_matrix,
    encode_labels,
    fixed_labels,
    label_weights,
    places_of,
)
from widemargin.text.partial import are_partial
from widemargin.text.spans import bioes, is_bio, parse_label, spans
from widemargin.text.template_extractor import TemplateExtractor
from widemargin.text.template_sets import spelt_out
from widemargin.text.templates import DEFAULT_TEMPLATES

if TYPE_CHECKING:
    from widemargin.tasks.warm import Matched


class TagDraft(NamedTuple):
    """The features and labels of a piece of the data, numbered by the piece alone."""

    extractor: Extractor
    features: Draft
    encoded: Encoded


def _draft(parameters: TaggerParameters, data: Data, labels: list[Any] | None = None) -> TagDraft:
    """The features and labels of a piece; if all `labels` are known, the piece need not have any."""
    extractor, X = extractor_for(parameters, data)
    encoded = encode_labels(X, labels_to_learn(parameters.scheme, X, data.y), labels)
    return TagDraft(extractor, extractor.draft(X), encoded)


def survey_tags(parameters: TaggerParameters, data: Data) -> Survey:
    """The labels and features of a piece of the data."""
    check_passes(parameters, at_once=False)
    check_scheme(parameters)
    drafted = _draft(parameters, data)
    encoded = drafted.encoded
    if len(encoded.sets):
        refuse_latent("some labels are unknown")
    counts = np.bincount(encoded.known, minlength=len(encoded.labels)).tolist()
    weights = _label_counts(encoded, np.diff(drafted.features.features.indptr).tolist(), data.sample_weight).tolist()
    facts = {"weights of labels": Counter(dict(zip(encoded.labels, weights, strict=True)))}
    labels = Counter(dict(zip(encoded.labels, counts, strict=True)))
    return Survey(labels, drafted.features.counted(), facts, drafted)


def compile_share(parameters: TaggerParameters, data: Data, survey: Survey) -> Compiled[Tagger]:
    """Compile one of several pieces of the data, with the labels and features of all of them."""
    drafted: TagDraft | None = survey.drafted
    extractor, draft, encoded = drafted or _draft(parameters, data, survey.by_frequency)
    labels = survey.by_frequency
    extractor.adopt(survey.features)
    features = extractor.numbered(draft)
    costs = costs_of(parameters, labels, partial(_counts_of, survey, labels))
    chain = ChainShape(len(labels), extractor.n_features, extractor.n_transition_features)
    encoded = encoded._replace(labels=labels, known=places_of(encoded.labels, labels)[encoded.known])
    return assemble_tags(
        parameters, extractor, labels, _examples(chain, features, encoded, costs), data, piecewise=True
    )


def compile_tags(
    parameters: TaggerParameters,
    data: Data,
    labels: Sequence[Any] | None = None,
    *,
    piece: bool = False,
    after: Tagger | None = None,
    survey: Survey | None = None,
) -> Compiled[Tagger]:
    """Compile features and labels to arrays; without `labels`, they are those of the data.

    A `piece` adds its labels and features to those of `after`, the tagger trained so far. With a `survey` of all data,
    these are a share of them.
    """
    if check_passes(parameters, at_once=survey is None and not piece):
        second, guesses, first = prepare_second_pass(parameters, data)
        found = compile_tags(second, guesses, labels)
        return replace(found, model=partial(_second_pass, found.model, first), piecewise=False)
    check_scheme(parameters, piece=piece)
    if survey is not None:
        return compile_share(parameters, data, survey)
    if after is not None and (after.first is not None or after.scheme != parameters.scheme):
        raise UnsupportedError("the tagger has two passes, or a scheme of labels, and needs all data at once; fit anew")
    extractor, X = extractor_for(parameters, data, after)
    data = data._replace(y=labels_to_learn(parameters.scheme, X, data.y))
    if after is not None:
        given, online = None if labels is None else checked_labels(labels), after.online
        fixed = fixed_labels(given, after.labels, fixed=online is not None and online.fixed)
        encoded = encode_labels(X, data.y, fixed, after.labels)
        extractor = extractor.grown(X, parameters.min_count)
        features = extractor.transform(X)
    else:
        encoded = encode_labels(X, data.y, None if labels is None else checked_labels(labels))
        features = extractor.fit(X)
    counts = partial(_label_counts, encoded, np.diff(features.indptr).tolist(), data.sample_weight)
    costs = costs_of(parameters, encoded.labels, counts, piece=piece)
    chain = ChainShape(len(encoded.labels), extractor.n_features, extractor.n_transition_features)
    examples = _examples(chain, features, encoded, costs)
    return assemble_tags(parameters, extractor, encoded.labels, examples, data, piecewise=True)


def assemble_tags(
    parameters: TaggerParameters,
    extractor: Extractor,
    labels: list[Any],
    examples: ChainExamples,
    data: Data,
    *,
    piecewise: bool = False,
) -> Compiled[Tagger]:
    """The examples with their development score, and how to make a tagger."""
    metric, score = metric_for(parameters.dev_metric, labels), None
    if data.dev is not None:
        X = prepare(data.dev[0], extractor)
        gold = as_sequences(X, labels_to_learn(parameters.scheme, X, data.dev[1]))
        score = dev_score(metric, _examples(examples.shape, extractor.transform(X)), labels, gold, parameters.n_jobs)
    make = partial(Tagger, extractor=extractor, scheme=parameters.scheme)
    matched = partial(_match, labels, extractor)
    return assemble(make, labels, examples, data, score, metric, matched, piecewise=piecewise)


def _label_counts(encoded: Encoded, sizes: Sequence[int], sample_weight: Any) -> FloatVector:
    """The total weight of the tokens of each label; tokens with several possible labels do not count."""
    tokens = np.repeat(checked_weights(sample_weight, len(sizes)), sizes)
    sure = encoded.known < len(encoded.labels)
    return np.bincount(encoded.known[sure], tokens[sure], len(encoded.labels)).astype(np.float64)


def _counts_of(survey: Survey, labels: list[Any]) -> FloatVector:
    """The total weight of the tokens of each label, over all surveyed pieces."""
    return np.fromiter((survey.facts["weights of labels"][label] for label in labels), dtype=np.float64)


def costs_of(
    parameters: TaggerParameters, labels: list[Any], counts: Callable[[], FloatVector], *, piece: bool = False
) -> FloatMatrix | None:
    """The cost of each error times the weight of its gold label; `counts` returns the total weight of each label."""
    class_weight, costs = parameters.class_weight, cost_matrix(parameters.costs, labels)
    if class_weight is None:
        return costs
    solver, objective = solver_and_objective(parameters)
    if not solver.heeds_errors or getattr(objective, "error_scale", 1.0) == 0.0:
        what = f"the objective {parameters.objective or 'likelihood'}" if solver.heeds_errors else f"{solver}"
        raise UnsupportedError(
            f"class_weight weighs errors, but {what} takes no account of how large they are; use the objective margin "
            "or softmax-margin, with a solver such as auto"
        )
    if piece and class_weight == "balanced":
        raise UnsupportedError("class_weight='balanced' needs all data at once; give the weights of labels instead")
    plain = 1.0 - np.eye(len(labels)) if costs is None else costs
    return label_weights(class_weight, labels, counts())[:, None] * plain


def _match(labels: list[Any], extractor: Extractor, model: Tagger) -> "Matched":
    """The weights of another tagger for the labels and features that both have, matched by name."""
    from widemargin.tasks.warm import places  # seldom needed

    names, before, n, m = extractor.names(), model.extractor.names(), extractor.n_features, model.extractor.n_features
    codes, emission = places(labels, model.labels), places(names[:n], before[:m])
    conditional = places(names[n:], before[m:])
    axes = {"emission": (emission, codes), "conditional": (conditional, codes, codes)}
    return match(model, codes, axes, emission, conditional)


def _second_pass(
    model: Callable[[Solution, dict[str, Any]], Tagger], first: FirstPass, solution: Solution, summary: dict[str, Any]
) -> Tagger:
    return replace(model(solution, summary), first=first)


def _examples(
    chain: ChainShape, features: FeatureRows, encoded: Encoded | None = None, costs: FloatMatrix | None = None
) -> ChainExamples:
    indptr, rows, transition_rows = features.indptr, features.rows, features.transition_rows
    if encoded is not None and len(encoded.sets):
        return PartialChainExamples(
            chain, indptr, rows, encoded.known, encoded.sets, costs=costs, transition_features=transition_rows
        )
    gold = None if encoded is None else encoded.known
    return ChainExamples(chain, indptr, rows, gold, costs=costs, transition_features=transition_rows)


FOLDS = 5
GUESSES = (f"{GUESS}[-2..2]", f"{GUESS}[-1]|{GUESS}[1]")
NEARBYS = (f"{NEARBY}[-1..1]", f"{NEARBY}|lower")
"""Templates of the second pass for its own columns."""


def check_passes(parameters: TaggerParameters, *, at_once: bool) -> bool:
    """Whether there are two passes; raise if the data do not come `at_once`, or `nearby` is about nothing."""
    if parameters.passes == 1:
        if parameters.nearby:
            raise WidemarginError("nearby is about labels of a first pass: it needs passes=2")
        return False
    if not at_once:
        raise UnsupportedError("two passes need all training data at once, in memory; take passes=1")
    return True


def prepare_second_pass(parameters: TaggerParameters, data: Data) -> tuple[TaggerParameters, Data, FirstPass]:
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
    """The first pass, and the labels that each sequence gets from a tagger that has not learnt from it."""
    X, y = data.X, first_labels(data.X, data.y)
    if np.count_nonzero(np.diff(X.indptr)) < 2:
        raise DataError("two passes need two sequences or more to learn from")
    simple = replace(parameters, passes=1, nearby=0, scheme="given", warm_start=False, verbose=False)
    whole, guesses = stack(compile_tags, simple, data._replace(y=y), FOLDS, "the first pass")
    return FirstPass(whole, int(parameters.nearby)), guesses.codes


def first_labels(X: Columns, y: Any) -> Column:
    """The labels that the first pass learns, as texts; BIO becomes BIOES."""
    gold = as_sequences(X, y)
    if are_partial(gold):
        raise UnsupportedError("two passes need labels that are all known; take passes=1")
    texts = [[str(label) for label in labels] for labels in gold]
    known = {label for labels in texts for label in labels}
    if is_bio(known) and {parse_label(label)[0] for label in known} <= set("BIO"):
        texts = [bioes(spans(labels), len(labels)) for labels in texts]
    column = Column.of([label for labels in texts for label in labels])
    return replace(column, notation=Notation(unknown=None))


@documented(Tagger)
@dataclass(kw_only=True, repr=False, eq=False)
class SequenceTagger(TaggerParameters, TokenEstimator[Tagger]):
    """Large-margin sequence labelling: a first-order chain.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    tagger_ : Tagger
        Another name of `model_`.

    Notes
    -----
    X is a list of sequences of tokens (strings), of ready-made features, or of matrix rows (`widemargin.text.inputs`);
    or `Columns`, as readers return them. y is a list of label lists, or a `Column`. A label may be None if it is
    unknown, or a set of labels if one of them is right; the model then fills in the rest as it learns (`core.latent`).

    Examples
    --------
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]] * 3
    >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"]] * 3
    >>> tagger = SequenceTagger(templates=["lower", "suffix1"], tol=1e-7).fit(X, y)
    >>> tagger.predict([["the", "cat", "barks"]])
    [['DET', 'NOUN', 'VERB']]
    >>> tagger.score(X, y)
    1.0
    >>> tagger.strongest("VERB", 1)
    Features for and against VERB
      +0.257 suffix1=s  -0.084 suffix1=t
    Transitions
      +0.159 NOUN → VERB  -0.199 VERB → DET
    First label
        -0.109 VERB
    Last label
      +0.257 VERB
    >>> round(tagger.transition_features_["DET", "NOUN"], 3), tagger.get_feature_names_out()[0]
    (0.168, 'suffix1=s')
    """

    _compile = staticmethod(compile_tags)
    _survey = staticmethod(survey_tags)

    @property
    def tagger_(self) -> Tagger:
        """The trained model."""
        return self.model_

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "SequenceTagger":
        """Train for one epoch on these data, starting from the current model; for solvers that learn piece by piece.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`; new features are learnt if they occur `min_count` times in these data
        classes : all labels that will ever occur (others are refused from then on); None learns those of `y`
        """
        return self._learn(self._data(X, y, sample_weight), classes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score that `dev_metric` names: by default F1 of spans if labels are BIO, else the share of right labels.

        `sample_weight` has a weight per sequence. The score of empty data is 0.
        """
        self._check_fitted()
        return self._score(metric_for(self.dev_metric, self.classes_.tolist()), X, y, sample_weight)
