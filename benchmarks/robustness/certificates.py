"""Proofs: random small problems, trained in every way, and recomputed from all their outputs.

A run is drawn from every structure × objective × loss × penalty × solver × C × scales of features × sample weights ×
ways to begin and to end. If it is certified,

- P(w) is what enumerating all outputs gives;
- no other weights that can be found, by other solvers on all cuts, have a P below the bound;
- so the gap is no smaller than it is.

A run that ends with an error of the library is fine; any other error is a failure, and so is a warning that is not the
library's. A plan, which is JSON, describes a run in full: one that fails is kept, and can be changed by hand.
"""

import json
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits
from truth import Blocks, Truth
from worker import FORK, run

from helpers import (
    BRACKETED,
    SOLVERS,
    ListedMatching,
    MaskedMatching,
    Small,
    all_blocks,
    brackets,
    chain,
    classes,
    dependencies,
    label_sets,
    matching,
    selected,
)
from helpers.parts import parted
from helpers.structures import linked, motifs, ranked, resolved, segmentation, summaries
from widemargin.core.loop import fit
from widemargin.core.problem import Meter, Problem
from widemargin.core.solution import Solution
from widemargin.core.stop import Stop
from widemargin.errors import WidemarginError
from widemargin.objectives import OBJECTIVES
from widemargin.parts import rounds_of
from widemargin.structures.custom import custom_examples
from widemargin.structures.examples import Scored

DATA_SETS = 40  # of each structure: enumerating one takes longer than a run
CLOSE, TINY = 1e-6, 1e-300  # how far numbers may be off, relatively and absolutely
TIMESTAMP = 1.6e9
BEGINNINGS = [
    *("warm", "go on", "go on from other C", "go on from other data"),
    *("resume", "resume from other C", "resume from other data"),
]

Plan = dict[str, Any]


# Structures


class Labels:
    """A structure of one's own: an output is the number of a label, and confusions cost differently."""

    def __init__(self, costs: Any, width: int) -> None:
        self.costs, self.width, self.n_weights = costs, width, len(costs) * width

    def features(self, x: Any, y: int) -> tuple[Any, Any]:
        """φ: x in the place of the label."""
        return np.arange(y * self.width, (y + 1) * self.width), x

    def error(self, y: int, y_hat: int) -> float:
        """The cost of the confusion."""
        return float(self.costs[y, y_hat])

    def decode(self, x: Any, w: Any, y: int | None = None, wrong_at: int | None = None) -> int:
        """The best label; `wrong_at` asks for the best wrong one."""
        scores = w.reshape(-1, self.width) @ x
        if wrong_at is not None:
            scores[y] = -np.inf
        elif y is not None:
            scores += self.costs[y]
        return int(np.argmax(scores))


class ErringLabels(Labels):
    """The same with errors of positions."""

    def position_errors(self, y: int, y_hat: int) -> list[float]:
        """The error, of the only position."""
        return [self.error(y, y_hat)]


class ListedLabels(Labels):
    """The same with all outputs listed."""

    def outputs(self, x: Any) -> range:
        """All labels."""
        return range(len(self.costs))


def labels(seed: int, kind: type[Labels]) -> Small:
    """Examples with one of three or four labels each."""
    rng = np.random.default_rng(seed)
    n_labels, n_examples = int(rng.integers(2, 5)), int(rng.integers(2, 7))
    costs = rng.uniform(0.1, 5.0, (n_labels, n_labels)) * (1.0 - np.eye(n_labels))
    structure = kind(costs, 3)
    X, y = list(rng.normal(size=(n_examples, 3))), rng.integers(n_labels, size=n_examples).tolist()
    return Small(
        custom_examples(structure, X, y),
        lambda i: ([label] for label in range(n_labels)),
        y,
        lambda i, output: [structure.error(y[i], output[0])],
    )


def _sizes(seed: int, most: int, examples: int = 5) -> list[int]:
    rng = Random(seed)
    return [rng.randint(0, most) for _ in range(rng.randint(2, examples))] + [most]


