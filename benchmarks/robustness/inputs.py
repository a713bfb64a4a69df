"""Mutated inputs of every kind: whatever a file holds, reading it succeeds or ends with an error of the library.

There is a row for every file format, every task, every option that names a file, every kind of model, and checkpoints
of solvers of every family; the registries of the library and of its tests list them.
"""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import mutate
import numpy as np
from worker import run

import widemargin
from helpers import SOLVERS, problem
from helpers.files import FORMAT_FILES, TASK_FILES, TaskFile
from helpers.models import EXPECTED, FIXTURES, exercise, given_for, inputs_of, train_on
from widemargin.cli.commands import main
from widemargin.core.checkpoint import Checkpoint
from widemargin.core.loop import Stop, fit
from widemargin.crfsuite import Tagger
from widemargin.errors import UnsupportedError
from widemargin.files.document import label_column
from widemargin.files.formats import FORMATS, read
from widemargin.files.given import READERS
from widemargin.files.lcrf import ChainFile, Weights, lcrf_bytes
from widemargin.files.raw import RawText
from widemargin.tasks.base import Reading, load_model

TOKENS = [["Main", "Street", "7", "99603", "New", "York"], ["a"], []]

TEMPLATES = "bias word lower[-1..1] suffix3|shape  # all of them\ntransition:word\nlexicon(a) cluster(a,4) pos[1]\n"
COSTS = '{"name": 2.0, "city": {"O": 3, "name": 0.5}}'
PENALTIES = f'{{"precision": {{"city": 1}}, "recall": {{"city": 2.5}}, "confusion": {COSTS}}}'
LEXICON = "New York\nBury St Edmunds\n\n  Köln \nthe\n"
CLUSTERS = "0110\tStreet\t12\n111\tMünchen\t3\n0\tNew\t1\n"

CRFSUITE = ChainFile(
    ["O", "B-é", "I-é"],
    ["bias", "é", "b" * 20],
    Weights(np.array([0, 0, 1, 2]), np.array([0, 2, 1, 2]), np.array([1.5, -2.0, 0.25, 3.0])),
    Weights(np.array([0, 1]), np.array([1, 2]), np.array([0.5, 1.0])),
)
"""A model in the form of CRFsuite's files."""

PREDICTING = [
    [],
    ["--best", "2"],
    ["--confidence"],
    ["--probabilities"],
    ["--minimum-risk"],
    ["--bio"],
    ["--allowed", "2"],
    ["--forced", "label"],
    ["--at-most-one", "city", "--bio"],
    ["--text"],
    ["--draw", "-"],
]
"""Options of `predict`; a task that lacks one says so, which is as good an outcome as any."""


class Kind(NamedTuple):
    """One kind of input: files to begin with, their name, how they are mutated, and what is done with them.

    What is done with a file may depend on chance; so whole files are tried several times, unless that takes too long.
    """

    seeds: Sequence[bytes]
    name: str
    mutator: mutate.Mutator
    use: Callable[[Path, Random], None]
    tries: int = 10

    def content(self, rng: Random) -> bytes:
        """A mutated file; one in fifty is whole, to see that it is taken."""
        content = rng.choice(self.seeds)
        for _ in range(rng.choice([1, 1, 1, 2, 3]) if rng.random() > 0.02 else 0):
            changed = self.mutator(rng, content)
            if self.mutator not in (mutate.of_bytes, mutate.of_text):
                return changed  # it may no longer be a container that can be taken apart
            content = changed or content
        return content


def campaign(minutes: float, seed: int, *, jobs: int = 1, replay: Path | None = None, runs: int | None = None) -> bool:
    """Whether all inputs of some minutes had an allowed outcome."""
    os.environ["WIDEMARGIN_DEBUG"] = "1"  # errors leave the command line as they are
    try:
        return run(kinds, minutes, seed, jobs=jobs, replay=replay, runs=runs)
    finally:
        del os.environ["WIDEMARGIN_DEBUG"]


def kinds(folder: Path) -> dict[str, Kind]:
    """All kinds of inputs; models that they need are trained into `folder`."""
    return dict([*_formats(), *_task_files(folder), *_option_files(), *_models(folder), *_checkpoints(folder)])


