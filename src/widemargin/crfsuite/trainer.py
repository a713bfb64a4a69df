"""python-crfsuite's `Trainer`, on our own solvers, and the one of ``sklearn_crfsuite.trainer``."""

import os
from typing import Any

from widemargin.crfsuite._logparser import TrainLogParser
from widemargin.crfsuite.algorithms import algorithm_of, convert, parameters_of
from widemargin.crfsuite.items import Instances, whole


class BaseTrainer:
    """Collects sequences, and trains a model on them.

    Parameters
    ----------
    algorithm : ``"lbfgs"`` (the default), ``"l2sgd"``, ``"ap"``, ``"pa"``, ``"arow"``, or one of this library's solvers
        by name, with optional parameters as in ``"mira(k=5)"``
    params : training parameters by name
    verbose : whether to print the log
    """

    def __init__(
        self, algorithm: str | None = None, params: dict[str, Any] | None = None, verbose: bool = True
    ) -> None:
        self._instances = Instances()
        self.select("lbfgs" if algorithm is None else algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def append(self, xseq: Any, yseq: Any, group: int = 0) -> None:
        """Add a sequence of items (see `ItemSequence`) with a label for each.

        `group` is a number by which `train` can hold sequences out.
        """
        self._instances.append(xseq, yseq, group)

    def clear(self) -> None:
        """Forget all sequences."""
        self._instances = Instances()

    def select(self, algorithm: str, type: str = "crf1d") -> None:  # noqa: A002 — python-crfsuite's name
        """Choose an algorithm; all its parameters have their defaults."""
        self._algorithm = algorithm_of(algorithm, type)
        self._parameters = parameters_of(self._algorithm)
        self._values = {name: each.default for name, each in self._parameters.items()}

    def params(self) -> list[str]:
        """The names of the algorithm's parameters."""
        return list(self._values)

    def set_params(self, params: dict[str, Any]) -> None:
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """All parameters and their values."""
        return dict(self._values)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; numbers may be given as text."""
        if name not in self._values:
            raise ValueError(f"Parameter not found: {name} = {int(value) if isinstance(value, bool) else value}")
        self._values[name] = convert(name, self._parameters[name], value)

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        if name not in self._values:
            raise ValueError(f"Parameter not found: {name} = ")
        return self._values[name]

    def help(self, name: str) -> str:
        """The purpose of a parameter."""
        if name not in self._values:
            raise ValueError(f"Parameter not found: {name}")
        return self._parameters[name].help

    def train(self, model: str | bytes | os.PathLike[str], holdout: int = -1) -> None:
        """Train, and write the model to the file `model`, unless its name is empty.

        The sequences of the group `holdout` are not trained on; their scores are in the log. Ctrl-C ends training and
        keeps what has been learnt.
        """
        from widemargin.crfsuite.training import train  # brings the compiler along

        path, group = os.fsdecode(model), whole(holdout)
        if not len(self._instances):
            raise ValueError("The data is empty. Call Trainer::append before Trainer::train.")
        self._before_train()
        train(self._instances, self._algorithm, self._values, path, group, self.message)

    def _before_train(self) -> None:
        """Called when training begins."""

    def message(self, message: str) -> None:
        """Called with each piece of the log; prints it if the trainer is verbose."""
        if self.verbose:
            print(message, end="")  # noqa: T201 — as python-crfsuite does


class Trainer(BaseTrainer):
    """A trainer that understands its log: it calls a method for each part of it, which prints it by default.

    | method | when it is called |
    | --- | --- |
    | on_start(log) | training begins |
    | on_featgen_progress(log, percent), on_featgen_end(log) | some of the weights, or all of them, are chosen |
    | on_prepared(log), on_prepare_error(log) | the first iteration begins, or there is nothing to train |
    | on_iteration(log, info) | an iteration is over; `info` is the last of `TrainLogParser.iterations` |
    | on_optimization_end(log) | all iterations are over |
    | on_end(log) | the model is written |

    Attributes
    ----------
    logparser : what the log of the last training says (`TrainLogParser`); None before
    """

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Called with each piece of the log; hands each of its parts to the method for it if the trainer is verbose."""
        assert self.logparser is not None
        event = self.logparser.feed(message)
        if not self.verbose or event is None:
            return
        details: dict[str, list[Any]] = {
            "featgen_progress": [self.logparser.featgen_percent],
            "iteration": [self.logparser.last_iteration],
        }
        getattr(self, f"on_{event}")(self.logparser.last_log, *details.get(event, []))

    def on_start(self, log: str, *details: Any) -> None:
        """Print a part of the log; the methods of all events do, unless they are replaced."""
        print(log, end="")  # noqa: T201

    on_featgen_progress = on_featgen_end = on_prepared = on_prepare_error = on_start
    on_iteration = on_optimization_end = on_end = on_start


COLUMNS = ("Label", "Precision", "Recall", "F1", "Support")


class LinePerIterationTrainer(Trainer):
    """Prints a line per iteration and, with holdout data, a table of the labels' scores at the end."""

    def on_iteration(self, log: str, *details: Any) -> None:
        """An iteration is over."""
        print(line_of(details[0]))  # noqa: T201 — what `verbose` asks for, where the peer's users look for it

    def on_optimization_end(self, log: str, *details: Any) -> None:
        """Training is over."""
        last = None if self.logparser is None else self.logparser.last_iteration
        scores = last["scores"] if last else {}
        if scores:
            print(table_of(scores))  # noqa: T201
        super().on_optimization_end(log)


def line_of(info: dict[str, Any]) -> str:
    """One iteration in one line.

    >>> line_of({"num": 3, "time": 0.01, "loss": 12.5, "active_features": 7, "feature_norm": 2.0})
    'Iter 3   time=0.01  loss=12.50    active=7     feature_norm=2.00'
    """
    parts = ["Iter {num:<3} ", "time={time:<5.2f} ", "loss={loss:<8.2f} "]
    if "active_features" in info:
        parts.append("active={active_features:<5} ")
    if "avg_precision" in info:
        parts.append("precision={avg_precision:0.3f}  recall={avg_recall:0.3f}  F1={avg_f1:0.3f}  ")
        parts.append("Acc(item/seq)={item_accuracy_float:0.3f} {instance_accuracy_float:0.3f}  ")
    if "feature_norm" in info:
        parts.append("feature_norm={feature_norm:<8.2f}")
    return "".join(parts).format(**info).strip()


def table_of(scores: dict[str, Any]) -> str:
    """The scores of all labels between rules, labels in order."""
    rows = [
        [label, *(f"{share or 0:.3f}" for share in (each.precision, each.recall, each.f1)), str(each.ref)]
        for label, each in sorted(scores.items())
    ]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    lines = [
        "  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])])
        for cells in [list(COLUMNS), ["-" * width for width in widths], *rows]
    ]
    width = len(lines[0])
    return "\n".join(["=" * width, *lines, "-" * width])
