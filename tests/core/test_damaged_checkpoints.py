"""Damaged checkpoints: resuming either works or says in one sentence what is wrong, even if the digest fits."""

import json
import math
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from helpers import problem
from helpers.models import places, replaced, without
from widemargin.core.checkpoint import Checkpoint, digest
from widemargin.core.loop import Stop, fit
from widemargin.core.model_file import ENTRY, read_model, write_model
from widemargin.core.packing import pack, unpack
from widemargin.errors import ModelFileError, WidemarginError
from widemargin.solvers import SOLVERS

ODD = [None, True, -1, 10**30, 0.5, math.nan, "", "x", [], [1], {}, {"a": 1}, {"value": 1.5}, {"array": "run.state.w"}]


class Run:
    """A run of two epochs with its checkpoint, of which the third is to be run."""

    def __init__(self, name, path):
        self.solver, self.path = SOLVERS[name], path
        self.problem = problem("chain", loss=self.solver.losses[0], C=2.0)[0]
        self.fit(2)
        self.header, arrays = read_model(path)
        self.arrays = {name: each.copy() for name, each in arrays.items()}  # the file itself is overwritten in place

    def fit(self, epochs, resume=False):
        options = {"score": lambda w: 0.0, "checkpoint": self.path, "resume": resume}
        fit(self.problem, self.solver, stop=Stop(epochs=epochs, gap=None), **options)

    def outcome(self, header):
        """None if a checkpoint with this header can be read, or the sentence that says why not."""
        self.path.write_bytes(save(self.arrays, {ENTRY: json.dumps(header)}))  # not with `write_model`, which syncs
        try:
            Checkpoint(self.path, self.problem, self.solver).read(self.solver.start(self.problem))
        except WidemarginError as error:
            sentence = str(error)
        else:
            return None
        assert "\n" not in sentence
        return sentence

    def sealed(self, content):
        """The outcome of these contents with a digest that fits, as if they were of another version."""
        return self.outcome({**self.header, "content": content, "digest": digest(content, self.arrays)})


@pytest.fixture(params=["dcd", "one-slack", "perceptron", "adagrad", "sgd"])
def run(request, tmp_path):
    return Run(request.param, tmp_path / "run")


def test_every_field_of_every_other_type(run):
    for place in [each for each in places(run.header) if len(each) == 1]:
        for value in ODD:
            run.outcome(replaced(run.header, place, value))
        run.outcome(without(run.header, place))


def test_every_field_of_the_state_of_every_other_type_with_a_digest_that_fits(run):
    content = run.header["content"]
    assert run.sealed(content) is None
    # One row of the trace says as much as all of them.
    for place in [each for each in places(content) if each and each[:4] != ("fields", "trace", "value", 1)]:
        for value in ODD:
            run.sealed(replaced(content, place, value))
        run.sealed(without(content, place))


def test_names_of_tensors_may_be_anything(tmp_path):
    run = Run("dcd", tmp_path / "run")
    named = {**run.arrays, "\ud800": np.zeros(1)}
    content = path_bytes(run, named)
    run.path.write_bytes(content)
    with pytest.raises(ModelFileError, match="do not match its digest"):
        run.fit(3, resume=True)


def path_bytes(run, arrays):
    """The file with one more tensor, whose name a writer of safetensors would refuse."""
    write_model(run.path, run.header, {("odd" if name == "\ud800" else name): each for name, each in arrays.items()})
    content = run.path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    text = content[8 : 8 + size].replace(b'"odd"', b'"\\ud800"')
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


@dataclass
class State:
    """A state as users write them."""

    step: float = 0
    norm: float = field(default_factory=lambda: np.float64(0.0))
    best: np.ndarray | None = field(default_factory=lambda: np.zeros(2))
    history: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))


def test_states_of_users_own_solvers_come_back():
    arrays = {}
    packed = pack(State(0.5, np.float64(1.5), None, np.ones((3, 2))), "run", arrays)
    found = unpack(packed, State(), arrays)
    assert (found.step, found.norm, found.best, found.history.tolist()) == (0.5, 1.5, None, [[1.0, 1.0]] * 3)