def _texts(seed: int) -> list[str]:
    rng = Random(seed)
    return [BRACKETED[2], *rng.sample(BRACKETED, rng.randint(1, 3))]


STRUCTURES: dict[str, Callable[[int], Small]] = {
    "chain": lambda seed: chain(seed, _sizes(seed, 3), costs=seed % 3 == 0),
    "chain-real": lambda seed: chain(seed, _sizes(seed, 3), binary=False, per_position=3, costs=seed % 3 == 0),
    "chain-conditional": lambda seed: chain(seed, _sizes(seed, 3), n_labels=2, conditional=2, binary=False),
    "chain-selected": lambda seed: selected(seed, _sizes(seed, 3)),
    "segments": lambda seed: segmentation(seed, _sizes(seed, 3), max_lengths=[1, 3], n_segment_features=seed % 3),
    "segments-penalties": lambda seed: segmentation(
        seed, _sizes(seed, 3, 3), max_lengths=[2, 2, 1], penalties=True, binary=False
    ),
    "brackets": lambda seed: brackets(_texts(seed), ["first:word", "first:pos|last:word", "split:word"], 5),
    "brackets-productions": lambda seed: brackets(
        _texts(seed), ["last:word", "first:pos|split:word"], 6, error="productions"
    ),
    "trees": lambda seed: dependencies(seed, _sizes(seed, 3, 3)),
    "trees-nonprojective": lambda seed: dependencies(
        seed, _sizes(seed, 3, 3), "nonprojective", single_root=seed % 2 == 0
    ),
    "trees-siblings": lambda seed: dependencies(seed, _sizes(seed, 3, 3), order=2, single_root=seed % 2 == 0),
    "trees-grandparents": lambda seed: dependencies(seed, _sizes(seed, 3, 3), order="grandsiblings"),
    "matching": lambda seed: matching(seed, [size + 1 for size in _sizes(seed, 2)]),
    "matching-masked": lambda seed: matching(seed, [size + 1 for size in _sizes(seed, 2)], MaskedMatching),
    "matching-listed": lambda seed: matching(seed, [size + 1 for size in _sizes(seed, 2)], ListedMatching),
    "labels": lambda seed: labels(seed, Labels),
    "labels-erring": lambda seed: labels(seed, ErringLabels),
    "labels-listed": lambda seed: labels(seed, ListedLabels),
    "classes": lambda seed: classes(seed, 3 + seed % 9, 2 + seed % 3, costs=seed % 2 == 0, intercept=float(seed % 3)),
    "classes-wide": lambda seed: classes(seed, 12, 2, n_features=20),
    "label-sets": lambda seed: label_sets(seed, 2 + seed % 6, pairwise=False, intercept=0.5 * (seed % 3)),
    "label-sets-pairs": lambda seed: label_sets(seed, 2 + seed % 6, pairwise=True, costs=seed % 2 == 0),
    "motifs": motifs,
    "forests": lambda seed: linked(seed, _sizes(seed, 3), penalty=0.5 + seed % 2),
    "antecedents": lambda seed: resolved(seed, _sizes(seed, 3)),
    "ranking-precision": lambda seed: ranked(seed, [1 + size for size in _sizes(seed, 3)], "precision"),
    "ranking-ndcg": lambda seed: ranked(seed, [1 + size for size in _sizes(seed, 3)], "ndcg", k=3),
    "ranking-map": lambda seed: ranked(seed, [1 + size for size in _sizes(seed, 3)], "map"),
    "ranking-pairs": lambda seed: ranked(seed, [1 + size for size in _sizes(seed, 3)], "pairs"),
    "extracts": lambda seed: summaries(seed, _sizes(seed, 3)),
}


@cache
def data_set(structure: str, seed: int) -> Small:
    """One of the data sets of a structure."""
    return STRUCTURES[structure](seed)


