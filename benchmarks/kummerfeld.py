"""Figure 1 and Table 1 of Kummerfeld et al. (2015), with this library's tasks and open data: seven panels, one command.

    python benchmarks/kummerfeld.py [--data DIR] [--out bench/kummerfeld] [--jobs 2] [--scale 1] [--panels ner …]

Every method of a panel is run for five epochs with each setting of its grid; the setting with the best development
score goes on (§3.1). Processes work side by side, a core each. A run is stored in OUT/runs when it is over, so the same
command, given again, makes only the runs that are missing. At the end OUT has figure.png and table1.md, which says what
holds of the paper's five observations. `kummerfeld_panels` lists data, sizes, methods and grids; `--scale` multiplies
the sizes. At scale 1 the whole takes 12 minutes on two cores.

Panels that cannot be run, for want of a corpus or of PyTorch, are errors: the others are run all the same.
"""

import argparse
import json
import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from kummerfeld_panels import BATCHES, METHODS, PANELS, SEED, Epoch, Setting
from kummerfeld_report import BATCHED, Run, report
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from widemargin.core.atomic import replacing

HERE = Path(__file__).resolve()
Tell = Callable[[int, str], None]


class Plan(NamedTuple):
    """What all jobs need to know; `tuning` and `epochs` are numbers of epochs, 0 for those of the panel."""

    data: Path
    out: Path
    scale: float
    tuning: int
    epochs: int

    def length(self, panel: str) -> int:
        """How many epochs the chosen setting is run for."""
        return max(self.epochs or PANELS[panel].epochs, self.tuning)

    def work(self, panel: str, method: str) -> int:
        """How many epochs a job makes."""
        n_settings, length = len(PANELS[panel].settings(method)), self.length(panel)
        return n_settings * self.tuning + length - self.tuning + (length if has_batches(panel, method) else 0)


def has_batches(panel: str, method: str) -> bool:
    """Whether the method is also run with larger batches."""
    return method == "adagrad-l2" and PANELS[panel].run is None


@lru_cache(maxsize=1)
def loaded(panel: str, data: Path, scale: float) -> Any:
    """The data of a panel; jobs of the same panel share them."""
    return PANELS[panel].load(data, scale)


def place(plan: Plan, panel: str, method: str, setting: Setting) -> Path:
    """The file of a run."""
    numbers = "".join(f",{name}={value:g}" for name, value in setting.items())
    return plan.out / "runs" / f"{panel},{method}{numbers}.json"


def stored(plan: Plan, panel: str, method: str, setting: Setting) -> Run | None:
    """A run that was made before, on the same data."""
    path = place(plan, panel, method, setting)
    if not path.exists():
        return None
    found = json.loads(path.read_text())
    if found["scale"] != plan.scale or found["seed"] != SEED or found["data"] != plan.data.name:
        return None
    return Run(panel, method, setting, [Epoch(*row) for row in found["epochs"]])


def store(plan: Plan, run: Run) -> None:
    about = {"scale": plan.scale, "seed": SEED, "data": plan.data.name}
    content = {"panel": run.panel, "method": run.method, "setting": run.setting, **about, "epochs": run.epochs}
    with replacing(place(plan, run.panel, run.method, run.setting)) as file:
        file.write(json.dumps(content, allow_nan=True))


class Course:
    """A run that can go on; stored runs are only made again if they must be longer."""

    def __init__(self, plan: Plan, panel: str, method: str, setting: Setting) -> None:
        self.plan, self.live, self.made = plan, None, 0
        self.run = stored(plan, panel, method, setting) or Run(panel, method, setting, [])

    def reach(self, length: int, tell: Tell) -> Run:
        """Make epochs until there are `length`."""
        run, plan = self.run, self.plan
        if len(run.epochs) < length:
            if self.live is None:
                method = BATCHES if run.method == BATCHED else METHODS[run.method]
                panel = PANELS[run.panel]
                self.live = panel.epochs_of(loaded(run.panel, plan.data, plan.scale), method, run.setting)
            while self.made < length:
                epoch = next(self.live)
                self.made += 1
                if self.made > len(run.epochs):
                    run.epochs.append(epoch)
                tell(1, "")
            store(plan, run)
        return run


def job(plan: Plan, panel: str, method: str, tell: Tell) -> None:
    """Tune a method on a panel, and run it with the best setting."""
    kept: Course | None = None
    for setting in PANELS[panel].settings(method):
        course = Course(plan, panel, method, setting)
        course.reach(plan.tuning, tell)
        tell(0, line(course.run))
        kept = course if kept is None else max(kept, course, key=lambda each: each.run.tuned(plan.tuning))
    assert kept is not None
    kept.reach(plan.length(panel), tell)
    tell(0, line(kept.run))
    if has_batches(panel, method):
        batched = Course(plan, panel, BATCHED, kept.run.setting).reach(plan.length(panel), tell)
        tell(0, line(batched))


