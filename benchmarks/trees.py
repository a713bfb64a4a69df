"""Dependency and constituency parsing: accuracy, training time and memory, and parsing speed.

    python benchmarks/trees.py [--parts orders likelihood speed brackets lazy] [--epochs 10] [--jobs 2] [--quick] [--out bench]

| part | what | after |
| --- | --- | --- |
| orders | ud-english-ewt, gold tags, projective: first order, second order with siblings, second order with siblings and grandparents | McDonald & Pereira (2006), Koo & Collins (2010) |
| likelihood | ud-english-ewt, first order: margin and likelihood, C of the latter by development data | |
| speed | ud-english-ewt, every order: sentences per second, one thread | |
| brackets | genia-treebank and gum-open, gold tags, default and rich templates: F1, exact trees, training time, sentences per second | |
| lazy | 2,000 sentences of ud-english-ewt, 500 of genia-treebank: an epoch of AdaGrad against one of the perceptron, by batch size | Table 1 of Kummerfeld et al. (2015) |

Every run is a process of its own, so that its peak memory is its own; the kernels are compiled before. Scores are those
of the epoch that is best on the development data, on the test data. `--sentences N` trains on the first N only;
`--quick` stands for 500 sentences and 2 epochs.

Speed is that of one thread, from the file to trees, and from columns that have been read; and the milliseconds that a
single sentence of 8 tokens takes from dicts to its tree (medians). Seconds of the processor (`cpu`) are also given, as
others may use the machine.
"""  # noqa: E501

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from widemargin import ConstituencyParser, DependencyParser
from widemargin.core.problem import Problem
from widemargin.files.brackets import columns_of
from widemargin.files.formats import read
from widemargin.objectives import Margin
from widemargin.solvers import named_solver
from widemargin.tasks.base import load_model
from widemargin.tasks.bracket import BracketerParameters
from widemargin.tasks.bracket.estimator import compile_brackets
from widemargin.tasks.bracket.metrics import bracket_scores
from widemargin.tasks.parse import ParserParameters
from widemargin.tasks.parse.dependencies import arc_lists, arcs
from widemargin.tasks.parse.estimator import compile_trees
from widemargin.tasks.parse.metrics import attachment_scores
from widemargin.tasks.training import Data
from widemargin.text.columns import Columns

HERE = Path(__file__).resolve()
EWT, GENIA, GUM = "ud-english-ewt", "genia-treebank", "gum-open"
SUFFIXES = {EWT: "conllu", GENIA: "ptb", GUM: "ptb"}
DCD: dict[str, Any] = {"solver": "dcd", "C": 0.01}
"""C is that of 0.003, 0.01 and 0.03 which does well on development data."""

BRACKETERS: dict[str, dict[str, Any]] = {
    "dcd": {},
    "dcd, rich": {"templates": "rich", "fold": "left"},
}

ORDERS = (1, 2, "grandsiblings")

LAZY = {"perceptron": ("perceptron", "l2"), "adagrad, L2": ("adagrad", "l2"), "adagrad, L1": ("adagrad", "l1")}
FIRST = {EWT: 2000, GENIA: 500}
BATCHES = (1, 10)


def data_file(name: str, part: str) -> Path:
    folder = Path(os.environ.get("WIDEMARGIN_DATA", HERE.parents[2] / "shared" / "data"))
    return folder / name / f"{part}.{SUFFIXES[name]}"


LIKELIHOOD = {"solver": "sgd(eta0=0.1, batch_size=16)", "objective": "likelihood"}
LIKELIHOOD_CS = (0.1, 0.3, 1.0)
"""For the likelihood; SGD with this rate gets further in ten passes than L-BFGS or AdaGrad."""


def dependencies(name: str, part: str, sentences: int | None = None) -> tuple[Any, Any]:
    document = read(data_file(name, part))
    X, y = document.columns, arcs(document)
    if sentences is None:
        return X, y
    return [as_dicts(X, i) for i in range(sentences)], arc_lists(y, X.indptr)[:sentences]


def trees(name: str, part: str, sentences: int | None = None) -> tuple[Any, Any]:
    document: Any = read(data_file(name, part))
    if sentences is None:
        return document.columns, document.trees
    return columns_of(document.trees[:sentences]), document.trees[:sentences]


