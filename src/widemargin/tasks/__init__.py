"""Tasks, one folder each: everything about one kind of output, from its features to its command line.

`TASKS` is the only list of them: `widemargin.load`, the command line, the public names and the tests read it. Every
folder describes itself by `TASK` in its ``__init__.py``, which holds nothing but names. The parts are imported on
demand, so that training a tagger loads no parser.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from widemargin.errors import WidemarginError

TASKS = {
    "tag": "widemargin.tasks.tag",
    "segment": "widemargin.tasks.segment",
    "parse": "widemargin.tasks.parse",
    "bracket": "widemargin.tasks.bracket",
    "classify": "widemargin.tasks.classify",
    "rank": "widemargin.tasks.rank",
    "cluster": "widemargin.tasks.cluster",
    "coreference": "widemargin.tasks.coreference",
    "motif": "widemargin.tasks.motif",
    "summarise": "widemargin.tasks.summarise",
    "custom": "widemargin.tasks.custom",
}
"""The package of each task, by its name on the command line."""

FILLS_COLUMNS = "tag"
"""The task whose models fill in columns that the models of other tasks read (`tasks.carried`)."""


class Kind(NamedTuple):
    """One kind of trained model: where its parts are, each as ``module.name`` within the folder of the task.

    ``.module.name`` is a part that tasks share, next to their folders.

    `parameters` is a dataclass. `compile` turns data into arrays. `model` is the trained model, and `estimator` wraps
    it for scikit-learn. `foreign` names readers of other programs' model files, by the bytes that these begin with.
    `survey` names one that finds out what parts of the data must know of each other before each can be compiled by
    itself (`tasks.survey`); models whose outputs always hide something have none. `tags` says which tags a parser
    learns (`tasks.stacking.TagColumns`). `arrays` names a class that writes pieces of the data to arrays on disk
    (`tasks.out_of_core`).
    """

    package: str
    parameters: str
    compile: str
    model: str
    estimator: str
    foreign: Mapping[bytes, str] = {}
    survey: str = ""
    tags: str = ""
    arrays: str = ""

    def load(self, part: str) -> Any:
        """Import one of the parts."""
        return _imported(self.package, getattr(self, part))

    def load_foreign(self, beginning: bytes) -> Any:
        """Import the reader of other programs' files that begin so; None if there is none."""
        found = next((place for magic, place in self.foreign.items() if beginning.startswith(magic)), None)
        return None if found is None else _imported(self.package, found)


class Task(NamedTuple):
    """One task: its kinds of models, its files and its options.

    The keys of `kinds` are the names in model files. `does` and `example` appear in the command line's help. `files`
    names the reader of the task's files (`tasks.files.Files`); it is None for a task without a command line. `options`
    names a dataclass of command-line options that are not training parameters. `reads` lists the fields of
    `tasks.base.Reading` that the user may set. `scores_punctuation` says that scores may leave out punctuation.
    """

    package: str
    kinds: Mapping[str, Kind]
    does: str = ""
    example: str = ""
    files: str | None = None
    options: str | None = None
    reads: tuple[str, ...] = ()
    scores_punctuation: bool = False

    def load_options(self) -> Any:
        """The dataclass of the task's own options, or None."""
        return None if self.options is None else _imported(self.package, self.options)

    def load_files(self) -> Any:
        """The reader of the task's files."""
        assert self.files is not None, f"{self.package} has no command line"
        return _imported(self.package, self.files)()


def task(name: str) -> Task:
    """The task of this name."""
    found: Task = import_module(TASKS[name]).TASK
    return found


def kinds() -> Iterator[tuple[str, Kind]]:
    """All kinds of models with their names in model files, task by task."""
    for name in TASKS:
        yield from task(name).kinds.items()


def estimators() -> dict[str, Kind]:
    """Every kind of model by the name of its estimator."""
    return {kind.estimator.rpartition(".")[2]: kind for _, kind in kinds()}


def estimator_named(name: str) -> Kind | None:
    """The kind of model whose estimator has this name; tasks after it are not looked at, and so not imported."""
    return next((kind for _, kind in kinds() if kind.estimator.rpartition(".")[2] == name), None)


def kind_of(parameters: Any) -> tuple[Task, str, Kind]:
    """The task, and the kind of model with its name, that parameters, or an estimator, belong to."""
    for each in map(task, TASKS):
        for name, kind in each.kinds.items():
            if isinstance(parameters, kind.load("parameters")):
                return each, name, kind
    raise WidemarginError(f"these are no parameters of a task: {parameters!r:.60}")


def _imported(package: str, place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(import_module(f".{module}", package), name)