def line(run: Run) -> str:
    """A run in a few words."""
    setting = ", ".join(f"{name} {value:g}" for name, value in run.setting.items())
    last = run.epochs[-1]
    return (
        f"{run.panel}, {run.method}, {setting}: {100 * run.best:.2f} within {len(run.epochs)} epochs of "
        f"{last.seconds / len(run.epochs):.2f} s, {last.decoding / max(last.seconds, 1e-9):.0%} of it decoding"
    )


_queue: Any = None


def _begin(queue: Any) -> None:
    global _queue  # noqa: PLW0603  # how a process of a pool gets what cannot be sent with a job
    _queue = queue


def in_process(plan: Plan, panel: str, method: str) -> str:
    """Do a job in a process of the pool; the errors that it met, or nothing."""
    return attempted(plan, panel, method, lambda advance, text: _queue.put((advance, text)))


def attempted(plan: Plan, panel: str, method: str, tell: Tell) -> str:
    try:
        job(plan, panel, method, tell)
    except Exception as error:  # the other jobs go on, and the command fails in the end
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{panel}, {method}: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    return ""


def jobs_of(panels: list[str]) -> Iterator[tuple[str, str]]:
    """Panels one after the other: processes share what they have compiled."""
    for panel in panels:
        for method in PANELS[panel].methods:
            yield panel, method


class Watch:
    """Shows progress: a bar in a terminal, and a line for each run that is over."""

    def __init__(self, total: int) -> None:
        self.console, self.done, self.total = Console(), 0, total
        columns = (TextColumn("epochs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=self.console, disable=not self.console.is_terminal)
        self.task = self.bar.add_task("", total=total)

    def __call__(self, advance: int, text: str) -> None:
        """Note epochs that were made, and show a text."""
        self.done += advance
        self.bar.advance(self.task, advance)
        if text:
            shown = text if self.console.is_terminal else f"[{self.done}/{self.total}] {text}"
            self.console.print(shown, markup=False, highlight=False, soft_wrap=True)


def make_all(plan: Plan, panels: list[str], n_jobs: int) -> list[str]:
    """Do all jobs; return the errors."""
    todo = list(jobs_of(panels))
    watch = Watch(sum(plan.work(*each) for each in todo))
    with watch.bar:
        if n_jobs < 1:
            return [error for each in todo if (error := attempted(plan, *each, watch))]
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        with ProcessPoolExecutor(n_jobs, mp_context=context, initializer=_begin, initargs=(queue,)) as pool:
            futures = [pool.submit(in_process, plan, *each) for each in todo]
            for future in futures:
                future.add_done_callback(lambda _: queue.put(None))
            left = len(futures)
            while left:
                told = queue.get()
                left -= told is None
                if told is not None:
                    watch(*told)
        return [error for future in futures if (error := future.result())]


def runs_of(plan: Plan, panels: list[str]) -> list[Run]:
    """All runs that there are."""
    found = []
    for panel, method in jobs_of(panels):
        for setting in PANELS[panel].settings(method):
            names = [method, BATCHED] if has_batches(panel, method) else [method]
            found += [run for name in names if (run := stored(plan, panel, name, setting)) and run.epochs]
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("WIDEMARGIN_DATA", HERE.parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="the folder of the corpora")
    parser.add_argument("--out", type=Path, default=Path("bench/kummerfeld"))
    parser.add_argument("--panels", nargs="+", choices=PANELS, default=list(PANELS))
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the sizes of the data")
    parser.add_argument("--tuning", type=int, default=5, help="epochs for each setting of the grid")
    parser.add_argument("--epochs", type=int, default=0, help="epochs for the best setting; those of the panel if 0")
    parser.add_argument("--jobs", type=int, default=2, help="processes; 0 works in this one")
    options = parser.parse_args(arguments)
    (options.out / "runs").mkdir(parents=True, exist_ok=True)
    plan = Plan(Path(options.data), options.out, options.scale, max(options.tuning, 1), options.epochs)
    # Each process has a core; libraries must not start threads of their own.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    errors = make_all(plan, options.panels, options.jobs)
    runs = runs_of(plan, options.panels)
    if runs:
        report(options.out, runs, plan.tuning, plan.scale)
        print(f"{options.out / 'figure.png'} and {options.out / 'table1.md'} have been written")
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