def test_a_misfit_names_the_field(tmp_path):
    run = Run("dcd", tmp_path / "run")
    fields = ("fields", "state", "fields")
    sentence = run.sealed(without(run.header["content"], (*fields, "gap")))
    assert "run.state does not have the fields w, store, cap, ridge, gap, epochs, warm; start afresh" in sentence
    sentence = run.sealed(replaced(run.header["content"], (*fields, "w"), {"array": "run.state.cap"}))
    assert "run.state.w is float64 of shape (9,), not float64 of" in sentence
    sentence = run.sealed(replaced(run.header["content"], ("fields", "trace", "value", 0, 5), -1))
    assert sentence.endswith("run.trace.0.5 is -1, not a finite number of at least 0")


LINKS = ("first", "size", "after", "begin", "end", "tail", "place", "indices", "tally")


@pytest.mark.parametrize("name", ["dcd", "auto", "one-slack"])
def test_every_link_range_place_and_index_of_cuts_is_checked(name, tmp_path):
    """What is not refused makes no difference: the cuts are the same, with the same α.

    Cached cuts without α are in no sum that could be checked, so their indices may be any that are weights.
    """
    run, key = Run(name, tmp_path / "run"), "run.state.cache" if name == "one-slack" else "run.state.store"

    def cuts():
        state = Checkpoint(run.path, run.problem, run.solver).read(run.solver.start(run.problem)).state
        store = state.cache if name == "one-slack" else state.store
        slots, found = store.everything()
        assert np.isin(found.a.indices, np.arange(run.problem.n_weights)).all()
        indices = np.empty(0) if name == "one-slack" else found.a.indices
        return [*found[:2], found.a.indptr, indices, found.a.values, store.sets.alpha[slots], store.sets.norm[slots]]

    assert run.sealed(run.header["content"]) is None
    expected = cuts()
    for part in LINKS:
        whole = run.arrays[f"{key}.{part}"]
        for place in range(min(len(whole), 40)):
            for value in (-2, -1, 0, 1, len(whole), 10**6, 2**31 - 1):
                run.arrays[f"{key}.{part}"] = whole.copy()
                run.arrays[f"{key}.{part}"][place] = value
                if run.sealed(run.header["content"]) is None:
                    assert all(map(np.array_equal, cuts(), expected))
        run.arrays[f"{key}.{part}"] = whole


@pytest.mark.parametrize(
    ("part", "value", "complaint"),
    [
        ("w", 1e3, "has weights that are not those of its cuts"),
        ("cap", 7.0, "has limits of α that are not those of the problem"),
        ("ridge", 1e-9, "has limits of α that are not those of the problem"),
        ("point", np.zeros(3), "run.state.point has 3 entries, not"),
        ("cached_gap", np.zeros(100), "run.state.cached_gap has 100 entries, not 9"),
        ("store.mass", 0.0, "has sums of α that are not the sums of its α"),
        ("store.alpha", -1.0, "has cuts with a negative α"),
        ("store.norm", 1e9, "impossible numbers"),
        ("store.values", np.nan, "impossible numbers"),
        ("store.b", np.inf, "has cuts whose b is not a number"),
    ],
)
def test_what_bounds_are_made_of_is_checked(part, value, complaint, tmp_path):
    run = Run("auto", tmp_path / "run")
    array = run.arrays[f"run.state.{part}"]
    run.arrays[f"run.state.{part}"] = value if isinstance(value, np.ndarray) else np.full_like(array, value)
    assert complaint in run.sealed(run.header["content"])


@pytest.mark.slow
def test_damages_with_a_digest_that_fits_neither_crash_nor_prove():
    """In a process of its own; `tests/helpers/damage.py` says what its lines mean."""
    program = [sys.executable, Path(__file__).parents[1] / "helpers" / "damage.py", "2", "8"]
    found = subprocess.run(program, capture_output=True, encoding="utf-8", check=False)
    lines = found.stdout.splitlines()
    assert (found.returncode, len(lines)) == (0, 8 * len(SOLVERS)), found.stdout[-200:] + found.stderr
    assert not [line for line in lines if "RAW" in line or line.endswith("FALSE ")]


def test_averages_and_patience_of_no_run_are_refused(tmp_path):
    run = Run("dcd", tmp_path / "run")
    content = run.header["content"]
    assert content["fields"]["average"] == {"array": "run.average"}
    assert "run.waited is -1, not a whole number" in run.sealed(replaced(content, ("fields", "waited", "value"), -1))
    run.arrays["run.average"] = np.zeros(3)
    assert "run.average is" in run.sealed(content)
