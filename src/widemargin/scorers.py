"""Ready-made scorers for the `scoring=` of scikit-learn's `cross_val_score`, `GridSearchCV` and the like.

| scorer | of | what |
| --- | --- | --- |
| `span_f1` | `SequenceTagger`, `Segmenter`, other taggers | F1 of spans |
| `token_accuracy`, `sequence_accuracy` | the same | the share of right labels, of sequences that are all right |
| `las`, `uas` | `DependencyParser` | the share of right heads with right labels, of right heads |
| `bracket_f1` | `ConstituencyParser` | F1 of labelled brackets |
| `exact_trees` | both parsers | the share of trees that are all right |
| `scorer(name)` | any estimator of this library | any number that `widemargin evaluate --json` shows |

>>> from sklearn.model_selection import cross_val_score
>>> from widemargin import SequenceTagger
>>> X, y = [["in", "Rome"], ["from", "Oslo", "to", "Rome"]] * 3, [["O", "B-city"], ["O", "B-city", "O", "B-city"]] * 3
>>> cross_val_score(SequenceTagger(templates="lower"), X, y, cv=3, scoring=span_f1)
array([1., 1., 1.])
"""

from dataclasses import dataclass
from typing import Any

from widemargin.errors import WidemarginError
from widemargin.metrics import sequence_scorer


@dataclass(frozen=True, slots=True)
class EvaluationScorer:
    """One of the numbers of a model's evaluation."""

    name: str

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Evaluate the model of `estimator` on `X` and `y`."""
        results = estimator.model_.evaluate(X, y).results
        if not isinstance(results.get(self.name), int | float):
            known = ", ".join(name for name, value in results.items() if isinstance(value, int | float))
            raise WidemarginError(f"a {type(estimator).__name__} has no score {self.name!r}; it has {known}")
        return float(results[self.name])


def scorer(name: str) -> EvaluationScorer:
    """The scorer of a number of the evaluation, by its name there.

    >>> scorer("las") == las
    True
    """
    return EvaluationScorer(name)


token_accuracy, span_f1, sequence_accuracy = map(sequence_scorer, ("accuracy", "f1", "sequence_accuracy"))
las, uas, bracket_f1, exact_trees = map(EvaluationScorer, ("las", "uas", "f1", "exact"))
