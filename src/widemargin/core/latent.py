"""Learning with latent variables: the concave-convex procedure (Yu & Joachims 2009).

    ½‖w‖² + C Σ c_i ℓ( max_ŷĥ [⟨w, φ(x_i, ŷ, ĥ)⟩ + Δ(y_i, ŷ, ĥ)] − max_h ⟨w, φ(x_i, y_i, h)⟩ )                      (5)

is not convex in w, but it is as soon as the h of the last term are fixed. A round completes every gold output by its
best h at the current w, then solves the convex problem with any solver and objective. Neither step raises (5), so the
procedure comes to rest at a local optimum. The gap is that of the last convex problem.

**Rebasing.** From round to round few completions change. Where φ(gold) of an example moves, its cuts move along
(`CutStore.rebase`) and stay valid with their α, so a round starts where the last one ended.

**Loose rounds.** The first round ends at a gap of 10 %. Every later one ends as soon as it has provably gained more
than is left to gain. The run ends when a round provably cannot lower (5) by more than `tol`.

**Self-paced learning** (Kumar, Packer & Koller 2010): after the first round only the easier half of the examples take
part, those with a small loss or a certain completion; the limit grows by `PACE` each round until all take part.
"""

import logging
import os
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from widemargin._jit import now
from widemargin.core.checkpoint import read_outer
from widemargin.core.checks import check_offers
from widemargin.core.examples import Latent, Outputs, Uncertain
from widemargin.core.header import Place
from widemargin.core.interrupt import interruption
from widemargin.core.loop import fit
from widemargin.core.problem import Problem, in_shares
from widemargin.core.rounds import Course, Enough, Rounds, begin, complete, shifts
from widemargin.core.solution import Epoch, Round, Solution, relative_gap
from widemargin.core.solver import Solver, WarmStart
from widemargin.core.sparse import Rows, dots, take_rows
from widemargin.core.stop import Callback, Score, Stop
from widemargin.errors import WidemarginError

LOG = logging.getLogger(__name__)
PACE = 1.3
ROUNDING = 1e-9  # relative to the sizes of the terms of a sum
SLIP = 1e-6  # how much the objective may seem to rise, relatively, by rounding


def fit_latent(
    problem: Problem,
    solver: Solver,
    *,
    stop: Stop | None = None,
    rounds: Rounds | None = None,
    init: Any = "rule",
    score: Score | None = None,
    callbacks: Sequence[Callback] = (),
    seed: int | np.random.Generator | None = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 30.0,
    interrupted: threading.Event | None = None,
) -> Solution:
    """Train on latent examples by the concave-convex procedure.

    Ctrl-C returns the weights after the last whole round; in the first round, the best so far.

    Parameters
    ----------
    problem, solver : what to minimise, and how; the examples are `Latent`
    stop : the rules for every convex problem, except that `seconds` limits the whole run and `patience` counts rounds
    rounds : how rounds follow each other
    init : completions to begin with: ``"rule"``, ``"random"``, weights, or completions (`core.rounds.begin`)
    score : maps weights to a development score, asked for after every round; the best round's weights are returned
    callbacks, seed, checkpoint, resume, checkpoint_seconds, interrupted : as in `fit`
    """
    rounds = rounds or Rounds()
    check_offers(rounds, (Latent, Uncertain) if rounds.self_paced == "uncertainty" else (Latent,), problem.examples)
    procedure = _Procedure(problem, solver, stop or Stop(), rounds, score, callbacks, np.random.default_rng(seed))
    options: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_seconds": checkpoint_seconds}
    with interruption() if interrupted is None else nullcontext(interrupted) as event:
        return procedure.result(init, resume, options | {"interrupted": event})


class _RoundEvents(Callback):
    """Passes the events of one round on, with epochs, calls and seconds counted from the beginning of the run."""

    def __init__(self, callbacks: Sequence[Callback], course: Course) -> None:
        self.callbacks, self.course = callbacks, course

    def on_batch(self, visited: int) -> None:
        """Pass it on."""
        for callback in self.callbacks:
            callback.on_batch(visited)

    def on_epoch(self, epoch: Epoch) -> None:
        """Pass it on with its number in the run."""
        for callback in self.callbacks:
            callback.on_epoch(_in_run(epoch, self.course))


def _in_run(epoch: Epoch, course: Course) -> Epoch:
    return epoch._replace(
        epoch=len(course.trace) + epoch.epoch,
        seconds=course.seconds + epoch.seconds,
        oracle_calls=course.calls + epoch.oracle_calls,
    )


