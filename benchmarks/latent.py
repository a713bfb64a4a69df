"""Yu & Joachims (2009) again: Tables 1–3 and Figure 3, labels known in part, and what rebasing and restarts are worth.

    python benchmarks/latent.py [PART …] [--data DIR] [--out bench/latent] [--quick]

Parts are motif (Table 1), cluster (Table 2), rank (Table 3), partial and speed; each is a program of its own, too,
`benchmarks/latent_PART.py`, which says what it measures and how. All rows go to OUT/PART.json, with the command, the
versions and the time; parts that are there already are not run again. Rounds against C, the paper's Figure 3, go to
OUT/rounds.png.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

HERE = Path(__file__).resolve()
PARTS = {"motif": "", "cluster": "", "rank": "lightgbm-rank", "partial": "ud-english-ewt", "speed": ""}
"""The parts, and where their data are in the folder of the corpora."""

SETTINGS = ("method", "measure", "loss", "init", "r", "length")
"""What tells one curve of rounds from another."""


def measured(part: str, data: Path, quick: bool) -> dict[str, Any]:
    """The rows of a part, and what they were measured with."""
    begin = perf_counter()
    rows = import_module(f"latent_{part}").run(data / PARTS[part], quick=quick)
    return {
        "rows": rows,
        "quick": quick,
        "seconds": perf_counter() - begin,
        "command": " ".join(["python", "benchmarks/latent.py", part, *(["--quick"] if quick else [])]),
        "versions": {name: version(name) for name in ("widemargin", "numpy", "scipy", "numba")},
        "python": platform.python_version(),
        "load": os.getloadavg(),
    }


def draw_rounds(found: dict[str, Any], path: Path) -> None:
    """Rounds against C, a curve for each task and setting that counted them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for part, results in found.items():
        curves: dict[str, dict[float, float]] = {}
        for row in results["rows"]:
            if "rounds" in row and "C" in row and row["rounds"] is not None:
                what = " ".join(str(row[key]) for key in SETTINGS if key in row)
                curves.setdefault(f"{part} {what}".strip(), {})[float(row["C"])] = float(row["rounds"])
        for name, points in curves.items():
            if len(points) > 1:
                axes.plot(*zip(*sorted(points.items()), strict=True), marker="o", label=name)
    axes.set(xscale="log", xlabel="C", ylabel="rounds")
    axes.legend(fontsize="x-small")
    figure.savefig(path, dpi=120)


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure what is missing, then draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all unless given")
    default = os.environ.get("WIDEMARGIN_DATA") or HERE.parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(default), help="the folder of the corpora")
    parser.add_argument("--out", type=Path, default=Path("bench/latent"))
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args(None if arguments is None else list(arguments))
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part}; there are {', '.join(PARTS)}")
    sys.path.insert(0, str(HERE.parent))
    options.out.mkdir(parents=True, exist_ok=True)
    found = {}
    for part in options.parts or PARTS:
        path = options.out / f"{part}.json"
        if path.exists():
            print(f"== {part}: {path} is there already")
        else:
            print(f"== {part}", flush=True)
            path.write_text(json.dumps(measured(part, options.data, options.quick), indent=1, default=float))
        found[part] = json.loads(path.read_text())
    draw_rounds(found, options.out / "rounds.png")
    print(f"rounds against C: {options.out / 'rounds.png'}")


if __name__ == "__main__":
    main()
