"""A trained sequence tagger: labels, features and weights together, without anything of training.

This is what a model file of the structure ``chain`` holds. It needs no scikit-learn, so that a command line that only
predicts starts fast; `estimators.SequenceTagger` wraps it.
"""

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.answers import Margins, Ranked, SureSpan
from widemargin.bio import SpanLabels, marks_spans
from widemargin.calibration import Calibration, CalibrationReport, Judged, Sigmoid
from widemargin.columns import Columns, boundaries, split
from widemargin.constrained_chain import ConstrainedChain
from widemargin.constraints import Constraints, check_possible
from widemargin.errors import ModelFileError, WidemarginError
from widemargin.features.base import Extractor
from widemargin.features.extractors import describe, restore
from widemargin.features.inputs import lengths, prepared
from widemargin.labels import are_labels, as_sequences
from widemargin.metrics import spans
from widemargin.model import ModelFile, read_model, vector, write_model
from widemargin.problem import in_shares, predict
from widemargin.sparse import Rows
from widemargin.structures import Chain, ChainExamples, ChainWeights

STRUCTURE = "chain"
DENSE = ("transition", "begin", "end", "conditional")


@dataclass
class Tagger:
    """Labels, features and weights of a chain model.

    `summary` is what training had to say of itself: settings, objective, gap, why it stopped, … `calibration` makes
    confidence a probability, once there has been one.
    """

    labels: list[Any]
    extractor: Extractor
    weights: ChainWeights
    summary: dict[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None

    @property
    def chain(self) -> Chain:
        """The layout of the weights."""
        return Chain(len(self.labels), self.extractor.n_features, self.extractor.n_transition_features)

    def predict_codes(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> IntVector:
        """The label numbers of all positions, sequences end to end."""
        examples = self._examples(X)
        if constraints is None:
            return np.concatenate(predict(examples, self.weights, n_threads))
        return ConstrainedChain(examples, self.weights, self.labels, constraints).decode(n_threads)

    def predict(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[list[Any]]:
        """The labels of every sequence."""
        codes = self.predict_codes(X, n_threads, constraints)
        return split(self._names(codes), X.indptr if isinstance(X, Columns) else boundaries(lengths(X)))

    def predict_best(
        self, X: Any, k: int, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[list[Ranked]]:
        """The `k` best label sequences of every sequence, best first; fewer where there are no more."""
        if k < 1:
            raise WidemarginError(f"one output at least must be asked for, not {k}")
        examples, weights = self._limited(X, constraints, "alternatives")
        parts = in_shares(examples, lambda batch: examples.decode_best(weights, batch, k), n_threads)
        batch, codes = (np.concatenate(each) for each in zip(*parts, strict=True))
        scores = examples.scores(weights, batch, codes)
        check_possible(batch, scores)
        outputs = split(self._names(codes), boundaries(examples.lengths[batch]))
        ranked: list[list[Ranked]] = [[] for _ in range(examples.n_examples)]
        for i, score, output in zip(batch.tolist(), scores.tolist(), outputs, strict=True):
            ranked[i].append(Ranked(score, output))
        return ranked

    def margins(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[Margins]:
        """The predicted labels of every sequence, and how far they are ahead of others."""
        examples, weights = self._limited(X, constraints, "margins")

        def decode(batch: IntVector) -> tuple[IntVector, FloatMatrix]:
            codes = examples.decode(weights, batch)
            if constraints is not None:
                check_possible(batch, examples.scores(weights, batch, codes))
            return codes, examples.max_marginals(weights, batch)

        parts = in_shares(examples, decode, n_threads)
        codes, best = (np.concatenate(each) for each in zip(*parts, strict=True))
        cuts = examples.data.indptr[1:-1]
        return [Margins.of(*each) for each in zip(np.split(codes, cuts), np.split(best, cuts), strict=True)]

    def max_marginals(self, X: Any, n_threads: int = 1) -> list[FloatMatrix]:
        """For each position of every sequence, the best score with each of the `labels` there."""
        return [each.best for each in self.margins(X, n_threads)]

    def confidence(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[FloatVector]:
        """For each predicted label of every sequence, the probability that it is right."""
        curve = self._calibrated().labels
        return [curve(each.of_labels()) for each in self.margins(X, n_threads, constraints)]

    def predict_spans(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[list[SureSpan]]:
        """The spans that are predicted for every sequence, each with the probability that it is right."""
        marks, curve = SpanLabels(self.labels), self._calibrated().spans
        if curve is None:
            raise WidemarginError("the model is not calibrated for spans: it found none in the data of its calibration")
        found = []
        for each in self.margins(X, n_threads, constraints):
            predicted = spans(self._names(each.codes))
            sure = curve(each.of_spans(predicted, marks)).tolist()
            found.append([SureSpan(*span, confidence) for span, confidence in zip(predicted, sure, strict=True)])
        return found

    def calibrate(self, X: Any, y: Any, n_threads: int = 1) -> CalibrationReport:
        """Fit what turns margins into probabilities on labelled data that were not trained on."""
        labels, about_spans = self._judged(X, y, n_threads)
        self.calibration = Calibration(Sigmoid.fit(labels), None if about_spans is None else Sigmoid.fit(about_spans))
        return CalibrationReport.of(self.calibration, labels, about_spans)

    def judge_confidence(self, X: Any, y: Any, n_threads: int = 1) -> CalibrationReport:
        """How well confidence and truth agree on labelled data."""
        return CalibrationReport.of(self._calibrated(), *self._judged(X, y, n_threads))

    def _judged(self, X: Any, y: Any, n_threads: int) -> tuple[Judged, Judged | None]:
        gold, margins = as_sequences(X, y), self.margins(X, n_threads)
        predicted = [self._names(each.codes) for each in margins]
        right = [p == g for pair in zip(predicted, gold, strict=True) for p, g in zip(*pair, strict=True)]
        labels = Judged(np.concatenate([each.of_labels() for each in margins]), np.array(right, dtype=bool))
        if not marks_spans(self.labels):
            return labels, None
        marks = SpanLabels(self.labels)
        found = [spans(each) for each in predicted]
        ahead = [each.of_spans(marked, marks) for each, marked in zip(margins, found, strict=True)]
        right = [span in spans(g) for marked, g in zip(found, gold, strict=True) for span in marked]
        return labels, Judged(np.concatenate(ahead), np.array(right, dtype=bool)) if right else None

    def _calibrated(self) -> Calibration:
        if self.calibration is None:
            raise WidemarginError("the model is not calibrated: confidence needs labelled data that it is fitted on")
        return self.calibration

    def _examples(self, X: Any) -> ChainExamples:
        features = self.extractor.transform(prepared(X, self.extractor))
        return ChainExamples(self.chain, features.indptr, features.rows, transition_features=features.transition_rows)

    def _limited(self, X: Any, constraints: Constraints | None, what: str) -> tuple[ChainExamples, ChainWeights]:
        """Examples and weights with the constraints in them."""
        examples = self._examples(X)
        if constraints is None:
            return examples, self.weights
        constrained = ConstrainedChain(examples, self.weights, self.labels, constraints)
        constrained.check_by_parts(what)
        return constrained.examples, constrained.weights

    def _names(self, codes: IntVector) -> list[Any]:
        names = self.labels
        return [names[code] for code in codes.tolist()]

    def compacted(self) -> "Tagger":
        """The same tagger without the features that have no weight at all."""
        weights = self.weights
        counts = np.diff(weights.thin_emission.indptr)
        used = np.concatenate([counts > 0, weights.conditional.any(axis=(1, 2))])
        extractor = self.extractor.keep(used)
        if extractor is None:
            return self
        n = len(counts)
        thin = weights.thin_emission._replace(indptr=boundaries(counts[used[:n]]))
        kept = weights._replace(thin_emission=thin, conditional=weights.conditional[used[n:]])
        return replace(self, extractor=extractor, weights=kept)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file `path`, without the features that have no weight."""
        tagger = self.compacted()
        described, tensors = describe(tagger.extractor)
        header = {"structure": STRUCTURE, "labels": self.labels, "features": described, "summary": self.summary}
        if self.calibration is not None:
            header["calibration"] = self.calibration.described()
        weights = tagger.weights
        tensors |= {f"weights.{name}": getattr(weights, name) for name in DENSE}
        tensors |= {f"weights.emission.{name}": part for name, part in weights.thin_emission._asdict().items()}
        write_model(path, header, tensors)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Tagger":
        """Read a model file that `save` wrote."""
        return cls.from_file(read_model(path), os.fspath(path))

    @classmethod
    def from_file(cls, file: ModelFile, name: str) -> "Tagger":
        """The tagger in a model file that has been read."""
        header, tensors = file
        if header.get("structure") != STRUCTURE:
            raise ModelFileError(f"the model {name} predicts {header.get('structure')!r}, not label sequences")
        try:
            dense = {part: tensors[f"weights.{part}"] for part in DENSE}
            thin = Rows(
                vector(tensors, "weights.emission.indptr", np.int64),
                vector(tensors, "weights.emission.indices", np.int32),
                vector(tensors, "weights.emission.values", np.float64),
            )
            labels = header["labels"]
            weights = ChainWeights(np.empty((0, len(labels))), thin_emission=thin, **dense)
            calibration = Calibration.restored(header["calibration"]) if "calibration" in header else None
            tagger = cls(labels, restore(header["features"], tensors), weights, header["summary"], calibration)
            tagger._check()
        except (LookupError, TypeError, ValueError, AttributeError):
            raise ModelFileError(f"the model {name} is damaged: its parts do not fit together") from None
        return tagger

    def _check(self) -> None:
        """Raise ValueError unless every index is within bounds: kernels do not check."""
        chain, weights, n = self.chain, self.weights, len(self.labels)
        indptr, indices, values = weights.thin_emission
        shapes = {"transition": (n, n), "begin": (n,), "end": (n,), "conditional": (chain.n_transition_features, n, n)}
        sound = (
            are_labels(self.labels)
            and all(getattr(weights, part).shape == shape for part, shape in shapes.items())
            and all(getattr(weights, part).dtype == np.float64 for part in DENSE)
            and len(indptr) == chain.n_features + 1
            and indptr[0] == 0
            and indptr[-1] == len(indices) == len(values)
            and bool((np.diff(indptr) >= 0).all())
            and (len(indices) == 0 or 0 <= indices.min() <= indices.max() < n)
        )
        if not sound:
            raise ValueError
