"""`widemargin score`: how well the outputs in one file agree with those in another, without a model."""

from dataclasses import fields
from typing import Any

from widemargin.cli.evaluate import print_evaluation
from widemargin.cli.output import Printer, print_json
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.files.raw import RawText
from widemargin.tasks import TASKS, Task
from widemargin.tasks import task as named
from widemargin.tasks.base import Reading
from widemargin.tasks.files import Files, Likeness


def run(
    *,
    gold: str,
    predicted: str,
    task: str | None,
    no_punctuation: bool,
    as_json: bool,
    quiet: bool,
    **reading: Any,
) -> None:
    """Read both files, compare, print."""
    how = Reading(**reading)
    if gold == predicted == "-":
        raise WidemarginError("only one of the files can be standard input")
    name = _guessed(gold, how) if task is None else task
    if named(name).files is None:
        raise UnsupportedError(f"the task {name} has no files to compare")
    options = {"punctuation": False} if no_punctuation else {}
    if options and not named(name).scores_punctuation:
        raise UnsupportedError("--no-punctuation is about dependency trees")
    files: Files = named(name).load_files()
    own = _own(named(name))
    right = files.read(gold, how, {}, gold=True, **own)
    found = files.predicted(predicted, how, right, **own)
    try:
        files.check_aligned(right, found)
        evaluation = files.compared(right, found, **options)
    except DataError as error:
        if str(error).startswith(f"{predicted}, "):
            raise
        raise DataError(f"{predicted} does not fit {gold}: {error}") from error
    label = {"label": right.about["label"]} if "label" in right.about else {}
    results = {"gold": gold, "predicted": predicted, "task": name, **label, **right.size, **evaluation.results}
    if as_json:
        print_json(results)
    elif quiet:
        Printer().line(f"{evaluation.results[evaluation.main]:.6f}")
    else:
        print_evaluation(Printer(), predicted, right, evaluation)


def _guessed(gold: str, reading: Reading) -> str:
    """The most likely task of the gold file; ties go to the first."""
    if gold == "-":
        raise WidemarginError("what standard input is about cannot be guessed; name the task by --task")
    raw = RawText.load(gold)
    found = {name: each.load_files().likeness(raw, reading) for name in TASKS if (each := named(name)).files}
    best = max(found, key=lambda name: found[name])
    if found[best] is Likeness.NONE:
        raise WidemarginError(f"{gold} does not tell what it is about; name the task by --task ({', '.join(found)})")
    return best


def _own(task: Task) -> dict[str, Any]:
    """The defaults of the task's own options."""
    options = task.options
    return {} if options is None else {field.name: field.default for field in fields(options)}