def _encoded(text: str, most: int = 1500) -> bytes:
    """The first sentences or lines of a text: small files are read fast, and mutated where it matters."""
    blank = "\n\n" if "\n\n" in text else "\n"
    return (text if len(text) <= most else text[: text.rindex(blank, 0, most)] + "\n").encode()


# Formats


def _formats() -> Iterator[tuple[str, Kind]]:
    assert set(FORMAT_FILES) == set(FORMATS), "tests/helpers/files.py needs a row for every format"
    for name, samples in FORMAT_FILES.items():
        seeds = [*map(_encoded, samples())]
        yield f"format-{name}", Kind(seeds, "input" + FORMATS[name].suffixes[0], mutate.of_text, partial(_read, name))


def _read(name: str, path: Path, rng: Random) -> None:
    if not FORMATS[name].has_tokens:
        data = FORMATS[name].parse(RawText.load(path))
        if not hasattr(data, "matrix"):
            data.classes()
            return
        data.matrix(5)
        data.relabel([",".join(each) for each in data.labels])
        data.classes()
        return
    document = read(path, format=rng.choice([name, name, None]), names=rng.choice([None] * 9 + [["word", "label"]]))
    document.text()
    label = label_column(document, rng.choice([None, None, "1"]))
    document.text({label: rng.sample(document.columns[label].strings(), document.columns.n_tokens)})
    for column in document.columns.names:
        document.columns.sequences(column)


# Files of tasks, through the commands


def command(*args: object) -> None:
    """Run a command line, whatever its exit code."""
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            main.main([*map(str, args)])
    except SystemExit:
        pass


def _train(row: TaskFile, task: str, data: Path, out: Path) -> None:
    fast = ["--epochs", 1, "--jobs", 1, "--quiet"]
    command("train", task, "--train", data, "--out", out, *fast, *row.options)


def _data(folder: Path, task: str, row: TaskFile) -> Path:
    """The file of a task; several tasks have a file of the same name."""
    return folder / f"{task}-{row.name}"


def _task_files(folder: Path) -> Iterator[tuple[str, Kind]]:
    for task, make in TASK_FILES.items():
        row = make()
        content, model = _encoded(row.text, 1600), folder / f"{task}.wm"
        data = _data(folder, task, row)
        data.write_bytes(content)
        _train(row, task, data, model)
        with suppress(UnsupportedError):  # not every kind of model has confidence to calibrate
            command("calibrate", model, data)
        yield f"file-{task}", Kind([content], row.name, mutate.of_text, partial(_use_task_file, row, task, model))


def _use_task_file(row: TaskFile, task: str, model: Path, path: Path, rng: Random) -> None:
    out = path.with_name("out" + rng.choice([path.suffix, ".wm"]))
    change = rng.random()
    if change < 0.4:
        _train(row, task, path, out)
        if out.exists():
            load_model(out)
    elif change < 0.8:
        command("predict", model, path, "--out", out, "--jobs", 1, *rng.choice(PREDICTING))
    elif change < 0.9:
        command("evaluate", model, path, "--json", "--jobs", 1)
    else:
        command(
            "inspect", model, "--explain", path, *rng.choice([[], ["--token", 1], ["--span", "1:2"], ["--label", "O"]])
        )


# Files that options name


def _option_files() -> Iterator[tuple[str, Kind]]:
    samples = {"templates": TEMPLATES, "costs": COSTS, "lexicons": LEXICON, "clusters": CLUSTERS}
    # A path names data of the task itself, which are mutated as its files.
    assert set(samples) == set(READERS) - {"path"}, "every kind of file that an option names needs a sample"
    for name, text in samples.items():
        yield f"option-{name}", Kind([text.encode()], "input.txt", mutate.of_text, partial(_use_option, name))
    yield "option-penalties", Kind([PENALTIES.encode()], "input.json", mutate.of_text, _use_penalties)


