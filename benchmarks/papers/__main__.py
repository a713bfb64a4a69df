"""Five papers again: every table and figure, on open corpora, and which of their claims hold.

    python benchmarks/papers [PAPER …] [--only NAME …] [--quick] [--jobs 1] [--data DIR] [--out DIR] [--report DIR]

Every experiment is a process of its own with one thread, as in the papers, and stores one JSON file in
OUT/PAPER when it is over: the same command, given again, runs only what is missing (`--again` runs all of it). Then the
report is written to REPORT, OUT/report unless given: Markdown, pictures, and everything as one web page. `--quick` runs
small sizes, to see that everything works. Experiments that fail, for want of a corpus say, are errors at the end;
the others are run all the same.
"""

import multiprocessing
import os
import sys
import traceback
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from experiment import Bench, Paper
from pages import write_report
from results import measure, stored
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

PAPERS = ("chang_yih", "kummerfeld", "yu_joachims", "balamurugan", "sarawagi_gupta")
"""The modules, each with a `PAPER`."""

_queue: Any = None


def paper_of(module: str) -> Paper:
    """The paper that a module describes."""
    found: Paper = import_module(module).PAPER
    return found


def begin(queue: Any) -> None:
    """Give a process the way to tell how it goes."""
    global _queue  # noqa: PLW0603  # how a process of a pool gets what cannot be sent with a job
    _queue = queue


def work(module: str, name: str, data: Path, out: Path, quick: bool) -> str:
    """Run one experiment in a process of its own; the error that it met, or nothing."""
    paper = paper_of(module)
    experiment = next(each for each in paper.experiments if each.name == name)
    label = f"{paper.key} {name}"
    try:
        seconds = measure(out, paper.key, experiment, Bench(data, quick, lambda text: _queue.put(f"{label}: {text}")))
    except Exception as error:  # the other experiments go on, and the command fails in the end
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{label}: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    _queue.put(f"{label}: done in {seconds:.0f} s")
    return ""


def run_all(todo: list[tuple[str, str]], data: Path, out: Path, quick: bool, jobs: int) -> list[str]:
    """Run experiments; return the errors."""
    console, over = Console(), 0
    columns = (TextColumn("experiments"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    with (
        Progress(*columns, console=console, disable=not console.is_terminal) as bar,
        ProcessPoolExecutor(jobs, context, begin, (queue,), max_tasks_per_child=1) as pool,
    ):
        task = bar.add_task("", total=len(todo))
        futures = [pool.submit(work, *each, data, out, quick) for each in todo]
        for future in futures:
            future.add_done_callback(lambda _: queue.put(None))
        try:
            while over < len(futures):
                told = queue.get()
                if told is None:
                    over += 1
                    bar.advance(task)
                else:
                    shown = told if console.is_terminal else f"[{over}/{len(futures)}] {told}"
                    console.print(shown, markup=False, highlight=False, soft_wrap=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        return [error for future, each in zip(futures, todo, strict=True) if (error := failure(future, *each))]


def failure(future: Future[str], module: str, name: str) -> str:
    """The error of an experiment that is over, or nothing."""
    try:
        return future.result()
    except BrokenProcessPool:
        return f"{module} {name}: its process was killed, or that of another experiment"


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