@dataclass
class _Procedure:
    """One call of `fit_latent`."""

    problem: Problem
    solver: Solver
    stop: Stop
    rounds: Rounds
    score: Score | None
    callbacks: Sequence[Callback]
    rng: np.random.Generator
    last: Solution | None = None

    def __post_init__(self) -> None:
        gap, tol = self.stop.gap, self.rounds.tol
        self.latent: Any = self.problem.examples
        self.closest = tol if gap is None else min(gap, tol or gap)
        self.course = Course(taking_part=np.ones(self.latent.n_examples))

    def result(self, init: Any, resume: bool, options: dict[str, Any]) -> Solution:
        """The solution after rounds until a rule ends the run."""
        course, carried, reason = self.course, None, ""
        resuming = resume and self._resume(options["checkpoint"])
        if not resuming:
            course.seed = int(self.rng.integers(2**31))
        completions = self._first(init)
        for callback in self.callbacks:
            callback.on_start(self.stop.epochs, self.problem.n_counted)
        while not reason:
            number = len(course.rounds) + 1
            LOG.info("round %d of at most %d", number, self.rounds.most)
            for callback in self.callbacks:
                callback.on_round(number, self.rounds.most)
            convex = self._convex(completions)
            try:
                solution = self._solve(convex, carried, resuming, options)
            except KeyboardInterrupt:
                if not course.rounds:
                    raise
                reason = "interrupted"
                break
            resuming = False
            if solution.stopped in ("interrupted", "seconds"):
                reason = solution.stopped
                if course.rounds or solution.slacks is None:
                    break
            elif self._is_worse(solution):
                reason, carried = self._stay(solution, completions), solution.cuts
                if carried is not None:
                    carried.origin = None  # the same examples as before, of which others may take part
                continue
            before, completions = completions, complete(self.latent, solution.w, self.problem.n_threads)
            shift = shifts(self.latent.completed(completions), before)
            reason = self._end_round(convex, solution, completions, shift) or reason
            if self.rounds.rebase and solution.cuts is not None and not reason:
                blocks = self.problem.objective.blocks(convex.examples).astype(np.int64)
                rows = take_rows(shift, blocks)
                carried = solution.cuts.rebase(rows, times_error=self.problem.objective.times_error)
        return self._solution(reason)

    def _resume(self, path: str | os.PathLike[str] | None) -> bool:
        if path is None:
            raise WidemarginError("there is nothing to resume from without a checkpoint")
        found = read_outer(path, self.course)
        if found:
            self.course.check(Place(f"the checkpoint {path}", "outer"), self.problem.n_weights, self.latent.n_examples)
        return found

    def _first(self, init: Any) -> Outputs:
        """The completions of the round to begin with."""
        if self.course.rounds:
            return complete(self.latent, self.course.w, self.problem.n_threads)
        return begin(self.latent, init, np.random.default_rng(self.course.seed), self.problem.n_threads)

    def _convex(self, completions: Outputs, *, everyone: bool = False) -> Problem:
        """The problem with these completions as gold, of the examples that take part, or of `everyone`."""
        weight = self.problem.example_weight * (1.0 if everyone else self.course.taking_part)
        examples = self.latent.completed(completions)
        return replace(self.problem, examples=examples, sample_weight=weight, keep_parts=self.rounds.rebase)

    def _solve(self, convex: Problem, carried: WarmStart | None, resuming: bool, options: dict[str, Any]) -> Solution:
        """Solve the convex problem of a round, from the cuts that are carried over, or else from the last weights."""
        course, stop = self.course, self.stop
        left = None if stop.seconds is None else max(stop.seconds - course.seconds, 0.0)
        closest = None if stop.gap is None else self.closest
        rules = Enough(epochs=stop.epochs, seconds=left, gap=closest, base=course.objective, loose=self.rounds.loose)
        warm = self.rounds.rebase and carried is None and course.rounds
        solution = fit(
            convex,
            self.solver,
            stop=rules,
            callbacks=[_RoundEvents(self.callbacks, course)],
            seed=self.rng,
            w=course.w if warm else None,
            cuts=carried,
            resume=resuming,
            outer=course,
            **options,
        )
        self.last = solution
        course.trace += [list(_in_run(row, course)) for row in solution.trace]
        course.calls += solution.oracle_calls
        course.seconds += solution.seconds
        return solution

    def _is_worse(self, solution: Solution) -> bool:
        """Whether the round has raised the objective."""
        return solution.primal is not None and solution.primal > self.course.objective * (1.0 + ROUNDING)

    def _stay(self, solution: Solution, completions: Outputs) -> str:
        """Keep the weights from before a round that raised the objective; return why to stop, or ""."""
        course = self.course
        score = course.rounds[-1][-1] if course.rounds else None
        self._note_round(solution, course.objective, relative_gap(course.objective, solution.dual), 0, None)
        course.rounds[-1][-1] = score  # that of the same weights
        if len(course.rounds) >= self.rounds.most:
            return "rounds"
        if course.taking_part.all():
            return "stable" if solution.certified else "round_tol"
        self._choose_examples(completions)
        return ""

    def _end_round(self, convex: Problem, solution: Solution, completions: Outputs, shift: Rows) -> str:
        """Record the round and choose the examples of the next one; return why to stop, or ""."""
        course, rounds, before, since = self.course, self.rounds, self.course.objective, now()
        calls = self.problem.meter.calls
        changed = int(np.count_nonzero(np.diff(shift.indptr)))
        objective = self._objective(convex, solution, completions, shift)
        if convex.exact and objective > before * (1.0 + SLIP):
            raise WidemarginError(
                f"round {len(course.rounds) + 1} has raised the objective from {before:.9g} to {objective:.9g}: "
                "decoding or completing does not find the best; say so by exact = False"
            )
        course.w, course.objective = solution.w.copy(), objective
        score = None if self.score is None else float(self.score(solution.w))
        self._note_round(solution, objective, solution.gap, changed, score)
        everyone = bool(course.taking_part.all())
        if rounds.self_paced is not None and (not everyone or len(course.rounds) == 1):
            self._choose_examples(completions)
        course.calls += self.problem.meter.calls - calls
        course.seconds += now() - since
        if len(course.rounds) >= rounds.most:
            return "rounds"
        if self.stop.patience is not None and self.score is not None and course.waited >= self.stop.patience:
            return "patience"
        if not (everyone and course.taking_part.all()):
            return ""
        if not changed and solution.gap is not None and solution.gap <= self.closest:
            return "stable"
        known = solution.dual is not None and self.stop.gap is not None
        possible = before - (solution.dual if known and solution.dual is not None else objective)
        return ("round_tol" if changed else "stable") if possible <= self.closest * before < np.inf else ""

    def _objective(self, convex: Problem, solution: Solution, completions: Outputs, shift: Rows) -> float:
        """The objective (5) at the new weights, of the examples that take part."""
        w, gains = solution.w, dots(shift, solution.w)
        if convex.examples.exact:
            sizes = dots(shift._replace(values=np.abs(shift.values)), np.abs(w))
            for i in np.flatnonzero(gains < -ROUNDING * np.maximum(sizes, 1.0))[:1].tolist():
                raise WidemarginError(
                    f"the completion of example {i} is not the best: it scores {-gains[i]:.6g} less than the one before"
                )
        if solution.slacks is None or self.problem.objective.times_error:
            return self._convex(completions).primal(w)
        return convex.regulariser(w) + convex.C * convex.losses(np.arange(convex.n_blocks), solution.slacks - gains)

    def _note_round(
        self, solution: Solution, objective: float, gap: float | None, changed: int, score: float | None
    ) -> None:
        course = self.course
        if score is not None:
            course.waited = 0 if score > course.best_score else course.waited + 1
            if score >= course.best_score:
                course.best_score, course.best_w = score, solution.w.copy()
        epochs, n = len(course.trace) - sum(each[1] for each in course.rounds), int(course.taking_part.sum())
        known = epochs, course.seconds, course.calls, objective, gap, solution.certified, changed, n, score
        course.rounds.append(list(Round(len(course.rounds) + 1, *known)))

    def _choose_examples(self, completions: Outputs) -> None:
        """Choose the examples that are easy enough to take part in the next round."""
        course, everyone = self.course, self._convex(completions, everyone=True)
        found = np.zeros(everyone.n_blocks)
        everyone.primal(course.w, found)
        if self.rounds.self_paced == "uncertainty":
            ask = partial(self.latent.uncertainty, course.w)
            hard = np.concatenate(in_shares(self.latent, ask, self.problem.n_threads))
        else:
            losses = found if everyone.loss == "hinge" else np.maximum(found, 0.0) ** 2
            hard = everyone.per_example(everyone.c * np.maximum(losses, 0.0))
        counted = everyone.example_weight > 0
        if np.isfinite(course.limit):
            left_out = hard[course.taking_part == 0.0]
            course.limit = max(course.limit * PACE, float(left_out.min(initial=np.inf)))
        else:
            course.limit = float(np.median(hard[counted]))
        course.taking_part = np.where((hard <= course.limit) | ~counted, 1.0, 0.0)
        chosen = self._convex(completions)
        course.objective = chosen.regulariser(course.w) + chosen.C * chosen.losses(np.arange(chosen.n_blocks), found)

    def _solution(self, reason: str) -> Solution:
        course, last = self.course, self.last
        assert last is not None, "a procedure that ends without a round raises"
        for callback in self.callbacks:
            callback.on_stop(reason)
        trace = tuple(Epoch(*each) for each in course.trace)
        rounds = tuple(Round(*each) for each in course.rounds)
        counts: dict[str, Any] = {"epoch": len(trace), "oracle_calls": course.calls, "seconds": course.seconds}
        if not rounds:
            return replace(last, trace=trace, stopped=reason, **counts)
        w, kept = course.w, rounds[-1]
        scored = [each for each in rounds if each.score is not None and each.score == course.best_score]
        if scored and scored[-1] != kept:
            w, kept = course.best_w, scored[-1]
            counts |= {"epoch": sum(each.epochs for each in rounds[: kept.round]), "dual": None}
        if reason in ("interrupted", "seconds") and len(rounds) > 1:
            counts["dual"] = None  # the last bound belongs to an unfinished round
        of_kept: dict[str, Any] = {"primal": kept.objective, "gap": kept.gap, "certified": kept.certified}
        return replace(last, w=w, trace=trace, stopped=reason, rounds=rounds, slacks=None, **counts, **of_kept)