@cache
def _blocks(structure: str, seed: int, objective: str) -> Blocks:
    """All cuts of a data set, before features are scaled."""
    asked: Any = NamedTuple("Asked", [("objective", Any)])(OBJECTIVES[objective])
    found: Blocks = all_blocks(asked, data_set(structure, seed))
    return found


def rescaled(examples: Any, scale: Any) -> Any:
    """The same examples with each feature multiplied by its `scale`; all that they offer is still there."""

    def at(function: Any) -> Any:
        """The function of weights, or of part scores, which have been scaled when they were made."""
        return staticmethod(
            lambda w, *rest, **options: function(w if isinstance(w, Scored) else w * scale, *rest, **options)
        )

    def features(found: Any) -> Any:
        return found._replace(psi=found.psi._replace(values=found.psi.values * scale[found.psi.indices]))

    def both(function: Any) -> Any:
        return staticmethod(lambda w, *rest, **options: features(function(w * scale, *rest, **options)))

    members = {name: getattr(examples, name) for name in dir(examples) if not name.startswith("_")}
    members = {name: staticmethod(member) if callable(member) else member for name, member in members.items()}
    for name in members.keys() & {"decode", "decode_best", "decode_hull", "decode_slack", "scored"}:
        members[name] = at(getattr(examples, name))
    for name in members.keys() & {"violators", "expectation"}:
        members[name] = both(getattr(examples, name))
    members["difference"] = staticmethod(lambda batch, outputs: features(examples.difference(batch, outputs)))
    members.pop("totals", None)  # sums over many examples; these have a row each
    return type(f"Rescaled{type(examples).__name__}", (), members)()


# Plans


def draw(structure: str, rng: Random) -> Plan:
    """The plan of a run."""
    data = rng.randrange(DATA_SETS)
    examples = data_set(structure, data).examples
    able = [name for name, each in SOLVERS.items() if _offers(examples, each.requires)]
    solver = rng.choice(["auto", *able])
    chosen = SOLVERS[solver]
    objectives = [
        name for name, each in OBJECTIVES.items() if each.kind in chosen.kinds and _offers(examples, each.requires)
    ]
    # Those that are never proven only show that nothing goes wrong; rounding misleads smooth ones most.
    objectives = [name for name in objectives if OBJECTIVES[name].exact or rng.random() < 0.2]
    objectives += [name for name in objectives if OBJECTIVES[name].kind == "smooth"]
    if not objectives:  # nothing to sum over for a solver that needs it
        return draw(structure, rng)
    objective = rng.choice(objectives)
    smooth = OBJECTIVES[objective].kind == "smooth"
    return {
        "structure": structure,
        "data": data,
        "solver": solver,
        "objective": objective,
        "loss": "hinge" if smooth else rng.choice(chosen.losses),
        "penalty": rng.choice(chosen.penalties),
        "l1": 10 ** rng.uniform(-2, 2),
        "C": 10 ** rng.uniform(-6, 6),
        "scales": rng.choice(["one", "one", "equal", "columns", "columns", "milder", "timestamp"]),
        "weights": rng.choice(["none", "none", "none", "uniform", "zeros", "tiny", "huge", "nothing"]),
        "numbers": rng.randrange(1 << 30),
        "epochs": rng.choice([0, 1, 2, 3, 5, 10, 30, 30, 100] if OBJECTIVES[objective].exact else [0, 1, 2]),
        "gap": rng.choice([None, 0.1, 1e-2, 1e-4, 1e-7]),
        "audit": rng.random() < 0.3,
        "begin": rng.choice(["cold"] * len(BEGINNINGS) + BEGINNINGS),
        "before": rng.choice([solver, solver, *able]),
        "parts": rng.choice([0] * 15 + [1, 2, 3]) if chosen.mixes or chosen.on_a_part() is not None else 0,
        "rounds": rng.choice(["consensus", "cocoa"]),
        "scored": rng.random() < 0.1,
        "cut_memory": 0.001 if rng.random() < 0.1 else 1024.0,
        "seed": rng.randrange(1000),
    }


def _offers(examples: Any, requires: Sequence[type]) -> bool:
    return all(isinstance(examples, each) for each in requires)


