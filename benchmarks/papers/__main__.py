"""Five papers again: every table and figure, on open corpora, and which of their claims hold.

    python benchmarks/papers [PAPER …] [--only NAME …] [--quick] [--jobs 1] [--data DIR] [--out DIR] [--report DIR]

Every experiment is a process of its own with one thread, as in the papers, and stores one JSON file in
OUT/PAPER when it is over: the same command, given again, runs only what is missing (`--again` runs all of it). Then the
report is written to REPORT, OUT/report unless given: Markdown, pictures, and everything as one web page. `--quick` runs
small sizes, to see that everything works. Experiments that fail, for want of a corpus say, are errors at the end;
the others are run all the same.
"""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click
from pages import write_report
from processes import paper_of, run_all
from results import stored

PAPERS = ("chang_yih", "kummerfeld", "yu_joachims", "balamurugan", "sarawagi_gupta")
"""The modules, each with a `PAPER`."""


@click.command(help=__doc__)
@click.argument("papers", nargs=-1, type=click.Choice([name.replace("_", "-") for name in PAPERS]))
@click.option("--only", multiple=True, help="Only experiments whose names begin with this.")
@click.option("--quick", is_flag=True, help="Small sizes.")
@click.option("--again", is_flag=True, help="Also what has been run before.")
@click.option("--jobs", default=1, show_default=True, help="Experiments side by side; times want 1.")
@click.option("--data", type=click.Path(path_type=Path), envvar="WIDEMARGIN_DATA", help="The folder of the corpora.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("bench/papers"), show_default=True)
@click.option("--report", type=click.Path(path_type=Path), help="Where the report goes.")
def main(papers: tuple[str, ...], only: tuple[str, ...], quick: bool, again: bool, jobs: int, **places: Any) -> None:
    """Run what is missing, then write the report."""
    # An experiment has one thread: libraries must not start others.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    data = places["data"] or Path(__file__).resolve().parents[3] / "shared" / "data"
    out = places["out"] / ("quick" if quick else "full")
    modules = [name.replace("-", "_") for name in papers] or list(PAPERS)
    known = {module: paper_of(module) for module in modules}
    todo = [
        (module, each.name)
        for module, paper in known.items()
        for each in paper.experiments
        if (not only or each.name.startswith(only)) and (again or stored(out, paper.key, each.name, quick) is None)
    ]
    try:
        errors = run_all(todo, data, out, quick, jobs) if todo else []
    except KeyboardInterrupt:
        click.echo("stopped; the same command goes on with what is missing", err=True)
        sys.exit(130)
    pages = places["report"] or out / "report"
    load = partial(stored, out, quick=quick)
    write_report(
        pages,
        [
            (paper, {each.name: found for each in paper.experiments if (found := load(paper.key, each.name))})
            for paper in map(paper_of, PAPERS)
        ],
    )
    click.echo(f"the report is in {pages}")
    for error in errors:
        click.echo(f"error: {error}", err=True)
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
