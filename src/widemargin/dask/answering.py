"""Examples that stay on the workers of a cluster and answer with cuts: ``rounds="oracle"``.

The ordinary solver runs in the driver. Its problem has `RemoteExamples`: facts about all examples, and nothing else.
A question about a batch goes to the workers that have the examples (`core.asking`); their cuts are put together in the
order of the batch. So the solver sees what it would see on one machine, bit for bit.

Each piece of the data is held by an actor of Dask, to which the driver has a connection of its own. Actors hold w, too:
of each new w only the weights that have changed are sent. An actor is made anew, elsewhere, if its worker is lost; it
is then sent all of w, and asked again.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic, perf_counter
from typing import Any, NamedTuple, cast
from uuid import uuid4

import numpy as np
from distributed import Actor, Client

from widemargin._threads import one_blas_thread
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.asking import ask
from widemargin.core.contents import listed_digest
from widemargin.core.cuts import Cuts, concatenate
from widemargin.core.examples import Examples, Unreachable
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver
from widemargin.core.sparse import take_rows, with_values
from widemargin.dask import worker
from widemargin.dask.carrier import forget
from widemargin.dask.cluster import (
    BETWEEN_LOOKS,
    LOST,
    Fetch,
    addresses,
    check_connected,
    hold,
    large_messages,
    plainly,
)
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.plan import Plan

TICK = 0.1  # seconds between two looks at whether training should end
MOST_ATTEMPTS = 10  # to find a worker for a piece


class Facts(NamedTuple):
    """Facts about the examples of a piece; `n_blocks` is for each of them, and `unreachable` as in `Unreachable`."""

    weight: FloatVector
    n_blocks: LongVector
    n_weights: int
    exact: bool
    work: FloatVector | None
    unreachable: dict[str, Any]
    digest: str


class Answer(NamedTuple):
    """The cuts of a worker with the place of their example in the batch, or an error; and the seconds it took."""

    cuts: Cuts | None
    place: LongVector | None
    error: Exception | None
    seconds: float


class Answering:
    """An actor: the examples of a piece, and w."""

    def __init__(self, shared: worker.Shared, piece: Any, number: int) -> None:
        self.problem, _ = worker.own_problem(shared, piece, number)
        problem = self.problem
        self.blocks = problem.objective.blocks(problem.examples)
        self.w: FloatVector = np.zeros(problem.n_weights)

    def facts(self) -> Facts:
        """The facts that the driver needs."""
        problem, examples = self.problem, self.problem.examples
        return Facts(
            problem.example_weight,
            np.bincount(self.blocks, minlength=examples.n_examples),
            problem.n_weights,
            problem.exact,
            examples.work,
            dict(examples.unreachable()) if isinstance(examples, Unreachable) else {},
            listed_digest(examples),
        )

    def answer(self, question: Any, indices: IntVector, values: FloatVector, batch: IntVector) -> Answer:
        """The answer about a batch, once w has these values at these indices."""
        begin = perf_counter()
        self.w[indices] = values
        try:
            with one_blas_thread(), np.errstate(all="ignore"):
                cuts = concatenate(ask(question, self.problem.examples, self.w, batch, self.problem.n_threads))
        except Exception as error:
            return Answer(None, None, error, perf_counter() - begin)
        place = np.empty(self.problem.examples.n_examples, dtype=np.int64)
        place[batch] = np.arange(len(batch))
        return Answer(cuts, place[self.blocks[cuts.block]], None, perf_counter() - begin)


class Team:
    """The actors of a run, one for each piece, and what each of them knows of w.

    Parameters
    ----------
    client : the client of the cluster
    shared : what all pieces share
    pieces : the pieces of the data, or futures of them
    near : for each piece the worker that should have it
    """

    def __init__(self, client: Client, shared: worker.Shared, pieces: Sequence[Any], near: Sequence[str]) -> None:
        self.client, self._pieces, self._key = client, list(pieces), uuid4().hex[:8]
        self._shared, self._near = shared, dict(enumerate(near))
        self._actors: dict[int, Any] = {}
        self._where: dict[int, str] = {}
        self._facts: dict[int, Facts] = {}
        self._made = 0
        self.sent = self.received = self.rebuilt = 0
        self.decoding = self.carrying = 0.0
        self._version = 0
        self._known: dict[int, int] = {}  # the version of w that each actor has
        self._w: FloatVector = np.empty(0)
        self._changed: LongVector = np.empty(0, dtype=np.int64)  # the version in which each weight has changed last

    def start(self, look: Callable[[], None]) -> list[Facts]:
        """Make all actors, and ask them for their facts."""
        self._make(range(len(self._pieces)), look)
        return [self._facts[k] for k in range(len(self._pieces))]

    def answers(
        self, questions: Mapping[int, tuple[Any, IntVector]], w: FloatVector, look: Callable[[], None]
    ) -> dict[int, Answer]:
        """The answers of some pieces at w; each is asked something about a batch of its own examples."""
        begin = perf_counter()
        self._note(w)
        found: dict[int, Answer] = {}
        while len(found) < len(questions):
            calls = {}
            for k, (question, batch) in questions.items():
                if k not in found:
                    indices = np.flatnonzero(self._changed > self._known.get(k, 0)).astype(np.int32)
                    calls[k] = ("answer", question, indices, w[indices], batch)
                    self.sent += 12 * len(indices)
                    self._known[k] = self._version
            found |= self._ask(calls, look)
        decoding = max((each.seconds for each in found.values()), default=0.0)
        self.decoding += decoding
        self.carrying += max(perf_counter() - begin - decoding, 0.0)
        for _, answer in sorted(found.items()):
            if answer.error is not None:
                with plainly():
                    raise answer.error
            cuts = cast("Cuts", answer.cuts)
            self.received += 12 * len(cuts.a.indices) + 16 * len(cuts.b)
        return found

    @property
    def doing(self) -> str:
        """A line for the progress display: what takes the time."""
        total = max(self.decoding + self.carrying, 1e-9)
        return f"{self.decoding / total:.0%} decoding, {self.carrying / total:.0%} carrying w and cuts"

    def close(self) -> None:
        """Free the actors, and what surveys have left."""
        self._actors.clear()
        forget(self.client, self._shared.drafts)

    def _note(self, w: FloatVector) -> None:
        """Give w a new version if it has changed."""
        if not len(self._w):
            self._w, self._changed = np.zeros(len(w)), np.zeros(len(w), dtype=np.int64)
        changed = np.flatnonzero(w != self._w)
        if len(changed):
            self._version += 1
            self._changed[changed] = self._version
            self._w[changed] = w[changed]

    def _make(self, numbers: Any, look: Callable[[], None]) -> None:
        """Make the actors of these pieces, each on the worker with the fewest of them."""
        waiting = list(numbers)
        for _ in range(MOST_ATTEMPTS):
            while not (alive := addresses(self.client)):
                look()
            load = dict.fromkeys(alive, 0)
            for k, address in self._where.items():
                if address in load and k not in waiting:
                    load[address] += 1
            fair, futures = -(-len(self._pieces) // len(alive)), {}
            shared = hold(self.client, self._shared, f"shared-{self._key}-{self._made}", alive)
            with large_messages():
                for k in waiting:
                    near = self._near.pop(k, "")
                    least = min(alive, key=lambda address: (load[address], address))
                    where = near if load.get(near, fair) < fair else least
                    load[where] += 1
                    self._where[k], self._made = where, self._made + 1
                    futures[k] = self.client.submit(
                        Answering, shared, self._pieces[k], k, workers=[where], actor=True, pure=False
                    )
            for k, future in futures.items():
                with suppress(_LostError):
                    self._wait(k, Fetch(self.client, future), look)
                    with self.client.as_current():  # the one that Dask returns may belong to another client
                        self._actors[k] = Actor(Answering, self._where[k], future.key)
                    facts = self._wait(k, self._actors[k].facts(), look)
                    if facts.digest != self._facts.setdefault(k, facts).digest:
                        raise DataError(f"part {k} of the data has changed since the run began")
                    self._known[k] = 0
                    waiting.remove(k)
            if not waiting:
                return
        raise WidemarginError(f"part {waiting[0]} could not be made: its workers were lost again and again")

    def _ask(self, calls: Mapping[int, tuple[Any, ...]], look: Callable[[], None]) -> dict[int, Any]:
        """The replies of these actors; those that are lost are made anew, and have no reply."""
        replies, found = {}, {}
        for k, (name, *arguments) in calls.items():
            with suppress(RuntimeError):  # the actor is known to be lost
                replies[k] = getattr(self._actors[k], name)(*arguments)
        for k, reply in replies.items():
            with suppress(_LostError):
                found[k] = self._wait(k, reply, look)
        if lost := [k for k in calls if k not in found]:
            self.rebuilt += len(lost)
            self._make(lost, look)
        return found

    def _wait(self, k: int, pending: Any, look: Callable[[], None]) -> Any:
        """What piece k makes of a task or a call; raises `_LostError` if its worker is lost."""
        begin = monotonic()
        while True:
            look()
            try:
                with plainly():
                    return pending.result(timeout=TICK)
            except TimeoutError:
                if monotonic() - begin > BETWEEN_LOOKS:
                    begin = monotonic()
                    if self._where[k] not in addresses(self.client):
                        raise _LostError from None
            except (OSError, *LOST):
                check_connected(self.client)
                raise _LostError from None


class _LostError(Exception):
    """A worker is lost."""


class RemoteExamples:
    """Facts about all examples; they themselves are elsewhere, and answer there.

    `remote` makes an object that is of the class of the examples, too, since it offers what they offer.
    """

    def __init__(self, team: Team, facts: Sequence[Facts]) -> None:
        self._team, self._facts = team, facts
        sizes = [len(each.weight) for each in facts]
        self._begin = np.cumsum([0, *sizes])
        self._piece = np.repeat(np.arange(len(sizes)), sizes)
        self.sample_weight: FloatVector = np.concatenate([each.weight for each in facts])
        self._n_blocks: LongVector = np.concatenate([each.n_blocks for each in facts])
        self._first_block = np.concatenate([[0], np.cumsum(self._n_blocks)])
        work = [each.work for each in facts if each.work is not None]
        self._work = np.concatenate(work) if len(work) == len(facts) else None

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        return len(self._piece)

    @property
    def n_weights(self) -> int:
        """The length of the weight vector w."""
        return self._facts[0].n_weights

    @property
    def exact(self) -> bool:
        """Whether the oracles of all pieces are exact."""
        return all(each.exact for each in self._facts)

    exact_violators = exact

    @property
    def work(self) -> FloatVector | None:
        """The estimated decoding time of each example."""
        return self._work

    @property
    def n_positions(self) -> LongVector:
        """The number of blocks of each example, if these are positions."""
        return self._n_blocks

    def unreachable(self) -> dict[str, Any]:
        """The examples whose gold is out of reach, by reason."""
        reasons = dict.fromkeys(name for each in self._facts for name in each.unreachable)
        nowhere = [np.zeros(len(each.weight), dtype=bool) for each in self._facts]
        return {
            name: np.concatenate(
                [each.unreachable.get(name, none) for each, none in zip(self._facts, nowhere, strict=True)]
            )
            for name in reasons
        }

    def contents(self) -> list[str]:
        """Digests of all examples."""
        return [each.digest for each in self._facts]

    def answers(self, question: Any, w: FloatVector, batch: IntVector, look: Callable[[], None]) -> list[Cuts]:
        """The cuts of a batch, in its order."""
        piece = self._piece[batch]
        numbers = {k: np.flatnonzero(piece == k) for k in np.unique(piece).tolist()}
        questions = {k: (self._about(question, k), batch[at] - self._begin[k]) for k, at in numbers.items()}
        found = self._team.answers(questions, w, look)
        parts, places = [], []
        for k, answer in sorted(found.items()):
            cuts = cast("Cuts", answer.cuts)
            block = cuts.block + self._first_block[self._begin[k]]
            parts.append(cuts._replace(block=block.astype(np.int32), a=with_values(cuts.a)))
            places.append(numbers[k][answer.place])
        together, order = concatenate(parts), np.argsort(np.concatenate(places), kind="stable")
        excess = together.excess[order] if len(together.excess) else together.excess
        return [Cuts(together.block[order], together.b[order], take_rows(together.a, order), excess)]

    def _about(self, question: Any, k: int) -> Any:
        """The question as piece k understands it: the slacks that `Beyond` goes beyond are those of its examples."""
        if isinstance(question, partial) and isinstance(question.args[0], np.ndarray):
            return partial(question.func, question.args[0][self._begin[k] : self._begin[k + 1]])
        return question


def remote(sample: Examples, team: Team, facts: Sequence[Facts]) -> Any:
    """Remote examples like this one."""
    kind: Any = type("RemoteExamples", (RemoteExamples, type(sample)), {"__module__": __name__})
    made = kind.__new__(kind)
    vars(made).update(vars(sample))
    for name in ("n_examples", "n_weights", "exact", "work", "n_positions", "exact_violators"):
        vars(made).pop(name, None)
    RemoteExamples.__init__(made, team, facts)
    return made


def check_ordinary(solver: Solver) -> Solver:
    """The solver itself; raise unless it learns from nothing but cuts."""
    if solver.mixes:
        raise UnsupportedError(
            f"{type(solver).__name__} changes w after every few examples, so it would wait for workers all the time; "
            'take rounds="consensus", which averages its weights'
        )
    return solver


def remote_problem(team: Team, plan: Plan, sample: Examples, look: Callable[[], None]) -> Problem:
    """The problem of all examples, which the workers hold."""
    if plan.objective.kind == "smooth":
        raise UnsupportedError(
            'rounds="oracle" needs an objective whose cuts are single outputs; likelihood and softmax-margin are '
            "learnt on one machine"
        )
    facts = team.start(look)
    examples = remote(sample, team, facts)
    return plan.problem(examples, examples.sample_weight)
