"""Training of sequence taggers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from widemargin._types import FloatMatrix, IntVector
from widemargin.errors import DataError
from widemargin.features.base import Extractor, Features
from widemargin.features.inputs import choose_extractor, prepared
from widemargin.labels import as_sequences, checked_labels, cost_matrix, encode_labels
from widemargin.loop import Score
from widemargin.metrics import is_bio
from widemargin.online import Online
from widemargin.predictors.tagger import Tagger
from widemargin.solution import Solution
from widemargin.structures import Chain, ChainExamples
from widemargin.training.base import ModelSettings, TrainingSettings
from widemargin.training.tokens import TokenParameters


@dataclass(kw_only=True, repr=False, eq=False)
class TaggerParameters(TokenParameters):
    """What there is to choose for a sequence tagger.

    Parameters
    ----------
    templates, lexicons, clusters, min_count, hash_bits : see `TokenParameters`; where `templates` are None, sequences
        may also be features given ready-made
    costs : how bad it is to predict one label for another: ``{(gold, predicted): cost}``, ``{gold: cost}`` for any
        confusion of a label, or None to count wrong labels; what is not named costs 1
    dev_metric : the development score: ``"accuracy"``, ``"f1"`` (of spans), ``"sequence_accuracy"``, or ``"auto"``:
        F1 where labels are BIO, else accuracy
    """

    costs: Mapping[Any, float] | None = None
    dev_metric: str = "auto"


class TaggerSettings(TaggerParameters, ModelSettings[Tagger]):
    """Parameters that can train a sequence tagger."""

    def compile(
        self, X: Any, y: Any, dev: tuple[Any, Any] | None = None, labels: list[Any] | None = None
    ) -> "TaggingTask":
        """Features and labels as arrays, once, for any number of training runs; `labels` are those of `y` if None."""
        extractor = choose_extractor(
            X, self.templates, self.resources(), min_count=self.min_count, hash_bits=self.hash_bits
        )
        X = prepared(X, extractor)
        labels, gold = encode_labels(X, y, labels)
        features = extractor.fit(X)
        chain = Chain(len(labels), extractor.n_features, extractor.n_transition_features)
        score = None
        if dev is not None:
            X_dev = prepared(dev[0], extractor)
            dev_examples = _examples(chain, extractor.transform(X_dev))
            gold_dev = as_sequences(X_dev, dev[1])
            score = self.token_score(self._metric(labels), dev_examples, dev_examples.data.indptr, labels, gold_dev)
        examples = _examples(chain, features, gold, cost_matrix(self.costs, labels))
        return TaggingTask(labels, extractor, examples, score)

    def learn(
        self, online: "OnlineTagging | None", X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "OnlineTagging":
        """One epoch over a piece of the data, the first where `online` is None; see `SequenceTagger.partial_fit`."""
        if online is None:
            labels = None if classes is None else checked_labels(classes)
            online = OnlineTagging(self.online(), self.compile(X, y, labels=labels))
        else:
            if classes is not None and set(checked_labels(classes)) != set(online.task.labels):
                raise DataError("the classes are others than those of the first call")
            online.task = online.task.followed_by(X, y)
        problem = self.problem(online.task.examples, sample_weight)
        online.solution = self.online(online.run).learn(problem)
        return online

    def _metric(self, labels: Sequence[Any]) -> str:
        if self.dev_metric != "auto":
            return self.dev_metric
        return "f1" if isinstance(labels[0], str) and is_bio(labels) else "accuracy"


@dataclass(frozen=True)
class TaggingTask:
    """Training data compiled to arrays: labels, features, examples, and the development score if there is one."""

    labels: list[Any]
    extractor: Extractor
    examples: ChainExamples
    score: Score | None

    def followed_by(self, X: Any, y: Any) -> "TaggingTask":
        """Other sequences with the same labels, features and costs."""
        X = prepared(X, self.extractor)
        _, gold = encode_labels(X, y, self.labels)
        features, before = self.extractor.transform(X), self.examples
        return replace(self, examples=_examples(before.chain, features, gold, before.data.costs))

    def model(self, solution: Solution, settings: TrainingSettings) -> Tagger:
        """The tagger with the weights of `solution`, which training with `settings` has found."""
        weights = self.examples.chain.parts(solution.w).thinned()
        return Tagger(self.labels, self.extractor, weights, summary=settings.summary(solution))


@dataclass
class OnlineTagging:
    """A tagger that learns piece by piece: the solver at work, the last piece, and what has come of all of them."""

    run: Online
    task: TaggingTask
    solution: Solution | None = None


def _examples(
    chain: Chain, features: Features, gold: IntVector | None = None, costs: FloatMatrix | None = None
) -> ChainExamples:
    return ChainExamples(
        chain, features.indptr, features.rows, gold, costs=costs, transition_features=features.transition_rows
    )
