"""`widemargin warm`: compile all kernels of a task, so that later first runs start at once.

Every task learns from a small file and predicts it, by the same commands that a user would give.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from widemargin._jit import kernel_directory, seconds_compiling
from widemargin.cli.commands import main
from widemargin.cli.output import Printer
from widemargin.data.samples import SAMPLES
from widemargin.errors import WidemarginError


def run(*, tasks: Sequence[str], quiet: bool) -> int | None:
    """Warm up the named tasks, or all."""
    unknown = [name for name in tasks if name not in SAMPLES]
    if unknown:
        raise WidemarginError(f"there is no task {unknown[0]!r} to warm up; there are {', '.join(SAMPLES)}")
    directory = kernel_directory()
    if directory is None:
        raise WidemarginError(
            "compiled kernels are not kept: compiling is switched off, or no folder can be written to; NUMBA_CACHE_DIR "
            "names one"
        )
    printer = Printer(enabled=not quiet)
    for name in dict.fromkeys(tasks or SAMPLES):
        before = seconds_compiling()
        code = _learn_and_predict(name)
        if code:
            return code
        printer.line(f"{name}: {seconds_compiling() - before:.1f} seconds of compiling")
    printer.line(f"compiled kernels are in {directory}")
    return None


def _learn_and_predict(name: str) -> int | None:
    """Run `train` and `predict`; return the exit code of the first that fails."""
    sample = SAMPLES[name]()
    with TemporaryDirectory(prefix="widemargin-") as folder:
        data, model, out = (str(Path(folder) / file) for file in (sample.name, "model.wm", f"out-{sample.name}"))
        Path(data).write_text(sample.text, encoding="utf-8")
        train = ["train", name, "--train", data, "--out", model, "--quiet", *sample.options]
        scored = [*train, "--dev", data]  # training with and without a score use different kernels
        return _command(*train) or _command(*scored) or _command("predict", model, data, "--out", out)


def _command(*arguments: str) -> int | None:
    """Run a command of the program without warnings, such as those about too little data."""
    with warnings.catch_warnings(), main.make_context("widemargin", list(arguments)) as context:
        warnings.simplefilter("ignore")
        code: int | None = main.invoke(context)
        return code
