"""A trained sequence tagger: labels, features and weights.

Model files call its structure ``chain``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from widemargin._types import AnyArray, FloatVector, IntVector, LongVector
from widemargin.core.header import Fields, names, one_of, record, whole
from widemargin.core.sparse import Rows
from widemargin.core.stored import Stored
from widemargin.errors import WidemarginError
from widemargin.files.pieces import Cut
from widemargin.files.raw import RawText
from widemargin.report.explain import Explanation, Option, Question, compared, listed
from widemargin.tasks.answers import above_least
from widemargin.tasks.base import Corpus, Reading, selected_rows
from widemargin.tasks.calibration import Ahead, Judged, Margins
from widemargin.tasks.carried import TAGGERS
from widemargin.tasks.carried import described as carried_taggers
from widemargin.tasks.carried import restored as restored_taggers
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.strongest import (
    Part,
    label_parts,
    masked,
    pair_name,
    pairs_with,
    strongest,
    strongest_by_label,
)
from widemargin.tasks.tag.features import ChainExamples, ChainShape, ChainWeights
from widemargin.tasks.tag.predict import (
    BIOES,
    GUESS,
    NEARBY,
    ConstrainedChain,
    FirstPass,
    Guessed,
    TagPredictor,
    label_to_show,
    labels_to_learn,
    labels_to_show,
    translate,
    well_formed,
)
from widemargin.tasks.tokens import TokenModel
from widemargin.text.columns import Columns, split
from widemargin.text.extractor import Extractor
from widemargin.text.inputs import describe, prepared, restore
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
    explains = True
    sizes_of = ("labels", "features", "transition_features", "weights")
    fields: ClassVar[Fields] = {"labels": names(str, int, at_least=1), "features": record({})}
    exports: ClassVar[Mapping[str, str]] = {".crfsuite": "a model file of CRFsuite"}

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
        X = prepared(X, self.extractor)
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

    def remarks(self) -> list[tuple[str, str]]:
        """The pass before this one."""
        if self.first is None:
            return []
        nearby = f", also of the same word in sequences nearby (up to {self.first.nearby})" if self.first.nearby else ""
        return [("passes", f"2: this one reads the labels that a first one finds{nearby}")]

    def alone(self, corpus: Corpus, number: int) -> Corpus:
        """One sequence of a file, counted from 1; it keeps the column ``nearby`` of the whole file."""
        if self.first is None or not self.first.nearby:
            return super().alone(corpus, number)
        X = self.first.read(corpus.X)
        one = super().alone(corpus._replace(X=X), number)
        cut = X.alone(number - 1)
        return one._replace(X=Guessed(cut.by_name, cut.indptr, cut.source))

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Cut between two sequences; None if labels depend on sequences nearby."""
        return None if self.first is not None and self.first.nearby else super().cut(head, reading)

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest features, transitions, first and last labels."""
        weights, labels, names = self.weights, self.code_names, self.extractor.names()
        n, n_features, pair = len(labels), self.extractor.n_features, pair_name(labels)
        on_transitions = strongest(
            masked(weights.conditional, pairs_with(chosen, n)),
            top,
            lambda number: f"{names[n_features + number // n**2]}: {pair(number % n**2)}",
        )
        features = strongest_by_label(weights.thin_emission, names[:n_features], labels, chosen, top)
        rest = label_parts(weights, labels, chosen, top)
        return {
            "features": Part("Features for and against", by_label=features),
            "transitions": rest.pop("transitions"),
            "features_on_transitions": Part("Features on transitions", on_transitions),
            **rest,
        }

    def named_rows(self) -> list[tuple[Rows, list[str]]]:
        """The weights of the features of tokens."""
        return [(self.weights.thin_emission, self.extractor.names()[: self.extractor.n_features])]

    def constrained(self, examples: ChainExamples, constraints: Constraints) -> ConstrainedChain:
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
        examples, codes, best = self.compared(X, n_threads, constraints)
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

    def explain(self, X: Columns, question: Question) -> Explanation:
        """Why a token has its label; without a token, the margin of every label."""
        if question.span is not None or question.head is not None:
            raise WidemarginError(f"the model predicts {self.predicts}; ask for a --token, and perhaps another --label")
        if question.token is None and question.label is not None:
            raise WidemarginError("--explain compares one part with one other: give a --token, too")
        return LabelExplainer(self, X).explain(question)

    def confident(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[dict[str, Any]]:
        """Labels, the confidence in each, and the spans that they mark, if the model is calibrated for them."""
        curve, found = self.curve("labels"), list[dict[str, Any]]()
        for each in self.margins(X, n_threads, constraints):
            labels, margins = self.ahead(each, "labels")
            found.append({"labels": labels, "confidence": curve(margins).tolist()})
            if self.calibration is not None and "spans" in self.calibration.curves:
                found[-1]["spans"] = [span._asdict() for span in self.sure(each)]
        return found

    def judged(self, X: Any, y: Any, n_threads: int = 1) -> dict[str, Judged]:
        """The labels predicted for `X`, and the spans that they mark, judged by `y`."""
        # Compared as strings, because labels read from a file are strings.
        gold, margins = self._spelt(X, y), self.margins(X, n_threads)
        predicted, ahead = zip(*(self.ahead(each, "labels") for each in margins), strict=True) if margins else ((), ())
        pairs = (zip(*both, strict=True) for both in zip(gold, predicted, strict=True))
        right = [judged_label(g, str(p)) for both in pairs for g, p in both]
        judged = {"labels": Judged.of(ahead, right)}
        if marks_spans(self.labels):
            right = [each for g, p in zip(gold, predicted, strict=True) for each in judged_spans(g, p)]
            judged["spans"] = Judged.of([self.ahead(each, "spans").margins for each in margins], right)
        return {kind: each for kind, each in judged.items() if len(each.right)}

    def exported(self, suffix: str) -> bytes:
        """The model as CRFsuite writes it."""
        from widemargin.files.lcrf import lcrf_bytes  # seldom needed
        from widemargin.tasks.tag.crfsuite import chain_file

        return lcrf_bytes(chain_file(self))

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

    def _named(self, codes: IntVector, indptr: LongVector) -> list[list[str]]:
        return [[str(label) for label in labels] for labels in self.outputs(codes, indptr)]

    def learnt_labels(self, X: Any, y: Any) -> Sequence[Sequence[Any]]:
        """Gold outputs as labels that the model has learnt."""
        gold: Sequence[Sequence[Any]] = as_sequences(X, labels_to_learn(self.scheme, X, y))
        return gold

    def compacted(self) -> "Tagger":
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
        carried, more = carried_taggers({GUESS: self.first.tagger})
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
    nearby, taggers = stored.header.get(NEARBY, 0), restored_taggers(stored, [GUESS] if GUESS in read else [])
    if bool(nearby) > (NEARBY in read):
        raise stored.place.damaged(f"no template reads the column {NEARBY}")
    return FirstPass(taggers[GUESS], nearby) if taggers else None


class LabelExplainer:
    """Why a token of one sequence has its label and not another: the features and transitions that vote for either.

    The votes for a label are the weights of the token's features and of the transitions from the label before and to
    the label after; all other labels are as predicted. The sequence is chosen as a whole, so a predicted label may have
    fewer votes than another. The *margin* of a label compares the best sequence with the best sequence that has another
    label at this token.
    """

    def __init__(self, tagger: Tagger, X: Columns) -> None:
        (self._margins,), (self._words,) = tagger.margins(X), X.sequences("word")
        self._data, self._weights = tagger.examples(X).features, tagger.weights
        self._labels, self._names = tagger.code_names, tagger.extractor.names()
        self._codes = self._margins.codes

    def explain(self, question: Question) -> Explanation:
        """Compare the label of a token with another; without a token, list all labels with their margins."""
        if question.token is None:
            ahead = self._margins.of_labels().tolist()
            return listed(
                (self._spelt(t, code), ahead[t], self._labels[self._rival(t)])
                for t, code in enumerate(self._codes.tolist())
            )
        t = question.token - 1
        if t >= len(self._codes):
            raise WidemarginError(f"there is no token {question.token} in a sequence of {len(self._codes)}")
        chosen, other = int(self._codes[t]), self._rival(t)
        if question.label is not None:
            if question.label not in self._labels:
                known = ", ".join(map(repr, self._labels))
                raise WidemarginError(f"the model has no label {question.label!r}; it has {known}")
            other = self._labels.index(question.label)
        if other == chosen:
            raise WidemarginError(
                f"token {question.token} is predicted to be {self._labels[other]}; name another label"
            )
        return compared(self._option(t, chosen), self._option(t, other))

    def _rival(self, t: int) -> int:
        """The label other than the predicted one with the best max-marginal."""
        scores = self._margins.best[t].copy()
        scores[self._codes[t]] = -np.inf
        return int(np.argmax(scores))

    def _spelt(self, t: int, label: int) -> str:
        return f"{t + 1} {self._words[t]}: {self._labels[label]}"

    def _option(self, t: int, label: int) -> Option:
        weights, names, n_features = self._weights, self._labels, len(self._weights.thin_emission.indptr) - 1
        votes = [
            (self._names[feature], value * _entry(weights.thin_emission, feature, label))
            for feature, value in _entries(self._data.rows, t)
        ]
        if t == 0:
            votes.append((f"begin={names[label]}", float(weights.begin[label])))
        else:
            before = int(self._codes[t - 1])
            votes += self._transition("before", before, label, t, n_features)
        if t == len(self._codes) - 1:
            votes.append((f"end={names[label]}", float(weights.end[label])))
        else:
            votes += self._transition("after", label, int(self._codes[t + 1]), t + 1, n_features)
        return Option(self._spelt(t, label), votes)

    def _transition(self, side: str, before: int, after: int, t: int, n_features: int) -> list[tuple[str, float]]:
        """The votes for the transition into token t."""
        weights, pair = self._weights, f"{self._labels[before]} → {self._labels[after]}"
        votes = [(f"transition {side}={pair}", float(weights.transition[before, after]))]
        if len(weights.conditional):
            votes += [
                (
                    f"{self._names[n_features + feature]}|{pair}",
                    value * float(weights.conditional[feature, before, after]),
                )
                for feature, value in _entries(self._data.transition_rows, t)
            ]
        return votes


def _entries(rows: Rows, row: int) -> list[tuple[int, float]]:
    """The indices and values of a row."""
    begin, end = rows.indptr[row : row + 2].tolist()
    values: FloatVector = rows.values[begin:end] if len(rows.values) else np.ones(end - begin)
    return list(zip(rows.indices[begin:end].tolist(), values.tolist(), strict=True))


def _entry(rows: Rows, row: int, index: int) -> float:
    """One entry of a row; 0 where it has none."""
    return dict(_entries(rows, row)).get(index, 0.0)
