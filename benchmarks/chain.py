"""Sequence tagging against python-crfsuite on UD English EWT, XPOS: the same feature strings, machine and run.

    python benchmarks/chain.py [--runs 5] [--lbfgs-runs 1] [--data DIR] [--out bench/chain.json]

Every measurement is a process of its own (so that peak memory and start-up count), peers alternate, and medians are
reported. The speed rows train for as many epochs as it takes to match the development score of `ap`; the test file is
read at the end, once for each model. `--role` runs one measurement and prints it as JSON; it is how the benchmark calls
itself. First runs are in `first_run.py`, single requests in `latency.py`, defaults on six corpora in `defaults.py`.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import peer

EPOCHS = 4
HERE = Path(__file__).resolve()


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def widemargin_train(data: Path, model: Path, **settings: Any) -> dict[str, Any]:
    """File → trained model on disk."""
    begin = perf_counter()
    from widemargin.files.formats import read
    from widemargin.tasks.tag import TaggerParameters
    from widemargin.tasks.tag.estimator import compile_tags
    from widemargin.tasks.training import Data, train

    imported = perf_counter()
    columns = read(data / "train.conllu").columns
    X, y = columns.only("word"), columns["xpos"]
    del columns
    done = perf_counter()
    tagger, solution = train(compile_tags, TaggerParameters(**settings), Data(X, y))
    trained = perf_counter()
    tagger.save(model)
    seconds = {
        "import": imported - begin,
        "read": done - imported,
        "fit": trained - done,
        "save": perf_counter() - trained,
    }
    return {
        **seconds,
        "peak": peak_megabytes(),
        "epochs": len(solution.trace),
        "oracle_calls": solution.oracle_calls,
        "gap": solution.gap,
        "stopped": solution.stopped,
    }


def role_widemargin(data: Path, model: Path) -> dict[str, Any]:
    """As many epochs as it takes to match `ap`."""
    return widemargin_train(data, model, solver="dcd", max_epochs=EPOCHS, tol=None)


def role_default(data: Path, model: Path) -> dict[str, Any]:
    return widemargin_train(data, model)


def crfsuite_train(algorithm: str, data: Path, model: Path) -> dict[str, Any]:
    begin = perf_counter()
    words, tags = peer.read(data / "train.conllu")
    done = perf_counter()
    X = [list(peer.features(sentence)) for sentence in words]
    built = perf_counter()
    seconds = peer.train(algorithm, X, tags, model)
    return {"read": done - begin, "strings": built - done, **seconds, "peak": peak_megabytes()}


def role_streamed(data: Path, model: Path) -> dict[str, Any]:
    """The peer at its leanest, for its peak memory: features are built and handed over sentence by sentence."""
    words, tags = peer.read(data / "train.conllu")
    seconds = peer.train("ap", map(list, map(peer.features, words)), tags, model)
    return {**seconds, "peak": peak_megabytes()}


def role_ap(data: Path, model: Path) -> dict[str, Any]:
    return crfsuite_train("ap", data, model)


def role_lbfgs(data: Path, model: Path) -> dict[str, Any]:
    return crfsuite_train("lbfgs", data, model)


def role_features(data: Path, model: Path) -> dict[str, Any]:
    """Our feature building against `Trainer.append` of the same features, already built as strings."""
    import pycrfsuite

    from widemargin.files.formats import read
    from widemargin.text.inputs import as_columns
    from widemargin.text.template_extractor import TemplateExtractor
    from widemargin.text.templates import DEFAULT_TEMPLATES

    columns = read(data / "train.conllu").columns
    words, tags = peer.read(data / "train.conllu")
    TemplateExtractor(DEFAULT_TEMPLATES).fit(as_columns(words[:100]))
    ours, theirs, strings = [], [], []
    for _ in range(3):
        begin = perf_counter()
        extractor = TemplateExtractor(DEFAULT_TEMPLATES)
        rows = extractor.fit(columns).rows
        ours.append(perf_counter() - begin)
        begin = perf_counter()
        X = [list(peer.features(sentence)) for sentence in words]
        strings.append(perf_counter() - begin)
        trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
        begin = perf_counter()
        for sequence, labels in zip(X, tags, strict=True):
            trainer.append(sequence, labels)
        theirs.append(perf_counter() - begin)
    names = extractor.names()
    flat = [name for sequence in X for token in sequence for name in token]
    assert [names[number] for number in rows.indices.tolist()] == flat, "the feature strings differ"
    return {"ours": median(ours), "append": median(theirs), "strings": median(strings)}


def role_tagging(data: Path, model: Path) -> dict[str, Any]:
    """Raw tokens → tags, against Python features and `Tagger.tag`; and ten times as many on one thread and on two."""
    import pycrfsuite

    from widemargin.tasks.tag.model import Tagger

    words, _ = peer.read(data / "dev.conllu")
    tokens = sum(map(len, words))
    ours = Tagger.load(model)
    theirs = pycrfsuite.Tagger()
    theirs.open(str(model.with_suffix(".crfsuite")))

    def predict(n_threads: int = 1) -> list[list[str]]:
        return ours.predict(words, n_threads=n_threads)

    def tag() -> list[list[str]]:
        return [theirs.tag(list(peer.features(sentence))) for sentence in words]

    many = words * 10
    roles: dict[str, Callable[[], Any]] = {
        "ours": predict,
        "theirs": tag,
        "one": partial(ours.predict, many, n_threads=1),
        "two": partial(ours.predict, many, n_threads=2),
    }
    seconds: dict[str, list[float]] = {name: [] for name in roles}
    for _ in range(6):
        for name, run in roles.items():
            begin = perf_counter()
            run()
            seconds[name].append(perf_counter() - begin)
    assert predict(1) == predict(2), "the number of threads changed the result"
    return {
        **{name: median(each[1:]) for name, each in seconds.items()},
        "tokens_per_second": tokens / median(seconds["ours"][1:]),
    }


def role_threads(data: Path, model: Path) -> dict[str, Any]:
    """Oracle seconds of a default training run on one and two threads."""
    import numpy as np

    from widemargin import Problem, Stop, fit
    from widemargin.files.formats import read
    from widemargin.solvers import SOLVERS
    from widemargin.tasks.tag import TaggerParameters
    from widemargin.tasks.tag.estimator import compile_tags
    from widemargin.tasks.training import Data

    columns = read(data / "train.conllu").columns
    examples = compile_tags(TaggerParameters(), Data(columns.only("word"), columns["xpos"])).examples
    seconds: dict[int, list[float]] = {1: [], 2: []}
    weights = {}
    for _ in range(2):
        for n_threads, each in seconds.items():
            problem = Problem(examples, n_threads=n_threads)
            solution = fit(problem, SOLVERS["auto"], stop=Stop(epochs=60, gap=TaggerParameters().tol))
            each.append(problem.meter.seconds)
            weights[n_threads] = solution.w
    assert np.array_equal(weights[1], weights[2]), "the number of threads changed the result"
    return {"one": median(seconds[1]), "two": median(seconds[2])}


def role_accuracy(data: Path, model: Path) -> dict[str, Any]:
    """Shares of right tags on the development and the test file."""
    return {part: _accuracy_on(data / f"{part}.conllu", model) for part in ("dev", "test")}


def _accuracy_on(path: Path, model: Path) -> float:
    words, tags = peer.read(path)
    if model.suffix == ".crfsuite":
        import pycrfsuite

        tagger = pycrfsuite.Tagger()
        tagger.open(str(model))
        return _accuracy(tags, [tagger.tag(list(peer.features(sentence))) for sentence in words])
    from widemargin.tasks.tag.model import Tagger

    return _accuracy(tags, Tagger.load(model).predict(words))


def _accuracy(gold: list[list[str]], predicted: list[list[str]]) -> float:
    pairs = [(a, b) for x, y in zip(gold, predicted, strict=True) for a, b in zip(x, y, strict=True)]
    return sum(a == b for a, b in pairs) / len(pairs)


def call(role: str, data: Path, model: Path) -> dict[str, Any]:
    """One measurement in a process of its own; `wall` is that process's whole life."""
    begin = perf_counter()
    arguments = [sys.executable, str(HERE), "--role", role, "--data", str(data), "--model", str(model)]
    done = subprocess.run(arguments, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"{role} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout)
    result["wall"] = perf_counter() - begin
    print(
        f"  {role}: {json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in result.items()})}",
        flush=True,
    )
    return result


def medians(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: median(each[key] for each in results) for key, value in results[0].items() if isinstance(value, float)}


def table(m: dict[str, Any]) -> list[tuple[str, str, float, bool]]:
    """The rows of the report: what was measured, what to reach, the figure, and whether it is reached."""
    ours, ap, features, tagging, score = m["widemargin"], m["ap"], m["features"], m["tagging"], m["accuracy"]
    rows: list[tuple[str, str, float, Callable[[float], bool]]] = [
        ("test accuracy, default settings", "≥ 0.948", score["default"]["test"], lambda v: v >= 0.948),
        (
            f"dev accuracy, {EPOCHS} epochs",
            f"≥ ap's {score['ap']['dev']:.4f}",
            score["widemargin"]["dev"],
            lambda v: v >= score["ap"]["dev"],
        ),
        ("end to end against ap", "≥ 6×", ap["wall"] / ours["wall"], lambda v: v >= 6),
        ("feature building against Trainer.append", "≥ 12×", features["append"] / features["ours"], lambda v: v >= 12),
        ("raw tokens → tags, one thread", "≥ 8×", tagging["theirs"] / tagging["ours"], lambda v: v >= 8),
        ("raw tokens → tags, two threads against one", "≥ 1.7×", tagging["one"] / tagging["two"], lambda v: v >= 1.7),
        (
            "two threads against one, oracle time",
            "≥ 1.6×",
            m["threads"]["one"] / m["threads"]["two"],
            lambda v: v >= 1.6,
        ),
        ("peak memory of training against ap's", "≤ 1.5×", ours["peak"] / ap["peak"], lambda v: v <= 1.5),
        ("… against ap's with streamed features", "≤ 1.0×", ours["peak"] / m["streamed"]["peak"], lambda v: v <= 1.0),
    ]
    if "lbfgs" in m:
        rows.insert(3, ("end to end against lbfgs", "≥ 35×", m["lbfgs"]["wall"] / ours["wall"], lambda v: v >= 35))
    return [(name, goal, value, reached(value)) for name, goal, value, reached in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=HERE.parents[2] / "shared" / "data")
    parser.add_argument("--out", type=Path, default=Path("bench/chain.json"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--lbfgs-runs", type=int, default=1)
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--model", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        print(json.dumps(globals()[f"role_{options.role}"](options.data, options.model)))
        return
    data = Path(os.environ.get("WIDEMARGIN_DATA", options.data)) / "ud-english-ewt"
    if not data.is_dir():
        raise SystemExit(f"the corpus ud-english-ewt is not at {data.parent}; set WIDEMARGIN_DATA")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        ours, theirs = scratch / "model.wm", scratch / "model.crfsuite"
        call("widemargin", data, ours)
        runs: dict[str, list[dict[str, Any]]] = {"widemargin": [], "ap": []}
        for _ in range(options.runs):
            runs["widemargin"].append(call("widemargin", data, ours))
            runs["ap"].append(call("ap", data, theirs))
        measured: dict[str, Any] = {name: medians(results) for name, results in runs.items()}
        measured["accuracy"] = {"widemargin": call("accuracy", data, ours), "ap": call("accuracy", data, theirs)}
        measured["streamed"] = call("streamed", data, theirs)
        measured["features"] = call("features", data, ours)
        measured["tagging"] = call("tagging", data, ours)
        measured["threads"] = call("threads", data, ours)
        measured["default"] = call("default", data, ours)
        measured["accuracy"]["default"] = call("accuracy", data, ours)
        if options.lbfgs_runs:
            measured["lbfgs"] = medians([call("lbfgs", data, theirs) for _ in range(options.lbfgs_runs)])
            measured["accuracy"]["lbfgs"] = call("accuracy", data, theirs)
    rows = table(measured)
    print("\n| measured | reach | here | |\n| --- | --- | --- | --- |")
    for name, goal, value, reached in rows:
        print(f"| {name} | {goal} | {value:.4g} | {'✓' if reached else '✗'} |")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(measured, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