def _scales(kind: str, examples: Any, rng: Any) -> Any:
    n, one = examples.n_weights, np.ones(examples.n_weights)
    drawn, column = rng.uniform(-9, 9, n), int(rng.integers(n))
    if kind == "timestamp":
        one[column] = TIMESTAMP
    return {"equal": one * 10 ** drawn[0], "columns": 10**drawn, "milder": 10 ** (drawn / 3)}.get(kind, one)


def _weights(kind: str, n: int, rng: Any) -> Any:
    drawn = rng.uniform(0.0, 3.0, n)
    return {
        "none": None,
        "uniform": drawn,
        "zeros": np.where(rng.random(n) < 0.4, 0.0, drawn),
        "tiny": rng.choice([1e-310, 1e-50, 1e-12, 1.0], n),
        "huge": rng.choice([1e10, 1e50, 1.0], n),
        "nothing": np.zeros(n),
    }[kind]


def problem_of(plan: Plan) -> tuple[Problem, Blocks]:
    """The problem of a plan, and all its cuts; none where the objective finds only some."""
    small, rng = data_set(plan["structure"], plan["data"]), np.random.default_rng(plan["numbers"])
    scale = _scales(plan["scales"], small.examples, rng)
    weights = _weights(plan["weights"], small.examples.n_examples, rng)
    objective = OBJECTIVES[plan["objective"]]
    problem = Problem(
        small.examples if plan["scales"] == "one" else rescaled(small.examples, scale),
        objective,
        sample_weight=weights,
        **{name: plan[name] for name in ("C", "loss", "penalty", "l1", "cut_memory")},
    )
    if not objective.exact:
        return problem, []
    return problem, [(b, a * scale) for b, a in _blocks(plan["structure"], plan["data"], plan["objective"])]


def train(plan: Plan, problem: Problem, folder: Path) -> Solution:
    """Train as planned; a checkpoint goes into the folder."""
    solver, rng = SOLVERS[plan["solver"]], np.random.default_rng(plan["numbers"])
    stop = Stop(epochs=plan["epochs"], gap=plan["gap"])
    options: dict[str, Any] = {"seed": plan["seed"], "audit": plan["audit"]}
    if plan["scored"]:
        options["score"] = lambda w: float(rng.random())
    if plan["parts"]:
        rounds = rounds_of(solver, rounds=plan["rounds"])
        return fit(parted(problem, solver, plan["parts"]), rounds, stop=stop, **options)
    begin = plan["begin"]
    if begin == "warm":
        options["w"] = rng.normal(size=problem.n_weights) * 10 ** rng.uniform(-3, 3)
    elif begin != "cold":
        before, first = replace(problem, meter=Meter()), {"stop": Stop(epochs=3, gap=None), "seed": plan["seed"]}
        if begin.endswith("other C"):
            before = replace(before, C=problem.C * 10 ** rng.uniform(-2, 2))
        elif begin.endswith("other data"):
            before = replace(before, examples=rescaled(problem.examples, 10 ** rng.uniform(-1, 1, problem.n_weights)))
        if begin.startswith("resume"):
            options |= {"checkpoint": folder / "checkpoint", "resume": True}
            fit(before, solver, checkpoint=folder / "checkpoint", **first)
        else:
            found = fit(before, SOLVERS[plan["before"]], **first)
            options |= {"w": found.w if found.cuts is None else None, "cuts": found.cuts}
    return fit(problem, solver, stop=stop, **options)


# Checks


class Fault(Exception):  # noqa: N818 — it is the library's, not the campaign's
    """A run that claims what is not true; the last line is alike for all that are alike."""


