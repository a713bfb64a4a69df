"""From trees of constituents to examples."""

from functools import partial
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector
from widemargin.core.problem import predict
from widemargin.core.solution import Solution
from widemargin.core.stop import Score
from widemargin.errors import WidemarginError
from widemargin.tasks.bracket.binary import Bracketing, as_trees
from widemargin.tasks.bracket.examples import BracketExamples
from widemargin.tasks.bracket.features import DEFAULT_BRACKET_TEMPLATES, BracketHasher, parse_bracket_templates
from widemargin.tasks.bracket.metrics import bracket_scores
from widemargin.tasks.bracket.model import Bracketer, spelt
from widemargin.tasks.bracket.parameters import BracketerParameters
from widemargin.tasks.training import Compiled, Data
from widemargin.tasks.trees import checked_bits
from widemargin.text.inputs import as_tagged
from widemargin.text.roles import RoleTemplate


def compile_brackets(parameters: BracketerParameters, data: Data) -> Compiled[Bracketer]:
    """Compile features and trees to arrays."""
    hash_bits = checked_bits(parameters.hash_bits)
    columns = as_tagged(data.X)
    trees = as_trees(columns, data.y)
    given = parameters.templates
    templates = parse_bracket_templates(DEFAULT_BRACKET_TEMPLATES if given is None else given)
    bracketing = Bracketing.of(trees)
    gold = np.concatenate([bracketing.encode(tree) for tree in trees])
    examples = BracketExamples(
        bracketing,
        hash_bits,
        columns.indptr,
        BracketHasher(templates).keys(columns),
        gold,
        missing_cost=parameters.missing_cost,
        error=parameters.error,
        source=columns.source,
    )
    score = None if data.dev is None else _score(parameters, bracketing, hash_bits, templates, *data.dev)
    model = partial(_bracketer, bracketing, tuple(template.text for template in templates), hash_bits)
    return Compiled(examples, model, bracketing.chains, score, parameters.dev_metric, data.sample_weight)


def _bracketer(
    bracketing: Bracketing, templates: tuple[str, ...], hash_bits: int, solution: Solution, summary: dict[str, Any]
) -> Bracketer:
    return Bracketer(bracketing.chains, bracketing, templates, hash_bits, weights=solution.w, summary=summary)


def _score(
    parameters: BracketerParameters,
    bracketing: Bracketing,
    hash_bits: int,
    templates: tuple[RoleTemplate, ...],
    X: Any,
    y: Any,
) -> Score:
    if parameters.dev_metric not in ("f1", "exact"):
        raise WidemarginError(f"there is no dev_metric {parameters.dev_metric!r}; there are 'f1' and 'exact'")
    columns = as_tagged(X)
    gold, n_threads, exact = as_trees(columns, y), count_threads(parameters.n_jobs), parameters.dev_metric == "exact"
    keys = BracketHasher(templates).keys(columns)
    examples = BracketExamples(bracketing, hash_bits, columns.indptr, keys, source=columns.source)

    def score(w: FloatVector) -> float:
        predicted = spelt(bracketing, np.concatenate(predict(examples, w, n_threads)), columns)
        scores = bracket_scores(gold, predicted)
        return scores.exact if exact else scores.micro.f1

    return score