def _use_option(name: str, path: Path, rng: Random) -> None:
    given = READERS[name]([("a", str(path))] if name in ("lexicons", "clusters") else str(path))
    options: dict[str, Any] = {"templates": "word", "max_epochs": 1, "n_jobs": 1}
    if name in ("lexicons", "clusters"):
        options["templates"] = f"{name.removesuffix('s')}(a)[-1..1]"
    labels = [["name", "name", "O", "O", "city", "city"], ["O"], []]
    widemargin.SequenceTagger(**options | {name: given}).fit(TOKENS, labels).predict(TOKENS)


def _use_penalties(path: Path, rng: Random) -> None:
    from widemargin.tasks.segment.files import read_penalties

    spans = [[(4, 6, "city"), (0, 2, "name")], [], []]
    options = {"templates": "word", "max_epochs": 1, "n_jobs": 1, **read_penalties(str(path))}
    widemargin.Segmenter(**options).fit(TOKENS, spans).predict(TOKENS)


# Models


def _models(folder: Path) -> Iterator[tuple[str, Kind]]:
    for name in EXPECTED:
        path, given = FIXTURES / f"{name}.wm", given_for(name)
        known = inputs_of(name), widemargin.load(path, **given).predict(inputs_of(name)), given
        yield from _of_model(f"{name}-0.1", path, *known)
        if name == "custom":
            widemargin.load(path, **given).save(folder / "custom.wm")
            yield from _of_model(name, folder / "custom.wm", *known)
    for task, make in TASK_FILES.items():
        path = folder / f"{task}.wm"
        corpus = load_model(path).read(str(_data(folder, task, make())), Reading(), gold=True)
        yield from _of_model(task, path, corpus.X, corpus.y, {})
    yield "model-crfsuite", Kind([lcrf_bytes(CRFSUITE)], "input.crfsuite", mutate.of_bytes, _use_crfsuite)


def _of_model(name: str, path: Path, inputs: Any, gold: Any, given: dict[str, Any]) -> Iterator[tuple[str, Kind]]:
    """A model that is asked for everything, and one that is trained on."""
    content = [path.read_bytes()]
    yield f"model-{name}", Kind(content, "input.wm", mutate.of_model, partial(_use_model, inputs, given))
    use = partial(_train_on, inputs, gold, given)
    yield f"trained-{name}", Kind(content, "input.wm", mutate.of_parameters, use, tries=1)


def _use_model(inputs: Any, given: dict[str, Any], path: Path, rng: Random) -> None:
    exercise(path, inputs, as_json=[rng.random() < 0.95], **given)


def _train_on(inputs: Any, gold: Any, given: dict[str, Any], path: Path, rng: Random) -> None:
    train_on(path, inputs, gold, **given)


def _use_crfsuite(path: Path, rng: Random) -> None:
    tagger = Tagger()
    try:
        with tagger.open(path):
            tagger.tag([["bias", "é"], {"bias": 0.5, "b" * 20: True}, []])
            for label in tagger.labels():
                tagger.marginal(label, 1)
            tagger.info()
        widemargin.load(path).predict_best([[["bias"], ["é"]]], 2)
        command("inspect", path)
    except ValueError as error:
        # python-crfsuite's own errors, by its own words, are no errors of the library.
        if "Invalid model file" not in str(error) and "complete header" not in str(error):
            raise


# Checkpoints


def _checkpoints(folder: Path) -> Iterator[tuple[str, Kind]]:
    for name in ("dcd", "one-slack", "perceptron", "adagrad", "sgd"):
        solver = SOLVERS[name]
        path = folder / f"{name}.checkpoint"
        fit(_problem(solver), solver, stop=Stop(epochs=2, gap=None), checkpoint=path)
        content = path.read_bytes()
        yield f"checkpoint-{name}", Kind([content], "input", mutate.of_model, partial(_resume, solver))
        yield f"contents-{name}", Kind([content], "input", mutate.of_contents, partial(_read_checkpoint, solver))


def _problem(solver: Any) -> Any:
    return problem("chain", loss=solver.losses[0], C=2.0)[0]


def _read_checkpoint(solver: Any, path: Path, rng: Random) -> None:
    training = _problem(solver)
    Checkpoint(path, training, solver).read(solver.start(training))


def _resume(solver: Any, path: Path, rng: Random) -> None:
    fit(_problem(solver), solver, stop=Stop(epochs=3, gap=None), checkpoint=path, resume=True)
