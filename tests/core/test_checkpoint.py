"""Checkpoints: a run that was stopped and resumed equals the uninterrupted one bit for bit, whatever the solver."""

import json
import signal
import threading
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from helpers import SOLVERS, problem, random_chain, taken_by
from widemargin.core import checkpoint as module
from widemargin.core.checkpoint import Checkpoint, Moment, pack, unpack
from widemargin.core.checks import check_offers
from widemargin.core.loop import Callback, Stop, fit
from widemargin.core.model_file import read_model, write_model
from widemargin.core.problem import Problem
from widemargin.errors import ModelFileError, UnsupportedError, WidemarginError
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import SOLVERS as REGISTRY
from widemargin.solvers import DualCoordinateDescent, Perceptron
from widemargin.tasks.parameters import PRESETS

ABLE = [name for name, solver in SOLVERS.items() if "maximum" in solver.kinds]
DCD = DualCoordinateDescent(batch_size=2)


class PressCtrlC(Callback):
    """Presses Ctrl-C before the last batch of an epoch, or after it where it has one batch only."""

    def __init__(self, epoch):
        self.epoch, self.running, self.batches, self.pressed = epoch, 1, 0, False

    def on_batch(self, visited):
        self.batches += self.running == self.epoch
        if not self.pressed and self.batches == 2:
            self.pressed = True
            signal.raise_signal(signal.SIGINT)

    def on_epoch(self, epoch):
        self.running = epoch.epoch + 1


def training(solver, name="chain", C=2.0):
    return problem(name, **taken_by(solver), C=C)[0]


def rows(solution):
    return [row._replace(seconds=0.0) for row in solution.trace]


def assert_same(one, other):
    assert np.array_equal(one.w, other.w)
    assert rows(one) == rows(other)
    facts = ("primal", "dual", "gap", "certified", "stopped", "epoch", "oracle_calls")
    assert [getattr(one, fact) for fact in facts] == [getattr(other, fact) for fact in facts]


def wavy(w):
    """A development score that goes up and down."""
    return float(np.sin(1e3 * np.abs(w).sum()))


@pytest.mark.parametrize("score", [None, wavy])
@pytest.mark.parametrize("name", ["chain", "strong"])
@pytest.mark.parametrize("solver", ABLE)
def test_six_epochs_are_three_and_three_more(solver, name, score, tmp_path):
    solver, path = SOLVERS[solver], tmp_path / "run"
    try:
        check_offers(solver, solver.requires, training(solver, name).examples)
    except UnsupportedError:
        pytest.skip("not a pair")
    whole = fit(training(solver, name), solver, stop=Stop(epochs=6, gap=None), score=score, seed=3)
    first = fit(training(solver, name), solver, stop=Stop(epochs=3, gap=None), score=score, seed=3, checkpoint=path)
    assert len(first.trace) == 3
    options = {"score": score, "seed": 99, "checkpoint": path, "resume": True}
    assert_same(fit(training(solver, name), solver, stop=Stop(epochs=6, gap=None), **options), whole)
    again = fit(training(solver, name), solver, stop=Stop(epochs=6, gap=None), **options)
    assert_same(again, whole)
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("seconds", [0.0, 1e9])
@pytest.mark.parametrize("solver", ABLE)
def test_ctrl_c_in_the_middle_of_an_epoch(solver, seconds, tmp_path):
    """However seldom it was written: the file holds the last whole epoch."""
    solver, path = SOLVERS[solver], tmp_path / "run"
    stop = Stop(epochs=6, gap=None)
    whole = fit(training(solver), solver, stop=stop)
    options = {"stop": stop, "checkpoint": path, "checkpoint_seconds": seconds}
    cut_short = fit(training(solver), solver, callbacks=[PressCtrlC(4)], **options)
    resumed = fit(training(solver), solver, resume=True, **options)
    assert_same(resumed, whole)
    if cut_short.stopped == "interrupted":
        assert len(cut_short.trace) in (4, 5)
        assert not cut_short.certified


class Once(Callback):
    """Does something once, before the second batch of an epoch, or after the first where it has one batch only."""

    def __init__(self, epoch, action):
        self.left, self.action, self.batches = epoch - 1, action, 0

    def on_batch(self, visited):
        self.batches += not self.left
        if self.batches == 2:
            self.action()

    def on_epoch(self, epoch):
        self.left = max(self.left - 1, 0)


