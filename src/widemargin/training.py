"""Training settings: every keyword that estimators and the command line share, with its default, in one place.

Free of scikit-learn, so that the command line starts fast; the estimators hand their parameters over to these.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.columns import split
from widemargin.errors import DataError, WidemarginError
from widemargin.features.attributes import Resources
from widemargin.features.base import Extractor, Features
from widemargin.features.inputs import choose_extractor, prepared
from widemargin.labels import as_sequences, checked_labels, cost_matrix, encode_labels
from widemargin.loop import Callback, Score, Stop, fit
from widemargin.metrics import is_bio, sequence_scorer
from widemargin.objectives import OBJECTIVES, Objective
from widemargin.online import Online
from widemargin.path import path_points
from widemargin.problem import Loss, Penalty, Problem, predict
from widemargin.report.progress import Progress
from widemargin.solution import Solution
from widemargin.solvers import Solver, named_solver
from widemargin.structures import Chain, ChainExamples
from widemargin.structures.base import Examples
from widemargin.tagger import Tagger

Trained = TypeVar("Trained")

STANDS_FOR = {"crf": "likelihood", "softmax-margin": "softmax-margin"}
"""The objective that the name of a solver stands for, where it is not margin scaling."""


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """What there is to choose whatever the structure.

    Parameters
    ----------
    solver : the name of a solver (`widemargin.solvers.SOLVERS`), perhaps with parameters as in ``"dcd(sweeps=3)"``, or
        a solver object
    C : trade-off; multiplies the sum of the slacks
    objective : the name of an objective (`widemargin.objectives.OBJECTIVES`), or an objective object; None takes the
        one that the solver's name stands for, else ``"margin"``
    loss : ``"squared_hinge"`` or ``"hinge"``; None takes what the solver prefers
    penalty : ``"l2"``, or ``"l1"`` where the solver can
    max_epochs, tol, patience, max_seconds : stop rules; `tol` is the relative duality gap to be proven, `patience`
        counts epochs without a better score on the development data. None switches a rule off.
    n_jobs : threads that decode; −1 uses all cores. The result does not depend on it.
    random_state : a seed; the same seed gives the same weights. None takes a fresh one.
    cut_memory : how many megabytes the cuts that a dual solver keeps may take
    verbose : show progress, if standard error is a terminal
    """

    solver: str | Solver = "auto"
    C: float = 0.1
    objective: str | Objective | None = None
    loss: Loss | None = None
    penalty: Penalty = "l2"
    max_epochs: int | None = 100
    tol: float | None = 0.01
    patience: int | None = None
    max_seconds: float | None = None
    n_jobs: int | None = -1
    random_state: int | None = 0
    cut_memory: float = 1024.0
    verbose: bool = False

    def solve(
        self,
        examples: Examples,
        sample_weight: Any = None,
        score: Score | None = None,
        callbacks: Sequence[Callback] = (),
        **options: Any,
    ) -> Solution:
        """Train on compiled examples; `options` are those of `fit` that are no settings, such as a checkpoint."""
        return _slim(self._run(fit, examples, sample_weight, score=score, callbacks=callbacks, **options))

    def solve_path(
        self,
        examples: Examples,
        C: Sequence[float],
        sample_weight: Any = None,
        score: Score | None = None,
    ) -> list[tuple[float, Solution]]:
        """Train on compiled examples with every one of the `C`, each from where the one before has ended."""
        points = self._run(path_points, examples, sample_weight, C=C, score=score)
        return [(each, _slim(solution)) for each, solution in points]

    def _run(
        self,
        train: Callable[..., Trained],
        examples: Examples,
        sample_weight: Any,
        callbacks: Sequence[Callback] = (),
        **options: Any,
    ) -> Trained:
        problem, stop = self.problem(examples, sample_weight), self.stop()
        with Progress(tol=self.tol, enabled=bool(self.verbose)) as progress:
            options |= {"stop": stop, "callbacks": [progress, *callbacks], "seed": self.random_state}
            return train(problem, self.chosen_solver(), **options)

    def problem(self, examples: Examples, sample_weight: Any = None) -> Problem:
        """The optimisation problem on compiled examples."""
        objective = self.objective or STANDS_FOR.get(str(self.solver).partition("(")[0], "margin")
        if isinstance(objective, str):
            if objective not in OBJECTIVES:
                raise WidemarginError(f"there is no objective {objective!r}; there are {', '.join(OBJECTIVES)}")
            objective = OBJECTIVES[objective]
        smooth = objective.kind == "smooth"
        return Problem(
            examples,
            objective,
            C=self.C,
            sample_weight=sample_weight,
            loss=self.loss or ("hinge" if smooth else self.chosen_solver().losses[0]),
            penalty=self.penalty,
            n_threads=count_threads(self.n_jobs),
            cut_memory=self.cut_memory,
        )

    def online(self, before: Online | None = None) -> Online:
        """The solver at work piece by piece: `before`, or a fresh one where there is none."""
        solver = self.chosen_solver()
        if before is not None and before.solver != solver:
            raise WidemarginError(f"the pieces before were learnt by {before.solver}, not by {solver}; fit anew")
        return before or Online(solver, self.random_state)

    def stop(self) -> Stop:
        """The stop rules."""
        return Stop(epochs=self.max_epochs, seconds=self.max_seconds, gap=self.tol, patience=self.patience)

    def summary(self, solution: Solution) -> dict[str, Any]:
        """What a model file tells of training: the settings that JSON can hold, and the solution without weights."""
        known = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "verbose"}
        parameters = {name: value for name, value in known.items() if _is_plain(value)}
        return {"parameters": parameters, "solver": str(self.solver), "solution": solution.summary()}

    def chosen_solver(self) -> Solver:
        """The solver as an object."""
        if not isinstance(self.solver, str) and hasattr(self.solver, "epoch"):
            return self.solver
        return named_solver(self.solver)


@dataclass(frozen=True, kw_only=True)
class TaggerSettings(TrainingSettings):
    """What there is to choose for a sequence tagger.

    Parameters
    ----------
    templates : feature templates (`widemargin.features.templates`); None takes `DEFAULT_TEMPLATES` where sequences are
        tokens, and features as they are where they are given ready-made
    lexicons, clusters : what the templates ``lexicon(name)`` and ``cluster(name)`` refer to: lists of entries, and
        dicts from word to cluster
    min_count : features rarer than this in the training data are left out
    hash_bits : hash features into 2^hash_bits rows instead of keeping an alphabet
    costs : how bad it is to predict one label for another: ``{(gold, predicted): cost}``, ``{gold: cost}`` for any
        confusion of a label, or None to count wrong labels; what is not named costs 1
    dev_metric : the development score: ``"accuracy"``, ``"f1"`` (of spans), ``"sequence_accuracy"``, or ``"auto"``:
        F1 where labels are BIO, else accuracy
    """

    templates: str | Sequence[str] | None = None
    lexicons: Mapping[str, Sequence[str]] | None = None
    clusters: Mapping[str, Mapping[str, str]] | None = None
    min_count: int = 1
    hash_bits: int | None = None
    costs: Mapping[Any, float] | None = None
    dev_metric: str = "auto"

    def train(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        callbacks: Sequence[Callback] = (),
        **options: Any,
    ) -> tuple[Tagger, Solution]:
        """A tagger for sequences like `X`, labelled like `y`; see `widemargin.SequenceTagger.fit`."""
        task = self.compile(X, y, dev)
        solution = self.solve(task.examples, sample_weight, task.score, callbacks, **options)
        return task.tagger(solution, self), solution

    def train_path(
        self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None, dev: tuple[Any, Any] | None = None
    ) -> list[tuple[Tagger, Solution]]:
        """A tagger for every one of the `C`, with features compiled once; see `widemargin.SequenceTagger.fit_path`."""
        task = self.compile(X, y, dev)
        points = self.solve_path(task.examples, C, sample_weight, task.score)
        return [(task.tagger(solution, replace(self, C=each)), solution) for each, solution in points]

    def compile(
        self, X: Any, y: Any, dev: tuple[Any, Any] | None = None, labels: list[Any] | None = None
    ) -> "TaggingTask":
        """Features and labels as arrays, once, for any number of training runs; `labels` are those of `y` if None."""
        resources = Resources(self.lexicons or {}, self.clusters or {})
        extractor = choose_extractor(X, self.templates, resources, min_count=self.min_count, hash_bits=self.hash_bits)
        X = prepared(X, extractor)
        labels, gold = encode_labels(X, y, labels)
        features = extractor.fit(X)
        chain = Chain(len(labels), extractor.n_features, extractor.n_transition_features)
        score = None
        if dev is not None:
            X_dev = prepared(dev[0], extractor)
            dev_examples = _examples(chain, extractor.transform(X_dev))
            score = self._score(dev_examples, labels, as_sequences(X_dev, dev[1]))
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

    def _score(self, examples: ChainExamples, labels: Sequence[Any], gold: Sequence[Sequence[Any]]) -> Score:
        """The development score as a function of the weights."""
        n_threads = count_threads(self.n_jobs)
        metric = self.dev_metric
        if metric == "auto":
            metric = "f1" if isinstance(labels[0], str) and is_bio(labels) else "accuracy"
        measure = sequence_scorer(metric).measure

        def score(w: FloatVector) -> float:
            codes = np.concatenate(predict(examples, examples.chain.parts(w), n_threads))
            return measure(gold, split([labels[code] for code in codes.tolist()], examples.data.indptr))

        return score


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

    def tagger(self, solution: Solution, settings: TrainingSettings) -> Tagger:
        """The tagger with the weights of `solution`, which training with `settings` has found."""
        weights = self.examples.chain.parts(solution.w).thinned()
        return Tagger(self.labels, self.extractor, weights, settings.summary(solution))


@dataclass
class OnlineTagging:
    """A tagger that learns piece by piece: the solver at work, the last piece, and what has come of all of them."""

    run: Online
    task: TaggingTask
    solution: Solution | None = None


def _slim(solution: Solution) -> Solution:
    """Without the cuts, which take more memory than all the rest."""
    return replace(solution, cuts=None)


def _examples(
    chain: Chain, features: Features, gold: IntVector | None = None, costs: FloatMatrix | None = None
) -> ChainExamples:
    return ChainExamples(
        chain, features.indptr, features.rows, gold, costs=costs, transition_features=features.transition_rows
    )


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold it as it is."""
    if isinstance(value, list | tuple):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, str | int | float | bool | None)
