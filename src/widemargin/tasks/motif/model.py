"""Trained motif finders. Model files call their structure ``motif``."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongVector
from widemargin.core.header import Fields, flag, names, text, whole
from widemargin.core.problem import in_shares
from widemargin.core.stored import Stored
from widemargin.decoders.windows import window_scores
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.answers import Answers, Ranked, checked_k, together
from widemargin.tasks.calibration import Judged
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.motif.examples import Reads, checked_letters, letters_of, reverse_complement
from widemargin.tasks.motif.files import Site, best_sites, is_positive, plain_labels
from widemargin.tasks.motif.logo import Motif
from widemargin.text.sequences import Sequences, as_sequences

MOST_SITES = 1e15
"""A limit for counts in model files, beyond any data; sums of such counts are still exact."""


@dataclass
class MotifModel(Answers):
    """A trained motif finder: its labels are the negative and the positive one.

    `matrix` and `background` are the weights. `found` and `frequencies` are the counts and shares of letters in the
    training data (`logo.Motif`).
    """

    kind: ClassVar[str] = "motif"
    predicts: ClassVar[str] = "motifs"
    fields: ClassVar[Fields] = {
        "labels": names(str, int, float, bool, at_least=2),
        "letters": text(at_most=100),
        **dict.fromkeys(("length", "order"), whole(at_least=0, at_most=10_000)),
        "both_strands": flag(),
    }
    reads: Reads
    matrix: FloatMatrix
    background: FloatVector
    found: FloatMatrix
    frequencies: FloatVector

    @property
    def w(self) -> FloatVector:
        """All weights as one vector."""
        return np.concatenate([self.matrix.ravel(), self.background])

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of labels, features and weights."""
        n = self.matrix.size + self.background.size
        return {"labels": len(self.labels), "features": n, "weights": n}

    @property
    def motif(self) -> Motif:
        """The counts of letters at each place of the motif."""
        return Motif(self.reads.letters, self.found, self.frequencies, self.reads.both_strands)

    def best(self, X: Any, n_threads: int = 1) -> tuple[LongVector, FloatVector]:
        """2h + strand of the best window of each sequence, and its score; −1 if the sequence is too short."""
        X = checked_letters(as_sequences(X), self.reads.letters)
        examples = self.reads.examples(X.texts)
        parts = in_shares(examples, partial(examples.best, self.w), n_threads)
        places, scores = zip(*parts, strict=True)
        return np.concatenate(places), np.concatenate(scores)

    def scores(self, X: Any, n_threads: int = 1) -> FloatVector:
        """The score of each sequence's best window, positive if it holds the motif; −∞ if it is too short."""
        return self.best(X, n_threads)[1]

    def predict(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[Any]:
        """The label of each sequence."""
        if constraints is not None:
            raise UnsupportedError("there are no constraints on motifs")
        return [self.labels[int(score > 0.0)] for score in self.scores(X, n_threads)]

    def locate(self, X: Any, n_threads: int = 1, *, everywhere: bool = False) -> list[Site | None]:
        """The site of the motif in each positive sequence; with `everywhere`, also the best window of negative ones."""
        X = as_sequences(X)
        places, scores = self.best(X, n_threads)
        return [
            self._site(X, i, place, score) if place >= 0 and (everywhere or score > 0.0) else None
            for i, (place, score) in enumerate(zip(places.tolist(), scores.tolist(), strict=True))
        ]

    def predict_best(
        self, X: Any, k: int, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[list[Ranked]]:
        """The `k` best sites of each sequence that do not overlap, best first."""
        X = checked_letters(as_sequences(X), self.reads.letters)
        examples = self.reads.examples(X.texts)
        windows, k = examples.shape.windows(self.w), checked_k(k)
        found = [best_sites(window_scores(examples.coded, i, windows), k, self.reads.length) for i in range(len(X))]
        return [
            [Ranked(score, self._site(X, i, place, score)) for place, score in sites] for i, sites in enumerate(found)
        ]

    def answers(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None, *, best: int | None, confidence: bool
    ) -> list[dict[str, Any]]:
        """One dict per sequence: its name, label, score and site; on request also confidence and the `best` sites."""
        X = as_sequences(X)
        places, scores = self.best(X, n_threads)
        parts: list[list[dict[str, Any]]] = [
            [
                {
                    "id": X.name(i),
                    "label": self.labels[int(score > 0.0)],
                    "score": score if place >= 0 else None,
                    "site": self._site(X, i, place, score)._asdict() if score > 0.0 else None,
                }
                for i, (place, score) in enumerate(zip(places.tolist(), scores.tolist(), strict=True))
            ]
        ]
        if confidence:
            parts.append([{"confidence": each} for each in self.confidence(X, n_threads).tolist()])
        if best is not None:
            ranked = self.predict_best(X, best, n_threads)
            parts.append([{"alternatives": [site._asdict() for _, site in each]} for each in ranked])
        return together(*parts)

    def confidence(self, X: Any, n_threads: int = 1) -> FloatVector:
        """For each predicted label, the probability that it is right."""
        return self.curve("labels")(np.abs(self.scores(X, n_threads)))

    def predict_proba(self, X: Any, n_threads: int = 1) -> FloatMatrix:
        """The probability of either label for every sequence: the confidence, and 1 minus it for the other label."""
        sure, positive = self.confidence(X, n_threads), self.scores(X, n_threads) > 0.0
        right = np.where(positive, sure, 1.0 - sure)
        return np.stack([1.0 - right, right], axis=1)

    def judge(self, X: Any, y: Any, n_threads: int = 1) -> dict[str, Judged]:
        """The labels predicted for `X`, compared with `y`."""
        scores, positive = self.scores(X, n_threads), self.is_positive(X, y)
        return {"labels": Judged.of([np.abs(scores)], ((scores > 0.0) == positive).tolist())} if len(scores) else {}

    def is_positive(self, X: Any, y: Any) -> AnyArray:
        """Which labels `y` are the positive one; there must be one for each of the sequences `X`."""
        labels = plain_labels(y)
        if len(as_sequences(X)) != len(labels):
            raise DataError(f"there are {len(as_sequences(X))} sequences, but {len(labels)} labels")
        return is_positive(labels, self.labels)

    def _site(self, X: Sequences, i: int, place: int, score: float) -> Site:
        start, end = place // 2, place // 2 + self.reads.length
        letters = X.texts[i][start:end]
        if place % 2:
            letters = reverse_complement(letters, self.reads.letters)
        return Site(start, end, "+-"[place % 2], letters, score)

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        tensors = {"matrix": self.matrix, "background": self.background}
        return self.reads._asdict(), tensors | {"found": self.found, "frequencies": self.frequencies}

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        header = stored.header
        reads = Reads(letters_of(header["letters"]), *(header[name] for name in Reads._fields[1:]))
        n = len(reads.letters)
        if len(header["labels"]) != 2 or reads.length < 1 or (reads.both_strands and not len(reads.shape.complement)):
            raise WidemarginError("a motif has two labels and at least one letter")
        matrix, found = (stored.tensor(name, np.float64, (reads.length, n)) for name in ("matrix", "found"))
        background = stored.vector("background", np.float64, reads.n_contexts)
        frequencies = stored.vector("frequencies", np.float64, n)
        if not ((found >= 0.0) & (found < MOST_SITES)).all() or not ((frequencies > 0.0) & (frequencies <= 1.0)).all():
            raise WidemarginError("its counts of letters are not numbers of at least 0, or its frequencies not shares")
        return cls(header["labels"], reads, matrix, background, found, frequencies, summary=header["summary"])
