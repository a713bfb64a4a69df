"""Tasks, one folder each: everything about one kind of output, from its features to its command line.

`TASKS` is the only list of them: `widemargin.load`, the command line, the public names and the tests read it. The
``__init__.py`` of a folder holds the parameters of the task, and describes it by `TASK`. Its functions import the other
parts when they are called: ``--help`` imports no NumPy, and training a tagger loads no parser.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from widemargin.errors import WidemarginError

if TYPE_CHECKING:
    from widemargin.tasks.base import Model
    from widemargin.tasks.estimator import Estimator
    from widemargin.tasks.files import Files, Reporter
    from widemargin.tasks.parameters import Parameters

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
    "graph": "widemargin.tasks.graph",
    "custom": "widemargin.tasks.custom",
}
"""The package of each task, by its name on the command line."""

FILLS_COLUMNS = "tag"
"""The task whose models fill in columns that the models of other tasks read (`tasks.carried`)."""


class Kind(NamedTuple):
    """One kind of trained model: its parts, imported on demand.

    `name` is the name of the estimator. `parameters` is a dataclass. `model` imports the class of trained models, and
    `estimator` the class that wraps them for scikit-learn. `arrays` imports a class that writes pieces of the data to
    arrays on disk (`tasks.out_of_core`). `foreign` has readers of other programs' model files, by the bytes that these
    begin with.
    """

    name: str
    parameters: "type[Parameters]"
    model: "Callable[[], type[Model]]"
    estimator: "Callable[[], type[Estimator[Any]]]"
    arrays: Any = None
    foreign: Mapping[bytes, Callable[[Any], Any]] = {}

    @property
    def compile(self) -> Callable[..., Any]:
        """Turns data into arrays."""
        return self.estimator()._compile

    @property
    def survey(self) -> Any:
        """Finds out what parts of the data must know of each other before each is compiled by itself (`tasks.survey`).

        None for models whose outputs always hide something.
        """
        return self.estimator()._survey

    @property
    def tags(self) -> Any:
        """Which tags a parser learns (`tasks.stacking.TagColumns`); None for other models."""
        return self.estimator()._tags


class Task(NamedTuple):
    """One task: its kinds of models, its files and its options.

    The keys of `kinds` are the names in model files. `does` and `example` appear in the command line's help. `files`
    makes the reader of the task's files; it is None for a task without a command line. `reporter` imports the reporter
    of models (`tasks.files.Reporter`); if it is None, `files` names it. `options` is a dataclass of command-line
    options that are not training parameters. `reads` lists the fields of `tasks.base.Reading` that the
    user may set. `scores_punctuation` says that scores may leave out punctuation.
    """

    kinds: Mapping[str, Kind]
    does: str = ""
    example: str = ""
    files: "Callable[[], Files] | None" = None
    reporter: "Callable[[], type[Reporter]] | None" = None
    options: type[Any] | None = None
    reads: tuple[str, ...] = ()
    scores_punctuation: bool = False

    def load_files(self) -> "Files":
        """The reader of the task's files."""
        assert self.files is not None, "the task has no command line"
        return self.files()


def task(name: str) -> Task:
    """The task of this name."""
    found: Task = import_module(TASKS[name]).TASK
    return found


def kinds() -> Iterator[tuple[str, Kind]]:
    """All kinds of models with their names in model files, task by task."""
    for name in TASKS:
        yield from task(name).kinds.items()


def reporter_of(name: str) -> "type[Reporter]":
    """The class that reports on models of the kind with this name."""
    found = next(each for each in map(task, TASKS) if name in each.kinds)
    if found.reporter is not None:
        return found.reporter()
    if found.files is not None:
        return found.load_files().reporter
    from widemargin.tasks.weights import WeightsReporter  # for tasks that are used from Python

    return WeightsReporter


def estimators() -> dict[str, Kind]:
    """Every kind of model by the name of its estimator."""
    return {kind.name: kind for _, kind in kinds()}


def estimator_named(name: str) -> Kind | None:
    """The kind of model whose estimator has this name; tasks after it are not looked at, and so not imported."""
    return next((kind for _, kind in kinds() if kind.name == name), None)


def kind_of(parameters: Any) -> tuple[Task, str, Kind]:
    """The task, and the kind of model with its name, that parameters, or an estimator, belong to."""
    for each in map(task, TASKS):
        for name, kind in each.kinds.items():
            if isinstance(parameters, kind.parameters):
                return each, name, kind
    raise WidemarginError(f"these are no parameters of a task: {parameters!r:.60}")