def run(
    name: str, options: dict[str, Any], save: str | None, sentences: int | None = None, test: bool = True
) -> dict[str, Any]:
    """Train on a set, test, and say what came of it; this is what a process does."""
    brackets = SUFFIXES[name] == "ptb"
    load, kind = (trees, ConstituencyParser) if brackets else (dependencies, DependencyParser)
    train, dev = load(name, "train", sentences), load(name, "dev")
    begin, busy = perf_counter(), process_time()
    parser = kind(tags="given", **options).fit(*train, dev=dev)
    model, solution = parser.model_, parser.solution_
    seconds, cpu = perf_counter() - begin, process_time() - busy
    if save is not None:
        model.save(save)
    measured: dict[str, Any] = {}
    if test and brackets:
        X, y = load(name, "test")
        scores = bracket_scores(y, model.predict(X, options["n_jobs"]))
        measured = {"f1": scores.micro.f1, "exact": scores.exact}
    elif test:
        measured = attachment(model, name, options["n_jobs"], "predict")
    return {
        "set": name,
        **options,
        **measured,
        "dev": [row.score for row in solution.trace],
        "epoch": solution.epoch,
        "gap": solution.gap,
        "training_seconds": solution.seconds,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "oracle_calls": solution.oracle_calls,
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def attachment(model: Any, name: str, n_jobs: int, question: str) -> dict[str, Any]:
    """The scores of `predict` or `predict_minimum_risk` on the test data."""
    X, y = dependencies(name, "test")
    overall = attachment_scores(arc_lists(y, X.indptr), getattr(model, question)(X, n_jobs)).overall
    return {"uas": overall.uas, "las": overall.las}


def likelihood(common: dict[str, Any], folder: str, sentences: int | None) -> list[dict[str, Any]]:
    """Margin and likelihood on the same set, first order; the test data are read for the C that is best on dev."""
    name, rows, best = EWT, [], None
    margin = child(name=name, options=common | DCD | {"dev_metric": "uas"}, save=None, sentences=sentences)
    rows.append(report("likelihood", "margin", margin))
    for C in LIKELIHOOD_CS:
        model, options = str(Path(folder) / f"{C}.wm"), common | LIKELIHOOD | {"C": C, "dev_metric": "uas"}
        found = child(name=name, options=options, save=model, sentences=sentences, test=False)
        rows.append(report("likelihood", f"likelihood, C {C}", found))
        if best is None or max(found["dev"]) > max(best[0]["dev"]):
            best = found, model
    assert best is not None
    for question in ("predict", "predict_minimum_risk"):
        scores = child(attachment={"model": best[1], "name": name, "n_jobs": common["n_jobs"], "question": question})
        rows.append(report("likelihood", f"likelihood, {question}", best[0] | scores))
    return rows


def as_dicts(X: Any, i: int) -> list[dict[str, str]]:
    """Sentence i as a request would bring it."""
    texts = [X.alone(i)[name].strings() for name in X.names]
    return [dict(zip(X.names, token, strict=True)) for token in zip(*texts, strict=True)]


def speed(model: str, name: str, repeats: int = 5, requests: int = 200) -> dict[str, Any]:
    """How fast one thread parses: many sentences, from the file or from columns, and a single one."""
    predictor, path = load_model(model), data_file(name, "test")
    rates = []
    for _ in range(repeats + 1):
        begin = perf_counter()
        X = predictor.columns(read(path).columns)
        known = {each: X[each] for each in X.names}
        ready, busy = perf_counter(), process_time()
        n = len(predictor.predict(Columns(known, X.indptr), 1))
        end = perf_counter()
        rates.append((n / (end - begin), n / (end - ready), n / (process_time() - busy)))
    request = [as_dicts(X, int(np.flatnonzero(np.diff(X.indptr) == 8)[0]))]
    taken = []
    for _ in range(requests + 1):
        begin = perf_counter()
        predictor.predict(request)
        taken.append(1e3 * (perf_counter() - begin))
    names = ("sentences_per_second", "sentences_per_second_from_columns", "sentences_per_cpu_second_from_columns")
    measured = dict(zip(names, np.median(rates[1:], axis=0).tolist(), strict=True))
    return {"set": name, **measured, "milliseconds_of_8_tokens": float(np.median(taken[1:]))}


def lazy(name: str, epochs: int = 4) -> dict[str, Any]:
    """Seconds of the processor for an epoch after the first, in turns; the least, as others may use the machine."""
    brackets = SUFFIXES[name] == "ptb"
    kind, compiled = (BracketerParameters, compile_brackets) if brackets else (ParserParameters, compile_trees)
    examples = compiled(kind(tags="given"), Data(*(trees if brackets else dependencies)(name, "train"))).examples
    first = (np.arange(examples.n_examples) < FIRST[name]).astype(np.float64)
    runs = {}
    for size in BATCHES:
        for label, (solver, penalty) in LAZY.items():
            problem = Problem(examples, Margin(), C=0.01, loss="hinge", penalty=penalty, sample_weight=first)
            chosen = named_solver(f"{solver}(batch_size={size})")
            runs[f"{label}, {size}"] = (problem, chosen, chosen.start(problem), np.random.default_rng(0), [])
    for _ in range(epochs):
        for problem, solver, state, rng, seconds in runs.values():
            begin = process_time()
            solver.epoch(problem, state, rng)
            seconds.append(process_time() - begin)
    return {"set": name, **{label: min(run[-1][1:]) for label, run in runs.items()}}


def child(**task: Any) -> dict[str, Any]:
    """Run a task in a process of its own."""
    done = subprocess.run([sys.executable, HERE, "--task", json.dumps(task)], stdout=subprocess.PIPE, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def done(task: dict[str, Any]) -> dict[str, Any]:
    """The result of a task."""
    if "attachment" in task:
        asked = task["attachment"]
        return attachment(load_model(asked.pop("model")), **asked)
    kind = next((each for each in (speed, lazy) if each.__name__ in task), run)
    return kind(**task.get(kind.__name__, task))


def report(part: str, label: str, result: dict[str, Any]) -> dict[str, Any]:
    scores = ", ".join(
        f"{name.upper()} {100 * result[name]:.2f}" for name in ("uas", "las", "f1", "exact") if name in result
    )
    print(
        f"{part}: {result['set']}, {label}: {scores or 'not tested'}; dev {100 * max(result['dev']):.2f}, "
        f"epoch {result['epoch']} of {len(result['dev'])}, "
        f"gap {result['gap'] or float('nan'):.4f}, {result['training_seconds']:.0f} s "
        f"(cpu {result['cpu_seconds']:.0f}), {result['peak_megabytes']:.0f} MB",
        flush=True,
    )
    return {"part": part, "label": label, **result}


def report_speed(part: str, label: str, result: dict[str, Any]) -> dict[str, Any]:
    print(
        f"{part}: {result['set']}, {label}: {result['sentences_per_second']:,.0f} sentences a second from the file, "
        f"{result['sentences_per_second_from_columns']:,.0f} from columns "
        f"(cpu {result['sentences_per_cpu_second_from_columns']:,.0f}); "
        f"8 tokens {result['milliseconds_of_8_tokens']:.2f} ms",
        flush=True,
    )
    return {"part": part, "label": label, **result}


def speeds(dcd: dict[str, Any], model: str, sentences: int | None) -> list[dict[str, Any]]:
    """How fast dependency parsers of every order are."""
    rows = []
    for order in ORDERS:
        child(name=EWT, options=dcd | {"order": order}, save=model, sentences=sentences)
        rows.append(report_speed("speed", f"order {order}", child(speed={"model": model, "name": EWT})))
    return rows


def brackets(sets: list[str], dcd: dict[str, Any], model: str, sentences: int | None) -> list[dict[str, Any]]:
    """How accurate and how fast parsers of constituents are, with the default and with rich templates."""
    rows = []
    for name in sets:
        for label, options in BRACKETERS.items():
            found = child(name=name, options=dcd | options, save=model, sentences=sentences)
            rows.append(report("brackets", label, found))
            rows.append(report_speed("brackets", label, child(speed={"model": model, "name": name})))
    return rows


def report_lazy(result: dict[str, Any]) -> dict[str, Any]:
    for size in BATCHES:
        times = {label: result[f"{label}, {size}"] for label in LAZY}
        ratios = (f"{label} {each:.2f} s ({each / times['perceptron']:.1f} times)" for label, each in times.items())
        print(f"lazy: {result['set']}, batches of {size}: {', '.join(ratios)}", flush=True)
    return {"part": "lazy", **result}


def measured(chosen: argparse.Namespace, folder: str) -> list[dict[str, Any]]:
    """The results of all parts."""
    common = {"max_epochs": chosen.epochs, "tol": None, "n_jobs": chosen.jobs}
    rows: list[dict[str, Any]] = []
    model = str(Path(folder) / "parser.wm")
    dcd, sentences = common | DCD, chosen.sentences
    if "orders" in chosen.parts and EWT in chosen.sets:
        for order in ORDERS:
            found = child(name=EWT, options=dcd | {"order": order}, save=None, sentences=sentences)
            rows.append(report("orders", f"order {order}", found))
    if "likelihood" in chosen.parts and EWT in chosen.sets:
        rows += likelihood(common, folder, sentences)
    if "speed" in chosen.parts and EWT in chosen.sets:
        rows += speeds(dcd | {"max_epochs": min(chosen.epochs, 5)}, model, sentences)
    if "brackets" in chosen.parts:
        rows += brackets([each for each in (GENIA, GUM) if each in chosen.sets], dcd, model, sentences)
    timed = [name for name in FIRST if name in chosen.sets and "lazy" in chosen.parts]
    return rows + [report_lazy(child(lazy={"name": name})) for name in timed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    all_parts = ["orders", "likelihood", "speed", "brackets", "lazy"]
    parser.add_argument("--parts", nargs="+", default=all_parts, choices=all_parts)
    parser.add_argument("--sets", nargs="+", default=list(SUFFIXES), choices=list(SUFFIXES))
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sentences", type=int, help="train on so many sentences [all]")
    parser.add_argument("--quick", action="store_true", help="500 sentences, 2 epochs")
    parser.add_argument("--out", default="bench")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.sentences, chosen.epochs = 500, 2
    if chosen.task is not None:
        print(json.dumps(done(json.loads(chosen.task))))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(chosen, folder)
    out = Path(chosen.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "trees.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
