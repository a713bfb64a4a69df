"""One JSON file for each experiment: what was measured, and with what."""

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

from experiment import SEED, Bench, Experiment

from widemargin.core.atomic import replacing

LIBRARIES = ("widemargin", "numpy", "scipy", "numba", "scikit-learn")


def place(out: Path, paper: str, experiment: str) -> Path:
    """The file of an experiment."""
    return out / paper / f"{experiment}.json"


def stored(out: Path, paper: str, experiment: str, quick: bool) -> dict[str, Any] | None:
    """What an experiment of this size came to; None if it has not been run."""
    path = place(out, paper, experiment)
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found if found["quick"] == quick else None


def measure(out: Path, paper: str, experiment: Experiment, bench: Bench) -> float:
    """Run an experiment and store what it came to; return the seconds that it took."""
    begin = perf_counter()
    measured = experiment.run(bench)
    seconds = perf_counter() - begin
    quick = " --quick" if bench.quick else ""
    content = {
        "paper": paper,
        "experiment": experiment.name,
        "command": f"python benchmarks/papers {paper} --only {experiment.name}{quick}",
        "quick": bench.quick,
        "seed": SEED,
        "seconds": seconds,
        "machine": machine(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "measured": measured,
    }
    path = place(out, paper, experiment.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(json.dumps(content, indent=1, default=float))
    return seconds


def machine() -> dict[str, Any]:
    """The processor, its cores, and how busy it is."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"processor": model or platform.machine(), "cores": os.cpu_count(), "load": load}
