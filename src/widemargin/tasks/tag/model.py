"""A trained sequence tagger: labels, features and weights.

Model files call its structure ``chain``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from widemargin._types import AnyArray, IntVector, LongVector
from widemargin.core.header import Fields, names, one_of, record, whole
from widemargin.core.sparse import Rows
from widemargin.core.stored import Stored
from widemargin.tasks.answers import above_least
from widemargin.tasks.base import selected_rows
from widemargin.tasks.calibration import Ahead, Judged, Margins
from widemargin.tasks.carried import TAGGERS, describe_taggers, restore_taggers
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.tag.features import ChainExamples, ChainShape, ChainWeights
from widemargin.tasks.tag.predict import (
    BIOES,
    GUESS,
    NEARBY,
    ConstrainedChain,
    FirstPass,
    TagPredictor,
    label_to_show,
    labels_to_learn,
    labels_to_show,
    translate,
    well_formed,
)
from widemargin.tasks.tokens import TokenModel
from widemargin.text.columns import split
from widemargin.text.extractor import Extractor
from widemargin.text.inputs import describe, prepare, restore
from widemargin.text.labels import as_sequences
from widemargin.text.partial import judged_label, judged_spans
from widemargin.text.spans import Span, SpanLabels, marks_spans, spans
from widemargin.text.template_extractor import TemplateExtractor


@dataclass
class Tagger(TokenModel[ChainExamples]):
    """Labels, features and weights of a chain model."""

    kind = "chain"
    predicts = "label sequences"
    outputs_are = "labels"
    sizes_of = ("labels", "features", "transition_features", "weights")
    fields: ClassVar[Fields] = {"labels": names(str, int, at_least=1), "features": record({})}

    perhaps: ClassVar[Fields] = {"taggers": TAGGERS, NEARBY: whole(at_least=0), "scheme": one_of(BIOES)}

    extractor: Extractor
    weights: ChainWeights
    first: FirstPass | None = field(default=None, kw_only=True)
    """The pass before this one, if any."""
    scheme: str = field(default="given", kw_only=True)
    """``given`` if outputs have the learnt `labels`; ``bioes`` if these also mark where spans end."""

    @property
    def shape(self) -> ChainShape:
        """The layout of the weights."""
        return ChainShape(len(self.labels), self.extractor.n_features, self.extractor.n_transition_features)

    chain = shape  # another name

    @property
    def columns_read(self) -> list[str]:
        """The columns of tokens that the templates look at."""
        read = self.extractor.columns_read if isinstance(self.extractor, TemplateExtractor) else []
        return read if self.first is None else [name for name in read if name not in (GUESS, NEARBY)]

    def examples(self, X: Any) -> ChainExamples:
        """Sequences as examples to be decoded."""
        X = prepare(X, self.extractor)
        features = self.extractor.transform(X if self.first is None else self.first.read(X))
        return ChainExamples(self.shape, features.indptr, features.rows, transition_features=features.transition_rows)

    @property
    def decoded_with(self) -> ChainWeights:
        """The weights; under the scheme ``bioes``, with −∞ for ill-formed pairs of labels."""
        return self.weights if self.scheme == "given" else well_formed(self.weights, self.labels)

    @cached_property
    def predictor(self) -> TagPredictor:
        """Finds the labels of new sequences."""
        return TagPredictor(self.extractor, self.decoded_with, self.first)

    @property
    def templates(self) -> Mapping[str, Sequence[str]]:
        """The templates; none if features came ready-made."""
        return {"": self.extractor.texts} if isinstance(self.extractor, TemplateExtractor) else {}

    def named_rows(self) -> list[tuple[Rows, list[str]]]:
        """The weights of the features of tokens."""
        return [(self.weights.thin_emission, self.extractor.names()[: self.extractor.n_features])]

    def constrain(self, examples: ChainExamples, constraints: Constraints) -> ConstrainedChain:
        """The sequences under constraints."""
        if self.scheme == BIOES:
            constraints = translate(constraints, self.labels)
        return ConstrainedChain(examples, self.decoded_with, self.labels, constraints)

    def outputs(self, codes: IntVector, indptr: LongVector) -> list[list[Any]]:
        """The labels of every sequence."""
        found = split([self.labels[code] for code in codes.tolist()], indptr)
        return found if self.scheme == "given" else [labels_to_show(self.scheme, each) for each in found]

    def margins(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[Margins]:
        """The predicted labels of every sequence, with their margins."""
        examples, codes, best = self.best_with_marginals(X, n_threads, constraints)
        cuts = examples.indptr[1:-1]
        return [Margins.of(*each) for each in zip(np.split(codes, cuts), np.split(best, cuts), strict=True)]

    def ahead(self, margins: Margins, kind: Literal["labels", "spans"]) -> Ahead:
        """The labels of a sequence, or the spans that they mark, and their margins."""
        names = self._names(margins.codes)
        if kind == "labels":
            return Ahead(names, margins.of_labels())
        marks, found = SpanLabels(self.labels), spans(names)
        return Ahead(found, margins.of_spans(found, marks))

    def likely(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[dict[str, Any]]:
        """Tokens, and for each the probabilities of its labels."""
        return [
            {"tokens": words, "probabilities": [above_least(self.labels, row) for row in rows.tolist()]}
            for words, rows in zip(X.sequences("word"), self.predict_proba(X, n_threads, constraints), strict=True)
        ]

    def spans_in(self, outputs: list[list[Any]]) -> list[list[Span]]:
        """The spans that labels mark."""
        SpanLabels(self.labels)  # an error if they mark none
        return list(map(spans, outputs))

    def confident(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[dict[str, Any]]:
        """Labels, the confidence in each, and the spans that they mark, if the model is calibrated for them."""
        curve, found = self.curve("labels"), list[dict[str, Any]]()
        for each in self.margins(X, n_threads, constraints):
            labels, margins = self.ahead(each, "labels")
            found.append({"labels": labels, "confidence": curve(margins).tolist()})
            if self.calibration is not None and "spans" in self.calibration.curves:
                found[-1]["spans"] = [span._asdict() for span in self.sure(each)]
        return found

    def judge(self, X: Any, y: Any, n_threads: int = 1) -> dict[str, Judged]:
        """The labels predicted for `X`, and the spans that they mark, judged by `y`."""
        # Compared as strings, because labels read from a file are strings.
        gold, margins = self.gold_names(X, y), self.margins(X, n_threads)
        predicted, ahead = zip(*(self.ahead(each, "labels") for each in margins), strict=True) if margins else ((), ())
        pairs = (zip(*both, strict=True) for both in zip(gold, predicted, strict=True))
        right = [judged_label(g, str(p)) for both in pairs for g, p in both]
        judged = {"labels": Judged.of(ahead, right)}
        if marks_spans(self.labels):
            right = [each for g, p in zip(gold, predicted, strict=True) for each in judged_spans(g, p)]
            judged["spans"] = Judged.of([self.ahead(each, "spans").margins for each in margins], right)
        return {kind: each for kind, each in judged.items() if len(each.right)}

    def _names(self, codes: IntVector) -> list[Any]:
        """The labels of one sequence."""
        names = self.labels
        return labels_to_show(self.scheme, [names[code] for code in codes.tolist()])

    @property
    def names_given(self) -> list[str]:
        """The names of labels as users give them."""
        return self.code_names if self.scheme == "given" else list(dict.fromkeys(map(label_to_show, self.labels)))

    @property
    def labels_given(self) -> list[Any]:
        """The labels as users give them."""
        return self.labels if self.scheme == "given" else self.names_given

    def names_of(self, codes: IntVector, indptr: LongVector) -> list[list[str]]:
        """The labels of tokens that codes stand for, as strings and as users give them."""
        return [[str(label) for label in labels] for labels in self.outputs(codes, indptr)]

    def learnt_labels(self, X: Any, y: Any) -> Sequence[Sequence[Any]]:
        """Gold outputs as labels that the model has learnt."""
        gold: Sequence[Sequence[Any]] = as_sequences(X, labels_to_learn(self.scheme, X, y))
        return gold

    def compact(self) -> "Tagger":
        """The same tagger without features whose weights are all zero."""
        weights = self.weights
        used = np.concatenate([np.diff(weights.thin_emission.indptr) > 0, weights.conditional.any(axis=(1, 2))])
        extractor = self.extractor.keep(used)
        if extractor is None:
            return self
        n = self.extractor.n_features
        thin = selected_rows(weights.thin_emission, used[:n])
        kept = weights._replace(thin_emission=thin, conditional=weights.conditional[used[n:]])
        return replace(self, extractor=extractor, weights=kept)

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        described, tensors = describe(self.extractor)
        tensors |= self.weights.tensors()
        header = {"features": described} | ({} if self.scheme == "given" else {"scheme": self.scheme})
        if self.first is None:
            return header, tensors
        carried, more = describe_taggers({GUESS: self.first.tagger})
        return {**header, NEARBY: self.first.nearby, **carried}, tensors | more

    @classmethod
    def _restore(cls, stored: Stored) -> "Tagger":
        labels, extractor = stored.header["labels"], restore(stored.part("features"))
        weights = ChainShape(len(labels), extractor.n_features, extractor.n_transition_features).restored(stored)
        first, scheme = _restored_first(stored, extractor), stored.header.get("scheme", "given")
        if scheme == BIOES and not marks_spans(labels):
            raise stored.place.damaged("its labels do not mark spans, as its scheme says")
        return cls(labels, extractor, weights, first=first, scheme=scheme, summary=stored.header["summary"])


def _restored_first(stored: Stored, extractor: Extractor) -> FirstPass | None:
    """The first pass that a model file holds, if any."""
    read = extractor.columns_read if isinstance(extractor, TemplateExtractor) else []
    nearby, taggers = stored.header.get(NEARBY, 0), restore_taggers(stored, [GUESS] if GUESS in read else [])
    if bool(nearby) > (NEARBY in read):
        raise stored.place.damaged(f"no template reads the column {NEARBY}")
    return FirstPass(taggers[GUESS], nearby) if taggers else None