def check(plan: Plan, problem: Problem, blocks: Blocks, solution: Solution) -> None:
    """Raise a `Fault` if a solution claims what is not true."""
    claims = [row.dual for row in solution.trace if row.certified]
    if solution.certified or str(solution.doubt).startswith("the best lower bound"):
        claims.append(solution.dual)
    if not claims:
        return
    if not blocks and problem.n_blocks:
        raise Fault(f"{plan['solver']}: an objective that finds only some cuts is certified")
    truth = Truth(problem, blocks)
    least, best = truth.best([solution.w])
    highest = max(claim for claim in claims if claim is not None)
    if highest > float(least) * (1 + CLOSE) + TINY:
        exact = truth.exactly(best)
        if exact is None or highest > exact * Fraction(1 + CLOSE):
            raise Fault(
                f"the bound is {highest!r}, but there is P = {float(least)!r}; reported P is {solution.primal!r}\n"
                f"{_alike(plan)}: the bound is false"
            )
    if not solution.certified:
        return
    assert solution.primal is not None
    assert solution.gap is not None
    own, rounding = float(truth.primal(solution.w)), truth.rounding(solution.w)
    bounded = hasattr(problem.examples, "excess") and solution.primal > own
    if not abs(solution.primal - own) <= CLOSE * own + rounding + TINY and not bounded:
        raise Fault(f"P(w) is {own!r}, not {solution.primal!r}\n{_alike(plan)}: P(w) is wrong")
    if own > TINY and solution.gap < (own - float(least) - rounding) / own - CLOSE:
        raise Fault(
            f"the gap is {(own - float(least)) / own!r}, not {solution.gap!r}\n{_alike(plan)}: the gap is false"
        )


def _alike(plan: Plan) -> str:
    return ", ".join(plan[name] for name in ("solver", "objective", "loss", "penalty"))


# The campaign


class Proofs(NamedTuple):
    """The runs of one structure, as a kind of input: a plan each."""

    structure: str
    certified: Any  # a counter in shared memory
    seeds: Sequence[bytes] = ()
    name: str = "plan.json"

    def content(self, rng: Random) -> bytes:
        """A plan."""
        return json.dumps(draw(self.structure, rng), indent=1).encode()

    def use(self, path: Path, rng: Random) -> None:
        """Run the plan in the file."""
        plan = json.loads(path.read_bytes())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            problem, blocks = problem_of(plan)
            solution = train(plan, problem, path.parent)
        for each in caught:
            if not issubclass(each.category, UserWarning):
                raise Fault(
                    f"{plan['solver']}: {each.category.__name__}: {each.message} ({each.filename}:{each.lineno})"
                )
        self.certified.value += solution.certified
        check(plan, problem, blocks, solution)


def campaign(minutes: float, seed: int, *, runs: int | None = None, jobs: int = 1, replay: Path | None = None) -> bool:
    """Whether all proofs of some minutes, or of so many runs, hold."""
    threadpool_limits(limits=1, user_api="blas")  # several threads are slower for what is so small
    certified = {name: FORK.RawValue("q") for name in STRUCTURES}

    def kinds(folder: Path) -> dict[str, Proofs]:
        if replay is None:
            for name in STRUCTURES:
                _compile(name)
        return {f"proof-{name}": Proofs(name, count) for name, count in certified.items()}

    fine = run(kinds, minutes, seed, jobs=jobs, replay=replay, runs=runs)
    if replay is None:
        print(f"  {sum(each.value for each in certified.values()):,} runs were certified")
    return fine


def _compile(structure: str) -> None:
    """Have every kernel compiled or loaded before workers are forked: all objectives, and on chains all solvers."""
    plain = {"C": 1.0, "scales": "one", "weights": "none", "begin": "cold", "epochs": 3, "gap": None, "scored": False}
    plain |= {"parts": 0}
    for solver in SOLVERS if structure == "chain" else ("auto", "adagrad"):
        for objective in OBJECTIVES:
            for choice in product(SOLVERS[solver].losses, SOLVERS[solver].penalties):
                chosen = {
                    "solver": solver,
                    "objective": objective,
                    **dict(zip(("loss", "penalty"), choice, strict=True)),
                }
                plan = draw(structure, Random(0)) | plain | chosen
                with suppress(WidemarginError):
                    train(plan, problem_of(plan)[0], Path())