MODEL = random_chain(3, [2, 3, 1, 4, 3, 2], costs=True)


def registered(name, model=MODEL):
    """A solver or preset by its name, and what it minimises."""
    preset = PRESETS.get(name)
    solver = REGISTRY[name if preset is None else preset.solver]
    objective = OBJECTIVES[
        "margin" if "maximum" in solver.kinds else "likelihood" if preset is None else preset.objective
    ]
    return Problem(model.compiled(), objective, C=0.5, **taken_by(solver)), solver


@pytest.mark.parametrize("stopped_by", ["epochs", "seconds", "interrupted", "gap"])
@pytest.mark.parametrize("name", [*REGISTRY, *PRESETS])
def test_every_solver_resumes_from_every_kind_of_stop(name, stopped_by, tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("widemargin.core.oracle.now", lambda: clock[0])
    rules, options = Stop(epochs=5, gap=None), {"audit": stopped_by == "gap"}
    whole = fit(*registered(name), stop=rules, **options)
    options["checkpoint"] = tmp_path / "run"
    event, callbacks, early = threading.Event(), [], rules
    if stopped_by == "epochs":
        early = Stop(epochs=2, gap=None)
    elif stopped_by == "gap":
        early = Stop(epochs=5, gap=np.nextafter(whole.trace[2].gap, 1.0))
    elif stopped_by == "seconds":
        early, callbacks = Stop(epochs=5, seconds=1e6, gap=None), [Once(3, lambda: clock.append(clock.pop() + 1e9))]
    else:
        callbacks = [Once(3, event.set)]
    first = fit(*registered(name), stop=early, callbacks=callbacks, interrupted=event, **options)
    assert first.stopped == stopped_by
    assert_same(fit(*registered(name), stop=rules, resume=True, **options), whole)


def corrected(rows):
    return [[*rows[0][:-1], (rows[0][-1] + 1) % MODEL.n_labels], *rows[1:]]


def other_features(rows):
    return [*rows[:-1], [*rows[-1][:-1], [(0, 1.0), (1, 1.0)]]]


OTHERS = {
    "labels": replace(MODEL, gold=corrected(MODEL.gold)),
    "features": replace(MODEL, sequences=other_features(MODEL.sequences)),
    "costs": replace(MODEL, costs=(2.0 * np.array(MODEL.costs)).tolist()),
}


@pytest.mark.parametrize("changed", OTHERS)
@pytest.mark.parametrize("name", [*REGISTRY, *PRESETS])
def test_other_contents_of_the_same_size_are_refused(name, changed, tmp_path):
    """Otherwise a bound that was proven for other data would be called a proof."""
    path = tmp_path / "run"
    fit(*registered(name), stop=Stop(epochs=1, gap=None), checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(WidemarginError, match=r"belongs to another run: .* gold outputs or costs have changed"):
        fit(*registered(name, OTHERS[changed]), checkpoint=path, resume=True)
    assert path.read_bytes() == before


def test_without_a_checkpoint_nothing_is_digested(monkeypatch):
    monkeypatch.setattr("hashlib.blake2b", None)
    monkeypatch.setattr("widemargin.core.contents.blake2b", None)
    fit(training(Perceptron()), Perceptron(), stop=Stop(epochs=1))


@pytest.mark.parametrize("solver", [DCD, Perceptron(batch_size=2)])
def test_patience_and_proofs_go_on_counting(solver, tmp_path):
    scores = [0.1, 0.5, 0.3, 0.5, 0.4, 0.2, 0.1]

    def scripted(done):
        left = iter(scores[done:])
        return lambda w: next(left)

    stop, path = Stop(epochs=None, gap=None, patience=3), tmp_path / "run"
    whole = fit(training(solver, C=0.02), solver, stop=stop, score=scripted(0))
    fit(training(solver, C=0.02), solver, stop=Stop(epochs=3, gap=None), score=scripted(0), checkpoint=path)
    resumed = fit(training(solver, C=0.02), solver, stop=stop, score=scripted(3), checkpoint=path, resume=True)
    assert (whole.stopped, whole.epoch) == ("patience", 4)
    assert_same(resumed, whole)


@pytest.mark.parametrize("audit", [False, True])
@pytest.mark.parametrize("solver", [DCD, Perceptron(batch_size=2)])
def test_gaps_and_audits(solver, audit, tmp_path):
    options = {"audit": audit, "checkpoint": tmp_path / "run"}
    whole = fit(training(solver), solver, stop=Stop(epochs=12, gap=1e-3), audit=audit)
    fit(training(solver), solver, stop=Stop(epochs=3, gap=1e-3), **options)
    assert_same(fit(training(solver), solver, stop=Stop(epochs=12, gap=1e-3), resume=True, **options), whole)


@pytest.mark.parametrize("memory", [0.002, 1024.0])
def test_a_small_budget_of_memory(memory, tmp_path):
    """Cuts are merged on the way, and slots have been vacated."""

    def make():
        return problem("strong", cut_memory=memory)[0]

    whole = fit(make(), DCD, stop=Stop(epochs=20, gap=None))
    fit(make(), DCD, stop=Stop(epochs=11, gap=None), checkpoint=tmp_path / "run")
    assert_same(fit(make(), DCD, stop=Stop(epochs=20, gap=None), checkpoint=tmp_path / "run", resume=True), whole)


def test_seconds_go_on_counting(tmp_path):
    path = tmp_path / "run"
    first = fit(training(DCD), DCD, stop=Stop(epochs=3, gap=None), checkpoint=path)
    second = fit(training(DCD), DCD, stop=Stop(epochs=4, gap=None), checkpoint=path, resume=True)
    assert second.trace[:3] == first.trace
    assert second.trace[3].seconds > first.trace[2].seconds
    over = fit(training(DCD), DCD, stop=Stop(seconds=first.trace[2].seconds, gap=None), checkpoint=path, resume=True)
    assert over.stopped == "seconds"


def test_a_missing_file_is_a_fresh_start_and_no_resume_too(tmp_path):
    path, stop = tmp_path / "run", Stop(epochs=2, gap=None)
    whole = fit(training(DCD), DCD, stop=stop)
    for resume in (True, False, False):
        assert_same(fit(training(DCD), DCD, stop=stop, checkpoint=path, resume=resume), whole)
    with pytest.raises(WidemarginError, match="nothing to resume from without a checkpoint"):
        fit(training(DCD), DCD, resume=True)


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.SFC64])
def test_any_random_generator(kind, tmp_path):
    def make():
        return np.random.Generator(kind(5))

    path = tmp_path / "run"
    whole = fit(training(DCD), DCD, stop=Stop(epochs=4, gap=None), seed=make())
    fit(training(DCD), DCD, stop=Stop(epochs=2, gap=None), seed=make(), checkpoint=path)
    options = {"stop": Stop(epochs=4, gap=None), "checkpoint": path, "resume": True}
    assert_same(fit(training(DCD), DCD, seed=make(), **options), whole)
    other = np.random.Generator(np.random.Philox(1))
    with pytest.raises(WidemarginError, match=f"needs a generator of the kind {kind.__name__}"):
        fit(training(DCD), DCD, seed=other, **options)


