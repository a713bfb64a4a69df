"""What first runs cost: compiling with an empty cache, and the fixed costs of a process that finds its kernels there.

    python benchmarks/first_run.py [--runs 3] [--out bench/first_run.json]

Every measurement is a process of its own. Seconds of the clock and of the processor are reported: beside other work
only the latter mean anything.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

TREES = "from widemargin.data.treebanks import treebank; b = treebank(9); "
FITS = {
    "tagger": "w.SequenceTagger(), [['a', 'b']] * 9, [['A', 'B']] * 9",
    "dependency parser": "w.DependencyParser(), b.columns, b.arcs",
    "segmenter": "w.Segmenter(), [['a', 'b', 'c']] * 9, [['B-A', 'I-A', 'O']] * 9",
    "constituency parser": "w.ConstituencyParser(), b.columns, b.trees",
    "linear classifier": "w.LinearClassifier(), [[k % 2, k % 3, k % 5] for k in range(30)], ['even', 'odd'] * 15",
}
REACH = {
    "tagger": 8.0,
    "dependency parser": 15.0,
    "segmenter": 12.0,
    "constituency parser": 12.0,
    "linear classifier": 4.0,
}
FIT = "import widemargin as w; " + TREES + "estimator, X, y = {}; estimator.fit(X, y).predict(X)"
ADDRESSES = """
from time import process_time
begin = process_time()
import widemargin as w
from widemargin.data.generators import addresses
tagger, (X, y) = w.SequenceTagger(), addresses(500)
imported = process_time()
tagger.fit(X, y)
first = process_time()
tagger.fit(X, y)
second = process_time()
tagger.save({!r})
print(imported - begin, first - imported, second - first, process_time() - second)
"""


class Seconds(NamedTuple):
    """Of a process: on the clock, and of the processor."""

    wall: float
    cpu: float


def measured(*arguments: str, cache: Path, text: str = "") -> tuple[Seconds, str]:
    """Run a process to its end; what it took, and what it printed."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(arguments, input=text, encoding="utf-8", check=True, env=environment, stdout=subprocess.PIPE)
    wall, after = perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Seconds(wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime), done.stdout


def typical(runs: int, *arguments: str, cache: Path, text: str = "") -> Seconds:
    """The medians of several runs."""
    found = [measured(*arguments, cache=cache, text=text)[0] for _ in range(runs)]
    return Seconds(*(median(each) for each in zip(*found, strict=True)))


def first_fit(name: str, folder: Path, runs: int) -> Seconds:
    """What the first fit costs more than later ones."""
    command, cache = (sys.executable, "-c", FIT.format(FITS[name])), folder / name
    cold, _ = measured(*command, cache=cache)
    warm = typical(runs, *command, cache=cache)
    return Seconds(cold.wall - warm.wall, cold.cpu - warm.cpu)


def fixed_costs(folder: Path, runs: int) -> dict[str, float]:
    """Seconds of the processor in a process with a warm cache, by part; 500 addresses."""
    command, cache = (sys.executable, "-c", ADDRESSES.format(str(folder / "model.wm"))), folder / "addresses"
    measured(*command, cache=cache)
    parts = zip(*(map(float, measured(*command, cache=cache)[1].split()) for _ in range(runs)), strict=True)
    imported, first, second, saved = map(median, parts)
    return {"import": imported, "first fit": first, "second fit": second, "save": saved}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tasks", nargs="+", choices=list(FITS), default=list(FITS))
    parser.add_argument("--out", type=Path, default=Path("bench/first_run.json"))
    options = parser.parse_args()
    rows: list[tuple[str, str, Seconds | float, Callable[[float], bool]]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in options.tasks:
            goal = REACH[name]
            found = first_fit(name, folder, options.runs)
            rows.append((f"first fit, {name}", f"≤ {goal:g}", found, lambda value, goal=goal: value <= goal))
        costs = fixed_costs(folder, options.runs)
        program = (sys.executable, "-m", "widemargin")
        predict = (*program, "predict", str(folder / "model.wm"), "-", "--text")
        sentence, cache = "Time flies like an arrow\n", folder / "addresses"
        measured(*predict, cache=cache, text=sentence)
        version = typical(options.runs, *program, "--version", cache=cache)
        one = typical(options.runs, *predict, cache=cache, text=sentence)
    rows.append(("widemargin --version", "≤ 0.3", version, lambda value: value <= 0.3))
    rows.append(("one sentence through predict", "≤ 1.5", one, lambda value: value <= 1.5))
    more = costs["first fit"] - costs["second fit"]
    rows.append(("first fit of a process, warm cache, more than the second", "≤ 0.1", more, lambda value: value <= 0.1))
    rows += [(f"500 addresses: {part}", "", costs[part], lambda _: True) for part in costs]
    print("| seconds | reach | clock | processor | |\n| --- | --- | ---: | ---: | --- |")
    for name, goal, value, reached in rows:
        wall, cpu = value if isinstance(value, Seconds) else (float("nan"), value)
        print(f"| {name} | {goal} | {wall:.2f} | {cpu:.2f} | {('✓' if reached(cpu) else '✗') if goal else ''} |")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({name: value for name, _, value, _ in rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
