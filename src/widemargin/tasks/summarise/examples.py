"""Extracts of several documents: sentences within a limit on words (Berg-Kirkpatrick et al. 2011).

    ⟨w, φ(x, y)⟩ = Σ_{concepts b that y covers} ⟨w, g(b)⟩ + Σ_{sentences s ∈ y} ⟨w, f(s)⟩
    R(y)         = Σ_{concepts b that y covers} r(b),     r(b) = the recall of the references that b adds
    Δ(y)         = 1 − R(y) / R(y*),                      y* = argmax R, the gold extract

Δ is linear in the covered concepts, too. So prediction, decoding with errors and the search for y* are the same integer
programme with different values (`decoders.coverage`).

Concepts that occur in the same sentences are covered together, so they become one, with the sums of their g and r.
Concepts of a single sentence are added to its f. This happens once, and makes programmes about ten times smaller.

If the search for y* was cut short, some R(y) may exceed R(y*); their Δ is 0. `excess` bounds how much the true maximum
may exceed the value of the output of `decode`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widemargin._types import BoolVector, FloatMatrix, FloatVector, IntVector, LongMatrix
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.products import times
from widemargin.core.sparse import Rows, boundaries
from widemargin.decoders.coverage import OPEN, Coverage, Limits, Selection, best_items


class Extract(NamedTuple):
    """The sentences of one input: their concepts, features, and recall of the references.

    Parameters
    ----------
    coverage : sentences with their lengths, and the concepts of several sentences
    sentence_features : f(s) with the concepts that only s has, sentences × weights
    concept_features : g(b) of the concepts of several sentences, concepts × weights
    sentence_recall, concept_recall : r of the same; all 0 without references
    """

    coverage: Coverage
    sentence_features: FloatMatrix
    concept_features: FloatMatrix
    sentence_recall: FloatVector
    concept_recall: FloatVector

    def features(self, chosen: BoolVector) -> FloatVector:
        """φ of the chosen sentences."""
        covered = self.coverage.covered(chosen)
        return self.sentence_features[chosen].sum(axis=0) + self.concept_features[covered].sum(axis=0)

    def recall(self, chosen: BoolVector) -> float:
        """R of the chosen sentences."""
        return self.coverage.value(chosen, self.sentence_recall, self.concept_recall)


class Gold(NamedTuple):
    """The gold extract, its R, and a bound on how far below 0 some Δ may be before it is set to 0."""

    chosen: BoolVector
    recall: float
    doubt: float


def gold_extract(extract: Extract, limits: Limits) -> Gold:
    """y* = argmax R."""
    found = best_items(extract.coverage, extract.sentence_recall, extract.concept_recall, limits)
    recall = extract.recall(found.chosen)
    return Gold(found.chosen, recall, max(found.bound / recall - 1.0, 0.0) if recall > 0.0 else 0.0)


class ExtractExamples:
    """Inputs to summarise.

    Sentences and concepts are not parts (`structures.parts`), because parts know neither searches that stop early with
    a bound nor dense features, and here every input has every feature.

    Outputs are lists of `decoders.coverage.Selection`, one for each input.

    Parameters
    ----------
    extracts : the inputs
    n_weights : the number of features
    limits : the limits at which the search in an integer programme stops
    """

    exact = True  # `excess` accounts for searches that a limit has stopped

    def __init__(self, extracts: Sequence[Extract], n_weights: int, limits: Limits | None = None) -> None:
        self.extracts, self.n_weights, self.limits = extracts, n_weights, limits or Limits()
        self.n_examples = len(extracts)
        self.cut_short: list[int] = []  # inputs whose search a limit has stopped; appending is safe in threads
        self.gold = [gold_extract(extract, self.limits) for extract in extracts]
        self.gold_features = np.array([x.features(gold.chosen) for x, gold in zip(extracts, self.gold, strict=True)])
        # HiGHS releases the interpreter lock. Measured on reviews: a tenth of a millisecond for each variable.
        sizes = [x.coverage.n_items + len(x.concept_recall) for x in extracts]
        self.work = 2000.0 + 100.0 * np.array(sizes, dtype=np.float64)

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> list[Selection]:
        """The best sentences of each input."""
        scales = per_example(error_scale, batch).tolist()
        return [self._best(i, w, scale) for i, scale in zip(batch.tolist(), scales, strict=True)]

    def difference(self, batch: IntVector, outputs: Sequence[Selection]) -> Differences:
        """Errors of the chosen sentences, and the features of the gold extract minus theirs."""
        psi, errors = np.empty((len(batch), self.n_weights)), np.empty(len(batch))
        for k, (i, found) in enumerate(zip(batch.tolist(), outputs, strict=True)):
            extract, gold = self.extracts[i], self.gold[i]
            psi[k] = self.gold_features[i] - extract.features(found.chosen)
            errors[k] = max(1.0 - extract.recall(found.chosen) / gold.recall, 0.0) if gold.recall > 0.0 else 0.0
        rows, columns = np.nonzero(psi)
        indptr = boundaries(np.bincount(rows, minlength=len(batch)))
        return Differences(errors, Rows(indptr, columns.astype(np.int32), psi[rows, columns]))

    def excess(self, batch: IntVector, outputs: Sequence[Selection]) -> FloatVector:
        """Bounds on how much more other sentences may score: 0 up to rounding, unless a limit stopped a search."""
        pairs = zip(batch.tolist(), outputs, strict=True)
        return np.array([found.bound - found.value + self.gold[i].doubt for i, found in pairs])

    def support(self, batch: IntVector) -> LongMatrix:
        """Every input has every feature."""
        return np.array([[0, self.n_weights]], dtype=np.int64)

    def informative(self) -> FloatVector:
        """1 for inputs with a reference concept that can be covered, 0 for others: nothing can be learnt from them."""
        return np.array([float(gold.recall > 0.0) for gold in self.gold])

    def _best(self, i: int, w: FloatVector, scale: float) -> Selection:
        extract, gold = self.extracts[i], self.gold[i]
        sentences, concepts = times(extract.sentence_features, w), times(extract.concept_features, w)
        if scale != 0.0 and gold.recall > 0.0:
            sentences = sentences - scale / gold.recall * extract.sentence_recall
            concepts = concepts - scale / gold.recall * extract.concept_recall
        found = best_items(extract.coverage, sentences, concepts, self.limits)
        if found.bound > found.value + OPEN * abs(found.bound):
            self.cut_short.append(i)
        return found
