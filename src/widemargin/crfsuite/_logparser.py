"""Reads the log of CRFsuite's training, line by line, while it is written.

The log is a sequence of parts, each of which ends with an event: ``start``, ``featgen_progress`` (many times),
``featgen_end``, ``prepared`` (or ``prepare_error``), ``iteration`` (many times), ``optimization_end``, ``end``.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

LABEL = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \((\S+), (\S+), (\S+)\)")
HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
MACRO = re.compile(r"Macro-average precision, recall, F1: \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)")
ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")
TOTAL = re.compile(r"Total seconds required for training: (\d+\.\d+)")
FEATURES = re.compile(r"Number of features: (\d+)")
NUMBERS: dict[str, tuple[str, Callable[[str], float]]] = {
    "Loss": ("loss", float),
    "Feature norm": ("feature_norm", float),
    "Error norm": ("error_norm", float),
    "Active features": ("active_features", int),
    "Line search trials": ("linesearch_trials", int),
    "Line search step": ("linesearch_step", float),
    "Seconds required for this iteration": ("time", float),
}
"""The lines of an iteration that hold one number each, what they are called, and their types."""
PROGRESS = {".", *map(str, range(11))}


class LabelScore(NamedTuple):
    """How well a label was found: counts of its matches, of predictions and of gold labels, and the ratios of these."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainLogParser:
    """The facts in the lines of the log so far.

    Attributes
    ----------
    iterations : a dict per iteration: ``num``, ``loss``, ``time``, ``scores`` and all other facts in its lines
    last_iteration : the last of them
    featgen_percent, featgen_num_features, featgen_seconds : of the generation of features
    training_seconds, storing_seconds : how long the later parts took
    log, events : all lines, and (event, first line, end) for each event
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Read one line; if it ends a part of the log, return its event."""
        self.log.append(line)
        if self.state is None:
            self.state = "STARTING"
            self._starting(line)
            self.events.append(("start", 0, 1))
            return "start"
        event: str | None = getattr(self, f"_{self.state.lower()}")(line)
        if event is not None:
            # These events are known only from the first line of the next part.
            end = len(self.log) - (event in ("prepared", "optimization_end"))
            self.events.append((event, self.events[-1][2], end))
        return event

    @property
    def last_log(self) -> str:
        """The lines of the part that ended last."""
        _, begin, end = self.events[-1]
        return "".join(self.log[begin:end])

    def _starting(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"

    def _featgen(self, line: str) -> str | None:
        if line in PROGRESS:
            self.featgen_percent += 2
            return "featgen_progress"
        if found := FEATURES.match(line):
            self.featgen_num_features = int(found[1])
        elif found := SECONDS.match(line):
            self.featgen_seconds = float(found[1])
            self.state = "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def _after_featgen(self, line: str) -> str | None:
        if HEAD.match(line):
            self.state = "ITERATION"
            self._iteration(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _iteration(self, line: str) -> str | None:
        if found := HEAD.match(line):
            self.last_iteration = {"num": int(found[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
        elif line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        else:
            assert self.last_iteration is not None
            self.last_iteration |= _numbers(line)
            self.last_iteration["scores"] |= _label_score(line)
        return None

    def _after_iteration(self, line: str) -> str | None:
        if HEAD.match(line):
            self.state = "ITERATION"
            return self._iteration(line)
        if found := TOTAL.match(line):
            self.training_seconds = float(found[1])
        elif line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        if found := SECONDS.match(line):
            self.storing_seconds = float(found[1]) or None  # as python-crfsuite has it: too short to tell
        return "end" if line == "\n" else None


def _numbers(line: str) -> dict[str, Any]:
    """The facts in a line of an iteration, by name."""
    name, _, value = line.partition(": ")
    if name in NUMBERS:
        key, kind = NUMBERS[name]
        return {key: kind(value)}
    if found := MACRO.match(line):
        return {key: float(found[k]) for k, key in enumerate(("avg_precision", "avg_recall", "avg_f1"), 1)}
    if found := ACCURACY.match(line):
        key, share = f"{found[1].lower()}_accuracy", Fraction(int(found[2]), int(found[3]))
        return {key: share, f"{key}_float": float(share)}
    return {}


def _label_score(line: str) -> dict[str, LabelScore]:
    found = LABEL.match(line)
    if not found:
        return {}
    ratios = [None if text.startswith("*") else float(text) for text in found.groups()[4:]]
    return {found[1]: LabelScore(int(found[2]), int(found[3]), int(found[4]), *ratios)}
