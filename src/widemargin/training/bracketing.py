"""Training of parsers of constituents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector
from widemargin.bracketings import Bracketing, as_trees
from widemargin.errors import WidemarginError
from widemargin.features.brackets import DEFAULT_BRACKET_TEMPLATES, bracket_keys, parse_bracket_templates
from widemargin.features.inputs import as_tagged
from widemargin.loop import Score
from widemargin.predictors.bracketer import Bracketer, spelt
from widemargin.predictors.hashed import checked_bits
from widemargin.problem import predict
from widemargin.solution import Solution
from widemargin.structures.bracket import BracketExamples
from widemargin.training.base import ModelSettings, TrainingParameters, TrainingSettings
from widemargin.tree_metrics import bracket_scores


@dataclass(kw_only=True, repr=False, eq=False)
class BracketerParameters(TrainingParameters):
    """What there is to choose for a parser of constituents.

    Parameters
    ----------
    C, max_epochs : as ever, with defaults for trees, which have many features and are slow to decode
    templates : feature templates (`widemargin.features.brackets`); None takes `DEFAULT_BRACKET_TEMPLATES`
    hash_bits : features share a table of 2^hash_bits weights
    missing_cost : the error of a wrong node that is no constituent, against 1 for one that is: above 1, fewer
        constituents are missed and more are wrong
    dev_metric : the development score: ``"f1"`` (of labelled brackets) or ``"exact"`` (share of trees all right)
    """

    C: float = 0.01
    max_epochs: int | None = 20
    templates: str | Sequence[str] | None = None
    hash_bits: int = 24
    missing_cost: float = 1.0
    dev_metric: str = "f1"


class BracketerSettings(BracketerParameters, ModelSettings[Bracketer]):
    """Parameters that can train a parser of constituents."""

    def compile(self, X: Any, y: Any, dev: tuple[Any, Any] | None = None) -> "BracketingTask":
        """Features and trees as arrays, once, for any number of training runs."""
        hash_bits = checked_bits(self.hash_bits)
        columns = as_tagged(X)
        trees = as_trees(columns, y)
        templates = parse_bracket_templates(DEFAULT_BRACKET_TEMPLATES if self.templates is None else self.templates)
        bracketing = Bracketing.of(trees)
        gold = np.concatenate([bracketing.encode(tree) for tree in trees])
        keys = bracket_keys(columns, templates)
        examples = BracketExamples(bracketing, hash_bits, columns.indptr, keys, gold, missing_cost=self.missing_cost)
        task = BracketingTask(bracketing, tuple(template.text for template in templates), hash_bits, examples)
        return task if dev is None else replace(task, score=self._score(task, *dev))

    def _score(self, task: "BracketingTask", X: Any, y: Any) -> Score:
        if self.dev_metric not in ("f1", "exact"):
            raise WidemarginError(f"there is no dev_metric {self.dev_metric!r}; there are 'f1' and 'exact'")
        columns = as_tagged(X)
        gold, n_threads = as_trees(columns, y), count_threads(self.n_jobs)
        keys = bracket_keys(columns, parse_bracket_templates(task.templates))
        examples = BracketExamples(task.bracketing, task.hash_bits, columns.indptr, keys)

        def score(w: FloatVector) -> float:
            predicted = spelt(task.bracketing, np.concatenate(predict(examples, w, n_threads)), columns)
            scores = bracket_scores(gold, predicted)
            return scores.exact if self.dev_metric == "exact" else scores.micro.f1

        return score


@dataclass(frozen=True)
class BracketingTask:
    """Training data compiled to arrays: labels, features, examples, and the development score if there is one."""

    bracketing: Bracketing
    templates: tuple[str, ...]
    hash_bits: int
    examples: BracketExamples
    score: Score | None = None

    def model(self, solution: Solution, settings: TrainingSettings) -> Bracketer:
        """The parser with the weights of `solution`, which training with `settings` has found."""
        summary = settings.summary(solution)
        chains = self.bracketing.chains
        return Bracketer(chains, self.bracketing, self.templates, self.hash_bits, weights=solution.w, summary=summary)
