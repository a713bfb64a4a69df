"""Training out of core: peak memory, seconds and objective against training in memory, and whether weights are equal.

    python benchmarks/out_of_core.py [--times 2 20] [--noise 0.02] [--epochs 4] [--memory 4096] [--data DIR]

The data are those of jnlpba so many times, or of generated addresses where there is no jnlpba. In every copy but the
first, a share of the words is replaced by made-up ones, so that features grow with the data. Each run has a process of
its own, which learns with default settings but for the number of epochs and the memory for cuts. Peaks are those of
that process: *anonymous* is what the system cannot drop (sampled a hundred times a second), *resident* has mapped pages
of files as well (VmHWM).
The last table is about `widemargin predict` on files of growing size.
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import defaults

HERE = Path(__file__).resolve()
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def sentences(folder: Path) -> defaults.Sequences:
    """The sentences to repeat."""
    corpus = defaults.CORPORA["jnlpba"]
    if (folder / corpus.train).exists():
        return defaults.sequences(folder / corpus.train, corpus.label)
    from widemargin.data.generators import addresses

    return list(zip(*addresses(20_000, seed=0), strict=True))


def write(path: Path, known: defaults.Sequences, times: int, noise: float) -> None:
    """So many copies, all but the first with noise."""
    rng = random.Random(0)
    with path.open("w", encoding="utf-8") as stream:
        for k in range(times):
            for words, labels in known:
                for word, label in zip(words, labels, strict=True):
                    made_up = k > 0 and rng.random() < noise
                    stream.write(f"{''.join(rng.choices(LETTERS, k=8)) if made_up else word}\t{label}\n")
                stream.write("\n")


def status(pid: int) -> dict[str, float]:
    """The figures of a process in MB, as far as it has them."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        return {line.split(":")[0]: int(line.split()[1]) * 1024 / 1e6 for line in lines if line.endswith(" kB")}
    return {}


def role_train(path: str, way: str, epochs: int, memory: float) -> dict[str, Any]:
    """Train in one of both ways, in this process."""
    from widemargin import SequenceTagger
    from widemargin.files.formats import read

    begin = time.perf_counter()
    tagger = SequenceTagger(max_epochs=epochs, tol=None, cut_memory=memory, verbose=True)
    if way == "in memory":
        columns = read(path).columns
        tagger.fit(columns.only("word"), columns["label"])
    else:
        tagger.fit_stream(path, cache=way)
    solution = tagger.solution_
    seconds = time.perf_counter() - begin
    reading = seconds - solution.seconds
    return {
        "seconds_before_training": reading,
        "seconds_training": solution.seconds,
        "objective": solution.primal,
        "gap": solution.gap,
        "weights": len(solution.w),
        "digest": hashlib.blake2b(solution.w.tobytes(), digest_size=8).hexdigest(),
    }


def role_predict(model: str, path: str) -> dict[str, Any]:
    """What `widemargin predict` does, in this process."""
    from widemargin.cli.commands import main

    begin = time.perf_counter()
    with suppress(SystemExit):
        main(["predict", model, path, "--out", os.devnull])
    return {"seconds": time.perf_counter() - begin}


def measured(*role: Any) -> dict[str, Any]:
    """The result of a role in a process of its own, and its peaks."""
    command, peaks = [sys.executable, str(HERE), "--role", json.dumps(role)], {"RssAnon": 0.0, "VmHWM": 0.0}
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        while process.poll() is None:
            now = status(process.pid)
            peaks = {name: max(peak, now.get(name, 0.0)) for name, peak in peaks.items()}
            time.sleep(0.01)
        assert process.stdout is not None
        found: dict[str, Any] = json.loads(process.stdout.read().splitlines()[-1])
    return {"anonymous": peaks["RssAnon"], "resident": peaks["VmHWM"], **found}


def training(known: defaults.Sequences, scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Both ways at every size, and a run that finds its arrays in the cache."""
    results: dict[str, Any] = {}
    print(
        "| copies | way | anonymous MB | resident MB | seconds before | seconds of training | objective | digest of w |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for times in options.times:
        path, cache = scratch / f"{times}.tsv", scratch / "cache"
        write(path, known, times, options.noise)
        ways = [str(cache), str(cache), *(["in memory"] if times <= options.most_in_memory else [])]
        rows = []
        for way in ways:
            rows.append(measured("train", str(path), way, options.epochs, options.memory))
            print(f"  {way}: {json.dumps(rows[-1])}", file=sys.stderr, flush=True)
        names = ["out of core", "out of core, arrays found in the cache", "in memory"]
        for name, row in zip(names, rows, strict=False):
            figures = " | ".join(
                f"{row[each]:,.0f}" for each in ("anonymous", "resident", "seconds_before_training", "seconds_training")
            )
            print(f"| {times} | {name} | {figures} | {row['objective']:.4f} | {row['digest']} |", flush=True)
        results[str(times)] = dict(zip(names, rows, strict=False))
        assert len({row["digest"] for row in rows}) == 1, "the weights differ"
    return results


def prediction(known: defaults.Sequences, scratch: Path, sizes: list[int]) -> list[dict[str, Any]]:
    """Peaks of predicting on files of growing size."""
    from widemargin import SequenceTagger

    words, labels = (list(each) for each in zip(*known[:2000], strict=True))
    model = scratch / "model.wm"
    SequenceTagger(max_epochs=2, tol=None).fit(words, labels).save(model)
    rows = []
    print("| file to predict | anonymous MB | resident MB | seconds |\n| --- | --- | --- | --- |")
    for times in sizes:
        path = scratch / "new.tsv"
        write(path, known, times, 0.0)
        rows.append({"bytes": path.stat().st_size, **measured("predict", str(model), str(path))})
        row = rows[-1]
        figures = f"{row['anonymous']:,.0f} | {row['resident']:,.0f} | {row['seconds']:.1f}"
        print(f"| {row['bytes'] / 1e6:,.0f} MB | {figures} |", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(os.environ.get("WIDEMARGIN_DATA", HERE.parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--times", nargs="+", type=int, default=[2, 20])
    parser.add_argument("--most-in-memory", type=int, default=20)
    parser.add_argument("--noise", type=float, default=0.02)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--memory", type=float, default=4096.0)
    parser.add_argument("--predict", nargs="*", type=int, default=[1, 4, 16])
    parser.add_argument("--out", type=Path, default=Path("bench/out_of_core.json"))
    parser.add_argument("--role", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        print(json.dumps({"train": role_train, "predict": role_predict}[options.role[0]](*options.role[1:])))
        return
    known = sentences(options.data)
    with tempfile.TemporaryDirectory() as folder:
        results: dict[str, Any] = {"training": training(known, Path(folder), options)}
        if options.predict:
            results["prediction"] = prediction(known, Path(folder), options.predict)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
