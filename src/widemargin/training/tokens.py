"""What there is to choose for all models that see tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector, LongVector
from widemargin.columns import split
from widemargin.features.attributes import Resources
from widemargin.loop import Score
from widemargin.metrics import sequence_scorer
from widemargin.problem import predict
from widemargin.structures import Examples
from widemargin.training.base import TrainingParameters


@dataclass(kw_only=True, repr=False, eq=False)
class TokenParameters(TrainingParameters):
    """What there is to choose for the features of tokens.

    Parameters
    ----------
    templates : feature templates (`widemargin.features.templates`); None takes `DEFAULT_TEMPLATES`
    lexicons, clusters : what the templates ``lexicon(name)`` and ``cluster(name)`` refer to: lists of entries, and
        dicts from word to cluster
    min_count : features rarer than this in the training data are left out
    hash_bits : hash features into 2^hash_bits rows instead of keeping an alphabet
    """

    templates: str | Sequence[str] | None = None
    lexicons: Mapping[str, Sequence[str]] | None = None
    clusters: Mapping[str, Mapping[str, str]] | None = None
    min_count: int = 1
    hash_bits: int | None = None

    def resources(self) -> Resources:
        """Lexicons and clusters together."""
        return Resources(self.lexicons or {}, self.clusters or {})

    def token_score(
        self, metric: str, examples: Examples, indptr: LongVector, names: Sequence[Any], gold: Sequence[Sequence[Any]]
    ) -> Score:
        """The development score of examples whose outputs are codes with these names, as a function of the weights."""
        n_threads, measure = count_threads(self.n_jobs), sequence_scorer(metric).measure

        def score(w: FloatVector) -> float:
            codes = np.concatenate(predict(examples, w, n_threads))
            return measure(gold, split([names[code] for code in codes.tolist()], indptr))

        return score
