"""Tasks, one folder each: everything about one kind of output, from its features to its command line.

`TASKS` is the only list of them. `widemargin.load`, the command line, the public names, the documentation and the tests
go by it. A folder describes itself by `TASK` in its ``__init__.py``, which is nothing but names: the parts are imported
when they are asked for, so that whoever trains a tagger loads no parser.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

TASKS = {
    "tag": "widemargin.tasks.tag",
    "segment": "widemargin.tasks.segment",
    "parse": "widemargin.tasks.parse",
    "bracket": "widemargin.tasks.bracket",
    "classify": "widemargin.tasks.classify",
    "custom": "widemargin.tasks.custom",
}
"""The package of every task, by the name that the command line knows it by."""


class Kind(NamedTuple):
    """One kind of trained model: where its parts are, each as ``module.name`` within the folder of the task.

    `parameters` is the dataclass of its parameters, `compile` makes arrays of data, `model` is the trained
    model, `estimator` is scikit-learn's view of all that.
    """

    package: str
    parameters: str
    compile: str
    model: str
    estimator: str

    def load(self, part: str) -> Any:
        """Import one of the parts."""
        return _imported(self.package, getattr(self, part))


class Task(NamedTuple):
    """A task.

    `kinds` are named as model files name them. `does` and `example` are for the help of the command line; `files` is
    how the task meets files (`tasks.files.Files`), None where it has no command line, `options` a dataclass of options
    that are no parameters of training, and `reads` says how the user may want files to be read (`tasks.base.Reading`).
    """

    package: str
    kinds: Mapping[str, Kind]
    does: str = ""
    example: str = ""
    files: str | None = None
    options: str | None = None
    reads: tuple[str, ...] = ()

    def load_options(self) -> Any:
        """The dataclass of the task's own options; None where it has none."""
        return None if self.options is None else _imported(self.package, self.options)

    def load_files(self) -> Any:
        """How the task meets files."""
        assert self.files is not None, f"{self.package} has no command line"
        return _imported(self.package, self.files)()


def task(name: str) -> Task:
    """The task of this name."""
    found: Task = import_module(TASKS[name]).TASK
    return found


def kinds() -> Iterator[tuple[str, Kind]]:
    """All kinds of models with the names that model files know them by, task after task."""
    for name in TASKS:
        yield from task(name).kinds.items()


def estimators() -> dict[str, Kind]:
    """Every kind of model by the name of its estimator."""
    return {kind.estimator.rpartition(".")[2]: kind for _, kind in kinds()}


def _imported(package: str, place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"{package}.{module}"), name)
