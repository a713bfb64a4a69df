"""Tagging with one of CRFsuite's models: `widemargin.crfsuite.Tagger` and python-crfsuite on the same file.

    python benchmarks/crfsuite_tagging.py [MODEL] [--sequences 300] [--runs 15] [--out bench/crfsuite_tagging.json]

Without a MODEL, one is trained by python-crfsuite on generated addresses. Both taggers are asked in turn, run by run;
times are medians in microseconds per sequence, or per call where that is said. Labels must be the same.

| row | one call |
| --- | --- |
| open | open the file, read for the first time in a process, and again |
| names, dicts, nested | `tag` of a sequence: lists of names; dicts of strings and bools; dicts within dicts |
| marginals | `set`, and `marginal` of every label at every position |
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import pycrfsuite

import widemargin.crfsuite as ours
from widemargin.crfsuite import models
from widemargin.data.generators import addresses

START = """
import time; begin = time.perf_counter()
import {module} as crfsuite
tagger = crfsuite.Tagger()
tagger.open({path!r})
tagger.tag([["bias"], {{"lower": "street"}}])
print(time.perf_counter() - begin)
"""


def word(token: str) -> dict[str, Any]:
    return {"lower": token.lower(), "end": token[-3:], "digits": token.isdigit(), "title": token.istitle()}


def nested(tokens: list[str]) -> list[dict[str, Any]]:
    """Features in the style of parserator: each word with those before and after it."""
    items = [word(token) for token in tokens]
    return [
        {**item, **({"previous": items[t - 1]} if t else {}), **({"next": items[t + 1]} if t + 1 < len(items) else {})}
        for t, item in enumerate(items)
    ]


def dicts(tokens: list[str]) -> list[dict[str, Any]]:
    return [{name.replace(":", "-"): value for name, value in item.items() if value} for item in flat(tokens)]


def flat(tokens: list[str]) -> list[dict[str, float]]:
    found: list[dict[str, float]] = ours.ItemSequence(nested(tokens)).items()
    return found


def names(tokens: list[str]) -> list[list[str]]:
    return [[name for name, value in item.items() if value] for item in flat(tokens)]


def trained(path: str) -> None:
    trainer = pycrfsuite.Trainer("lbfgs", {"max_iterations": 30, "c1": 0.1}, verbose=False)
    for tokens, labels in zip(*addresses(2000, seed=1), strict=True):
        trainer.append(nested(tokens), labels)
    trainer.train(path)


def in_turn(calls: dict[str, Callable[[], Any]], n: int, runs: int) -> dict[str, float]:
    """The median time of each call, in microseconds for each of `n`."""
    seconds: dict[str, list[float]] = {who: [] for who in calls}
    for _ in range(runs + 1):
        for who, call in calls.items():
            begin = perf_counter()
            call()
            seconds[who].append(perf_counter() - begin)
    return {who: 1e6 * median(each[1:]) / n for who, each in seconds.items()}


def tagged(tagger: Any, sequences: list[Any]) -> list[list[str]]:
    return [tagger.tag(sequence) for sequence in sequences]


def marginals(tagger: Any, sequences: list[Any]) -> list[float]:
    labels, found = tagger.labels(), []
    for sequence in sequences:
        tagger.set(sequence)
        found += [tagger.marginal(label, t) for t in range(len(sequence)) for label in labels]
    return found


def fresh(module: str, path: str) -> float:
    """Milliseconds until the first answer in a fresh process."""
    code = START.format(module=module, path=path)
    return 1000 * float(
        subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout
    )


def measured(path: str, n: int, runs: int) -> dict[str, dict[str, float]]:
    """All rows."""
    taggers = {"peer": pycrfsuite.Tagger(), "ours": ours.Tagger()}
    rows = {"open": in_turn({who: partial(opened, tagger, path) for who, tagger in taggers.items()}, 1, runs)}
    rows["open again"] = in_turn({who: partial(each.open, path) for who, each in taggers.items()}, 1, runs)
    tokens = addresses(n, seed=2)[0]
    for form in (names, dicts, nested):
        sequences = [form(each) for each in tokens]
        theirs, mine = (tagged(each, sequences) for each in taggers.values())
        assert mine == theirs, f"{form.__name__}: other labels"
        calls = {who: partial(tagged, each, sequences) for who, each in taggers.items()}
        rows[form.__name__] = in_turn(calls, n, runs)
    few = [nested(each) for each in tokens[:30]]
    differences = (abs(a - b) for a, b in zip(*(marginals(each, few) for each in taggers.values()), strict=True))
    print(f"marginals differ by at most {max(differences):.2g}")
    rows["marginals"] = in_turn({who: partial(marginals, each, few) for who, each in taggers.items()}, 30, runs)
    modules = {"peer": "pycrfsuite", "ours": "widemargin.crfsuite"}
    times = {who: [1000 * fresh(module, path) for _ in range(5)] for who, module in modules.items()}
    rows["first answer of a process"] = {who: median(each) for who, each in times.items()}
    return rows


def opened(tagger: Any, path: str) -> None:
    models._recent.clear()
    tagger.open(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", metavar="MODEL")
    parser.add_argument("--sequences", type=int, default=300)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.model or str(Path(folder) / "addresses.crfsuite")
        if given.model is None:
            trained(path)
            sleep(2.5)  # a file that was written just now is read again every time
        rows = measured(path, given.sequences, given.runs)
    print(f"{'':28} {'python-crfsuite':>16} {'widemargin':>12} {'ratio':>7}")
    for name, row in rows.items():
        print(f"{name:28} {row['peer']:16,.1f} {row['ours']:12,.1f} {row['ours'] / row['peer']:7.2f}")
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
