"""Experiments in processes of their own: they are found by their names, tell how they go, and what fails is told.

Not in `__main__`, which a process that is started anew does not import.
"""

import multiprocessing
import traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from pathlib import Path
from typing import Any

from experiment import Bench, Paper
from results import measure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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
        told = f"{label}: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        _queue.put(told)
        return told
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
        try:
            return [error for future in futures if (error := future.result())]
        except BrokenProcessPool:
            return ["a process was killed, for want of memory say; the same command goes on with what is missing"]
