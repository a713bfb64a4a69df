"""Measure this checkout against another one: the same work in alternating processes, the ratio of the medians.

    git worktree add ../before REVISION
    python benchmarks/against.py ../before [--rows tags parse …] [--runs 5] [--data DIR]
                                 [--cache DIR] [--out bench/against.json]

Seconds are those of the processor, so that other work on the machine disturbs less; `first …` rows start with an empty
kernel cache, all others with a full one. `same` says whether both sides found the same: oracle calls and objectives to
nine digits, or predictions. The rows use nothing but public names, so they run on most versions.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

HERE = Path(__file__).resolve()
FIRST = "first "
"""Rows that begin so compile."""


def spent(work: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """The median seconds of several goes, behind one that loads the kernels, and what came of it."""
    found, result = [], work()
    for _ in range(times):
        begin = process_time()
        result = work()
        found.append(process_time() - begin)
    return median(found), result


def proof(estimator: Any) -> str:
    solution = estimator.solution_
    return f"{solution.oracle_calls} {solution.primal:.9g}"


def digest(result: Any) -> str:
    return hashlib.sha256(repr(result).encode()).hexdigest()[:12]


def words_and(data: Path, name: str, label: str, n: int | None = None) -> tuple[Any, Any]:
    from widemargin.files.formats import read

    found = read(data / name).columns
    return found.sequences("word")[:n], found.sequences(label)[:n]


def fit_row(make: Callable[[], Any], X: Any, y: Any, times: int = 1) -> tuple[float, str]:
    seconds, fitted = spent(lambda: make().fit(X, y), times)
    return seconds, proof(fitted)


def tags(data: Path) -> tuple[float, str]:
    """A default fit on EWT."""
    import widemargin as wm

    return fit_row(wm.SequenceTagger, *words_and(data, "ud-english-ewt/train.conllu", "xpos", 6000))


def spans(data: Path) -> tuple[float, str]:
    """A default fit on ncbi-disease."""
    import widemargin as wm

    return fit_row(wm.SequenceTagger, *words_and(data, "ncbi-disease/train.tsv", "label"))


def small(data: Path) -> tuple[float, str]:
    """20 addresses, whole fits."""
    import widemargin as wm
    from widemargin.data.generators import addresses

    return fit_row(wm.SequenceTagger, *addresses(20), times=15)


def likelihood(data: Path) -> tuple[float, str]:
    import widemargin as wm

    given = words_and(data, "ncbi-disease/train.tsv", "label", 2000)
    return fit_row(lambda: wm.SequenceTagger(solver="lbfgs", objective="likelihood", max_epochs=25), *given)


def slack(data: Path) -> tuple[float, str]:
    import widemargin as wm

    given = words_and(data, "ncbi-disease/train.tsv", "label", 800)
    return fit_row(lambda: wm.SequenceTagger(objective="approximate-slack", max_epochs=6), *given)


def positions(data: Path) -> tuple[float, str]:
    import widemargin as wm

    given = words_and(data, "ncbi-disease/train.tsv", "label", 1000)
    return fit_row(lambda: wm.SequenceTagger(objective="positions", max_epochs=6), *given)


def segments(data: Path) -> tuple[float, str]:
    import widemargin as wm

    given = words_and(data, "ncbi-disease/train.tsv", "label", 2000)
    return fit_row(lambda: wm.Segmenter(max_epochs=6), *given)


def treebank(data: Path, n: int) -> tuple[Any, Any]:
    """Sentences of EWT as words with tags, and their arcs."""
    from widemargin.files.formats import read

    found = read(data / "ud-english-ewt/train.conllu").columns
    names = ("word", "xpos", "head", "deprel")
    rows = list(zip(*(found.sequences(name)[:n] for name in names), strict=True))
    X = [[{"word": w, "pos": p} for w, p in zip(words, pos, strict=True)] for words, pos, _, _ in rows]
    y = [[(int(h), label) for h, label in zip(heads, labels, strict=True)] for _, _, heads, labels in rows]
    return X, y


def parse(data: Path, **options: Any) -> tuple[float, str]:
    import widemargin as wm

    made = lambda: wm.DependencyParser(tags="given", max_epochs=3, **options)  # noqa: E731
    return fit_row(made, *treebank(data, 1500))


def parse_second(data: Path) -> tuple[float, str]:
    return parse(data, order=2)


def parse_grand(data: Path) -> tuple[float, str]:
    import widemargin as wm

    made = lambda: wm.DependencyParser(tags="given", max_epochs=2, order="grandsiblings")  # noqa: E731
    return fit_row(made, *treebank(data, 300))


def bracket(data: Path) -> tuple[float, str]:
    import widemargin as wm
    from widemargin.files.brackets import columns_of
    from widemargin.files.formats import read

    trees = read(data / "genia-treebank/train.ptb").trees[:400]
    return fit_row(lambda: wm.ConstituencyParser(tags="given", max_epochs=2), columns_of(trees), trees)


def classify(data: Path) -> tuple[float, str]:
    import numpy as np

    import widemargin as wm

    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 60))
    y = np.argmax(X @ rng.normal(size=(60, 8)) + rng.normal(size=(5000, 8)), axis=1)
    return fit_row(wm.LinearClassifier, X, y)


def requests(estimator: Any, X: Any, y: Any, new: Any) -> tuple[float, str]:
    """Seconds of one request."""
    model = estimator.fit(X, y).model_
    seconds, found = spent(lambda: [model.predict([each]) for each in new], 9)
    return seconds / len(new), digest(found)


def one_tagged(data: Path) -> tuple[float, str]:
    import widemargin as wm

    X, y = words_and(data, "ud-english-ewt/train.conllu", "xpos", 1500)
    return requests(wm.SequenceTagger(max_epochs=3), X[:1000], y[:1000], [x for x in X[1000:] if 10 <= len(x) <= 20])


def one_segmented(data: Path) -> tuple[float, str]:
    import widemargin as wm

    X, y = words_and(data, "ncbi-disease/train.tsv", "label", 1200)
    return requests(wm.Segmenter(max_epochs=3), X[:800], y[:800], [x for x in X[800:] if 10 <= len(x) <= 20])


def one_parsed(data: Path) -> tuple[float, str]:
    import widemargin as wm

    X, y = treebank(data, 1000)
    new = [x for x in X[500:] if len(x) == 8]
    return requests(wm.DependencyParser(tags="given", max_epochs=2), X[:500], y[:500], new)


def neural(data: Path, loss: str, structure: str) -> tuple[float, str]:
    """A loss and its gradient on random scores."""
    import torch

    import widemargin.torch as wt

    torch.set_num_threads(1)
    torch.manual_seed(0)
    lengths, decoder = torch.randint(15, 31, (32,)), getattr(wt, structure)()
    if structure == "Chain":
        scores: Any = (torch.randn(32, 30, 20, requires_grad=True), torch.randn(20, 20, requires_grad=True))
        gold = torch.randint(20, (32, 30))
    elif structure == "DependencyTrees":
        scores = (torch.randn(32, 31, 31, requires_grad=True),)
        gold = torch.arange(30).repeat(32, 1)
    else:
        scores = (torch.randn(32, 465, 8, requires_grad=True),)
        gold = decoder.decode(torch.randn(32, 465, 8), lengths)
    module = getattr(wt, loss)(decoder)
    if structure != "Constituents":
        gold = torch.where(torch.arange(30) < lengths[:, None], gold, -1)

    def step() -> list[float]:
        for each in scores:
            each.grad = None
        value = module(scores if len(scores) > 1 else scores[0], gold, lengths).sum()
        value.backward()
        return [round(float(value), 3)]

    seconds, found = spent(step, 101)
    return seconds, digest(found)


def first_fit(data: Path, name: str) -> tuple[float, str]:
    import first_run

    begin = process_time()
    exec(first_run.FIT.format(first_run.FITS[name]), {})
    return process_time() - begin, ""


ROWS: dict[str, Callable[[Path], tuple[float, str]]] = {
    "tags": tags,
    "spans": spans,
    "small": small,
    "likelihood": likelihood,
    "slack": slack,
    "positions": positions,
    "segments": segments,
    "parse": parse,
    "parse, order 2": parse_second,
    "parse, grandsiblings": parse_grand,
    "bracket": bracket,
    "classify": classify,
    "one sentence, tagger": one_tagged,
    "one sentence, segmenter": one_segmented,
    "one sentence, parser": one_parsed,
    "torch, chain, margin": lambda data: neural(data, "StructuredHinge", "Chain"),
    "torch, chain, likelihood": lambda data: neural(data, "Likelihood", "Chain"),
    "torch, trees, margin": lambda data: neural(data, "StructuredHinge", "DependencyTrees"),
    "torch, constituents, margin": lambda data: neural(data, "StructuredHinge", "Constituents"),
    "torch, constituents, likelihood": lambda data: neural(data, "Likelihood", "Constituents"),
    **{
        f"{FIRST}{name}": lambda data, name=name: first_fit(data, name)
        for name in ("tagger", "segmenter", "dependency parser", "constituency parser", "linear classifier")
    },
}


def call(tree: Path, row: str, data: Path, cache: Path) -> dict[str, Any]:
    """One row in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, str(HERE), str(tree), "--row", row, "--data", str(data)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{row} failed in {tree}:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("other", type=Path, help="a checkout of another revision")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--runs", type=int, default=5)
    default = Path(os.environ.get("WIDEMARGIN_DATA", HERE.parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--out", type=Path, default=Path("bench/against.json"))
    parser.add_argument("--cache", type=Path, help="a folder that keeps compiled kernels for the next time")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        seconds, found = ROWS[options.row](options.data)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "found": found, "megabytes": peak}))
        return
    sides = {"other": options.other.resolve(), "here": HERE.parents[1]}
    measured: dict[str, Any] = {}
    print("| row | other | here | ratio | memory | same |\n| --- | ---: | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for row in options.rows:
            runs: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
            for k in range(options.runs):
                for side, tree in sides.items():
                    cache = Path(folder) / (f"{side} {row} {k}" if row.startswith(FIRST) else side)
                    if options.cache and not row.startswith(FIRST):
                        cache = options.cache / side
                    runs[side].append(call(tree, row, options.data, cache))
            seconds, megabytes = (
                {side: median(each[key] for each in found) for side, found in runs.items()}
                for key in ("seconds", "megabytes")
            )
            ratio, memory = (each["here"] / each["other"] for each in (seconds, megabytes))
            same = {each["found"] for found in runs.values() for each in found}
            verdict = "yes" if len(same) == 1 else " / ".join(sorted(same))
            times = f"{seconds['other']:.5f} | {seconds['here']:.5f}"
            print(f"| {row} | {times} | {ratio:.2f} | {memory:.2f} | {verdict} |", flush=True)
            measured[row] = runs
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(measured, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