@pytest.mark.parametrize(
    ("changes", "solver", "message"),
    [
        ({"C": 3.0}, DCD, "its C is 2.0, not 3.0"),
        ({"sample_weight": np.arange(9.0)}, DCD, "its digest of the sample weights is"),
        ({}, DualCoordinateDescent(batch_size=3), "its solver is DualCoordinateDescent"),
        ({}, Perceptron(), r"not Perceptron\(batch_size=None\)"),
    ],
)
def test_what_belongs_to_another_run_is_refused(changes, solver, message, tmp_path):
    path = tmp_path / "run"
    fit(training(DCD), DCD, stop=Stop(epochs=1, gap=None), checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(WidemarginError, match=f"belongs to another run: .*{message}"):
        fit(problem("chain", **{"C": 2.0} | changes)[0], solver, checkpoint=path, resume=True)
    assert path.read_bytes() == before


def test_other_data_and_losses_are_refused(tmp_path):
    path = tmp_path / "run"
    fit(training(DCD), Perceptron(), stop=Stop(epochs=1), checkpoint=path)
    for name, changes in (("strong", {}), ("chain", {"loss": "hinge"})):
        with pytest.raises(WidemarginError, match="belongs to another run"):
            fit(problem(name, C=2.0, **changes)[0], Perceptron(), checkpoint=path, resume=True)


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "run"
    options = {"stop": Stop(epochs=2, gap=None), "checkpoint": path}
    fit(training(DCD), DCD, **options)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    spoilt = [b"", b"nonsense", whole[: len(whole) // 2], whole + b"x"]
    places = [*rng.integers(whole.index(b"content"), len(whole), size=40), len(whole) - 1]
    spoilt += [whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in places]
    for content in spoilt:
        path.write_bytes(content)
        with pytest.raises(WidemarginError):
            fit(training(DCD), DCD, resume=True, **options)
        assert path.read_bytes() == content
    header, arrays = {"structure": "chain"}, {"weights": np.zeros(3)}
    write_model(path, header, arrays)
    with pytest.raises(ModelFileError, match="is a model, not a checkpoint"):
        fit(training(DCD), DCD, resume=True, **options)
    write_model(path, {"structure": "checkpoint", "version": module.VERSION + 1}, arrays)
    with pytest.raises(ModelFileError, match=r"was written by widemargin .*; start afresh"):
        fit(training(DCD), DCD, resume=True, **options)


def test_a_state_of_another_form_is_refused(tmp_path):
    """As an older version of a solver may have had it."""
    path = tmp_path / "run"
    fit(training(DCD), DCD, stop=Stop(epochs=1, gap=None), checkpoint=path)
    with pytest.raises(ModelFileError, match="does not fit this version"):
        Checkpoint(path, training(DCD), DCD).read(Everything())


def test_nothing_is_half_written(tmp_path, monkeypatch):
    path = tmp_path / "run"
    options = {"stop": Stop(epochs=2, gap=None), "checkpoint": path}
    fit(training(DCD), DCD, **options)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(WidemarginError, match="run cannot be written: No space left on device"):
        fit(training(DCD), DCD, **options)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


def test_writes_are_as_seldom_as_wished(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(module, "write_model", lambda path, header, arrays: written.append(header))
    for seconds, expected in ((0.0, 5), (1e9, 1)):
        written.clear()
        options = {"checkpoint": tmp_path / "run", "checkpoint_seconds": seconds}
        fit(training(DCD), DCD, stop=Stop(epochs=5, gap=None), **options)
        assert len(written) == expected
    with pytest.raises(WidemarginError, match="checkpoint_seconds must be a number of at least 0"):
        fit(training(DCD), DCD, checkpoint=tmp_path / "run", checkpoint_seconds=-1.0)


@dataclass
class Inner:
    matrix: np.ndarray = field(default_factory=lambda: np.zeros((2, 3)))
    flags: np.ndarray = field(default_factory=lambda: np.zeros(2, dtype=bool))


@dataclass
class Everything:
    """A state with all that a state may have."""

    empty: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    inner: Inner = field(default_factory=Inner)
    perhaps: np.ndarray | None = None
    number: float = 0.0
    count: int = 0
    done: bool = False
    name: str = ""


def test_packing_takes_every_form(tmp_path):
    state = Everything(
        inner=Inner(np.arange(6.0).reshape(2, 3), np.array([True, False])),
        perhaps=np.arange(3, dtype=np.int32),
        number=np.float64(0.1),
        count=np.int64(7),
        done=True,
        name="é",
    )
    arrays = {}
    packed = pack(state, "state", arrays)
    write_model(tmp_path / "state", {"content": packed}, arrays)
    header, read = read_model(tmp_path / "state")
    found = unpack(header["content"], Everything(), read)
    assert packed == json.loads(json.dumps(packed))
    for one, other in ((found, state), (found.inner, state.inner)):
        for name, value in vars(other).items():
            if isinstance(value, np.ndarray):
                assert np.array_equal(getattr(one, name), value)
                assert getattr(one, name).dtype == value.dtype
                assert getattr(one, name).flags.writeable
            elif name != "inner":
                assert getattr(one, name) == value
    with pytest.raises(UnsupportedError, match=r"a checkpoint cannot hold run\.state, a function"):
        pack(Moment(lambda: None), "run", {})
