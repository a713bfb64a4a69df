"""Damages arrays and numbers of checkpoints, makes the digest fit, and resumes; a program of its own: it may crash.

    python tests/helpers/damage.py SEED DAMAGES [SOLVER …]

Each line that it prints is what it is about to damage, then what came of it: a sentence of the library's, "honest" or
"unproven", "FALSE" for a bound above the optimum, "RAW" for an error of Python's. Lines end with "trusted" where only
the digest of the file vouches for what was damaged.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from safetensors.numpy import save

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers import random_chain, taken_by
from widemargin.core.checkpoint import digest
from widemargin.core.loop import Stop, fit
from widemargin.core.model_file import ENTRY, read_model
from widemargin.core.problem import Problem
from widemargin.errors import WidemarginError
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import SOLVERS

ODD = {
    "f": [0.0, -1.0, 1e-300, 1e300, np.inf, -np.inf, np.nan, 0.5, 2.0],
    "i": [-1, 0, 1, 2, 7, 100, 2**31 - 1, -(2**31), 12345678],
    "b": [True, False],
}
TRUSTED = (".b", ".values", ".indices", ".u", ".sums", ".bound", ".best", ".least", "run.found", "run.trace")
"""What cuts are, and the best bound so far: nothing else in the file says whether they are right."""


def damaged(array, rng):
    """A copy with an entry, or several, changed, or of another length."""
    array = array.copy()
    kind = {"u": "i"}.get(array.dtype.kind, array.dtype.kind)
    how = rng.integers(6)
    if how == 0 or not array.size:
        return np.resize(array, (int(rng.integers(2 * len(array) + 3)), *array.shape[1:]))
    flat = array.reshape(-1)
    where = rng.integers(array.size, size=1 if how < 4 else array.size)
    if how == 1 and kind != "b":
        with np.errstate(all="ignore"):
            flat[where] = flat[where] + rng.choice([-1, 1])
    elif how == 2 and kind == "f":
        flat[where] *= rng.choice([-1.0, 1.0 + 1e-3, 3.0])
    elif how == 3:
        flat[where] = flat[rng.integers(array.size)]
    else:
        low = np.iinfo(array.dtype).min if kind == "i" else None
        values = [each for each in ODD[kind] if low is None or low <= each <= np.iinfo(array.dtype).max]
        flat[where] = rng.choice(values)
    return array


def numbers(content, path=()):
    """Where the header has a number of the state."""
    if isinstance(content, dict):
        for key, each in content.items():
            yield from numbers(each, (*path, key))
    elif isinstance(content, int | float) and path[-1:] == ("value",) and not isinstance(content, bool):
        yield path


def name_of(path):
    return ".".join(["run", *path[1:-1:2]])


class Run:
    """A run of three epochs, of which the last is repeated from damaged checkpoints."""

    def __init__(self, name, path):
        self.name, self.path, self.solver = name, path, SOLVERS[name]
        smooth = "maximum" not in self.solver.kinds
        examples = random_chain(3, [2, 3, 1, 4, 3, 2], costs=not smooth).compiled()
        objective = OBJECTIVES["likelihood" if smooth else "margin"]
        self.problem = Problem(examples, objective, C=2.0, **taken_by(self.solver), keep_parts=True)
        exact = {"lbfgs": "lbfgs"}.get(name, "proximal" if self.problem.penalty == "l1" else "interior")
        best = fit(self.problem, SOLVERS[exact], stop=Stop(epochs=500, gap=1e-8))
        self.least = best.primal
        fit(self.problem, self.solver, stop=Stop(epochs=3, gap=None), checkpoint=path)
        self.header, arrays = read_model(path)
        self.arrays = {key: each.copy() for key, each in arrays.items()}

    def outcome(self, content, arrays):
        sealed = {**self.header, "content": content, "digest": digest(content, arrays)}
        self.path.write_bytes(save(arrays, {ENTRY: json.dumps(sealed)}))
        try:
            found = fit(self.problem, self.solver, stop=Stop(epochs=5, gap=None), checkpoint=self.path, resume=True)
        except WidemarginError as error:
            return str(error).replace("\n", " ")
        except Exception as error:
            return f"RAW {error!r}"
        if not found.certified:
            return "unproven"
        return "honest" if found.dual is None or found.dual <= self.least * (1.0 + 1e-6) + 1e-9 else "FALSE"

    def damage(self, rng):
        """Damage one thing; print what, resume, and print what came of it."""
        scalars = list(numbers(self.header["content"]))
        pick = int(rng.integers(len(self.arrays) + len(scalars)))
        content, arrays = self.header["content"], dict(self.arrays)
        if pick < len(arrays):
            what = sorted(arrays)[pick]
            arrays[what] = damaged(arrays[what], rng)
        else:
            path = scalars[pick - len(arrays)]
            what = name_of(path)
            content = json.loads(json.dumps(content))
            place = content
            for key in path[:-1]:
                place = place[key]
            value = place["value"]
            place["value"] = type(value)(rng.choice([-1, 0, 1, 3, 2**40])) if rng.integers(2) else value * 2 - 1
        trusted = "trusted" if any(what.endswith(each) or each in what for each in TRUSTED) else ""
        sys.stdout.write(f"{self.name} {what}: ")
        sys.stdout.flush()
        sys.stdout.write(f"{self.outcome(content, arrays)} {trusted}\n")


def main(seed, damages, *names):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(int(seed))
    with tempfile.TemporaryDirectory() as folder:
        for name in names or SOLVERS:
            run = Run(name, Path(folder) / "run")
            for _ in range(int(damages)):
                run.damage(rng)


if __name__ == "__main__":
    main(*sys.argv[1:])
