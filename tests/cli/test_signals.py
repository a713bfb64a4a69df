"""Signals and broken streams, whatever the moment: no traceback, a telling exit code, and files that are whole.

Many programs here run without compiling, which starts them sooner.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helpers.command_line import complaints, run, succeed, written
from widemargin.cli.commands import main
from widemargin.cli.signals import NAMES
from widemargin.tasks.base import load_model

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")]

PROGRAM = "from widemargin.cli import main; main()"
MARKED = """
import os, time
from pathlib import Path
from widemargin.report.progress import Progress
def mark(self, epoch):
    if epoch.epoch == 2:
        Path("learning").touch()
def wait(self, reason):
    Path("stopping").touch()
    time.sleep(float(os.environ.get("WAIT", "0")))
Progress.on_epoch, Progress.on_stop = mark, wait
"""
IMPORTING = """
import sys, time
from pathlib import Path
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "widemargin.cli.commands":
            Path("importing").touch()
            time.sleep(600)
sys.meta_path.insert(0, Slow())
"""
PATIENCE = 600.0  # seconds after which something hangs
NUMBERS = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data and a model."""
    path = tmp_path_factory.mktemp("signals")
    (path / "train.tsv").write_text(written("conll", 20, 1), encoding="utf-8")
    succeed("train", "tag", "--train", path / "train.tsv", "--out", path / "model.wm", *FAST, "--quiet")
    return path


FAST = ["--templates", "word column2", "--epochs", "2"]
ENDLESS = ["--templates", "word column2", "--epochs", "1000000", "--tol", "0"]


class Started:
    """A command line that runs in `here`, and what became of it."""

    def __init__(
        self, here: Path, *arguments: object, code: str = PROGRAM, ignored: signal.Signals | None = None, **more: str
    ) -> None:
        self.here = here

        def set_signals() -> None:
            """Whoever runs the tests in the background may have left some ignored, which children inherit."""
            for each in NUMBERS:
                signal.signal(each, signal.SIG_IGN if each is ignored else signal.SIG_DFL)

        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            cwd=here,
            env={**os.environ, "NUMBA_DISABLE_JIT": "1", **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            preexec_fn=set_signals,  # noqa: PLW1509 — no threads yet
        )

    def when(self, true: Callable[[], bool]) -> "Started":
        """Wait until something is true."""
        end = time.monotonic() + PATIENCE
        while not true():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            time.sleep(0.005)
        return self

    def when_exists(self, pattern: str) -> "Started":
        return self.when(lambda: any(self.here.glob(pattern)))

    def send(self, number: signal.Signals) -> "Started":
        self.process.send_signal(number)
        return self

    def ended(self) -> tuple[int, str, str]:
        """The exit code and all output."""
        out, error = self.process.communicate(timeout=PATIENCE)
        assert "Traceback" not in out + error
        assert "Exception" not in out + error
        assert not [*self.here.rglob("*.tmp"), *self.here.rglob("*.tmp.*")]
        return self.process.returncode, out, error


each_signal = pytest.mark.parametrize("number", NUMBERS)
both = pytest.mark.parametrize("number", NUMBERS[:2])
UNCHANGED = {each: (128 + each, "", f"error: {NAMES[each.name]}; no file has been changed\n") for each in NUMBERS}
COMPILING = {"NUMBA_DISABLE_JIT": "0", "NUMBA_CACHE_DIR": "cache"}
TRAINING = "cache/*/widemargin.[a-z]*.kernel"  # before it, the compiler itself is tested


def train(folder: Path, *more: object) -> list[object]:
    return ["train", "tag", "--train", folder / "train.tsv", "--out", "m.wm", *more]


@each_signal
def test_while_importing(folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    started = Started(tmp_path, *train(folder), code=IMPORTING + PROGRAM).when_exists("importing")
    assert started.send(number).ended() == UNCHANGED[number]
    assert list(tmp_path.iterdir()) == [tmp_path / "importing"]


@both
def test_while_compiling(folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "m.wm").write_text("old", encoding="utf-8")
    started = Started(tmp_path, *train(folder), **COMPILING).when_exists(TRAINING)
    os.kill(started.process.pid, signal.SIGSTOP)
    before = len([*tmp_path.glob("cache/*/*.kernel")])
    code, out, error = started.send(number).send(signal.SIGCONT).ended()
    assert error.startswith("compiling kernels, first run only\n")
    assert (code, out, complaints(error)) == UNCHANGED[number]
    assert len([*tmp_path.glob("cache/*/*.kernel")]) <= before + 1  # the one at work may just be done
    assert (tmp_path / "m.wm").read_text(encoding="utf-8") == "old"


FITTED = """
from widemargin import LinearClassifier
X, y = [[0.0, 1.0], [1.0, 0.0]], ["A", "B"]
classifier = LinearClassifier(solver="perceptron", max_epochs=3)  # the fewest kernels
try:
    classifier.fit(X, y)
except KeyboardInterrupt:
    print("interrupted")
print(classifier.fit(X, y).predict(X).tolist())
"""


def test_python_while_compiling(tmp_path: Path) -> None:
    """Nothing has been learnt yet; the kernels are not spoilt."""
    started = Started(tmp_path, code=FITTED, **COMPILING).when_exists(TRAINING)
    code, out, error = started.send(signal.SIGINT).ended()
    assert (code, error) == (0, "")
    assert out == "interrupted\n['A', 'B']\n"


@both
def test_while_training(folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "m.wm").write_text("old", encoding="utf-8")
    checkpoint = ["--checkpoint", "run"]
    started = Started(tmp_path, *train(folder, *ENDLESS, *checkpoint), code=MARKED + PROGRAM).when_exists("learning")
    code, out, error = started.send(number).ended()
    assert (code, complaints(error)) == (130, "")
    assert "interrupted; the model as it was by then has been saved" in out
    model = load_model(tmp_path / "m.wm")
    assert model.summary["solution"]["stopped"] == "interrupted"
    assert (tmp_path / "run").exists()


@both
def test_a_second_signal(folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "m.wm").write_text("old", encoding="utf-8")
    started = Started(tmp_path, *train(folder, *ENDLESS), code=MARKED + PROGRAM, WAIT="600").when_exists("learning")
    started.send(signal.SIGINT).when_exists("stopping")
    assert started.send(number).ended() == (128 + number, "", "error: ended at once by a second signal\n")
    assert (tmp_path / "m.wm").read_text(encoding="utf-8") == "old"


def test_a_path_of_likelihoods(folder: Path, tmp_path: Path) -> None:
    path = ["--dev", folder / "train.tsv", "--solver", "crf", "--C", "0.1,1,10", *ENDLESS]
    started = Started(tmp_path, *train(folder, *path), code=MARKED + PROGRAM).when_exists("learning")
    code, out, error = started.send(signal.SIGTERM).ended()
    assert (code, error) == (130, "")
    assert "interrupted" in out
    assert load_model(tmp_path / "m.wm").summary["C"] == 0.1


@each_signal
def test_while_python_cleans_up(tmp_path: Path, number: signal.Signals) -> None:
    """The work is done by then, and the exit code says so."""
    late = f"import atexit, os; atexit.register(lambda: os.kill(os.getpid(), {int(number)})); "
    code, out, error = Started(tmp_path, "--version", code=late + PROGRAM).ended()
    assert (code, error) == (0, "")
    assert out.startswith("widemargin ")


@each_signal
def test_signals_that_are_to_be_ignored_are(folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    press = "from widemargin.report.progress import Progress; import signal; "
    press += f"Progress.on_batch = lambda *_: signal.raise_signal({int(number)}); "
    code, out, error = Started(tmp_path, *train(folder, *FAST), code=press + PROGRAM, ignored=number).ended()
    assert (code, complaints(error)) == (0, "")
    assert "interrupted" not in out
    assert load_model(tmp_path / "m.wm").summary["solution"]["stopped"] == "epochs"


def commands(folder: Path) -> dict[str, list[object]]:
    """A quick command line for every command; all of them print something."""
    model, data = folder / "model.wm", folder / "train.tsv"
    return {
        "--help": [],
        "train": train(folder, *FAST)[1:],
        "compare": ["--train", data, "--solvers", "perceptron", "--out", "report", *FAST],
        "evaluate": [model, data],
        "score": [data, data],
        "predict": [model, data],
        "calibrate": [model, data, "--out", "calibrated.wm"],
        "inspect": [model],
        "cluster-words": [data, "--clusters", "2", "--min-count", "1", "--out", "clusters.tsv"],
        "demo": ["--out", "demo", "--sequences", "20"],
        "warm": ["classify"],
    }


def test_every_command_is_there(folder: Path) -> None:
    assert set(commands(folder)) == {"--help", *main.commands}


CLOSED, UNREAD, NEEDLESS = STREAMS = [">&-", "> >(exec true)", "<&- 2>&-"]
BROKEN = {
    command: STREAMS if command in ("--help", "train", "predict") else [STREAMS[number % len(STREAMS)]]
    for number, command in enumerate(["--help", *main.commands])
}
"""All commands are called in one place, which looks after streams: one kind for each, and for a few commands all."""


@pytest.mark.parametrize("command", BROKEN)
def test_broken_streams(folder: Path, tmp_path: Path, command: str) -> None:
    """Output that nobody can read is a failure; input and messages that nobody needs are not."""
    line = [sys.executable, "-c", PROGRAM, command, *map(str, commands(folder)[command])]

    def code(redirection: str) -> tuple[int, str]:
        here = tmp_path / redirection.replace("/", "")
        here.mkdir()
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", f'"$@" {redirection}', "bash", *line],
            cwd=here,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
            timeout=PATIENCE,
        )
        assert not list(here.rglob("*.tmp"))
        return done.returncode, complaints(done.stderr)

    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(BROKEN[command], pool.map(code, BROKEN[command]), strict=True))
    if CLOSED in found:
        assert found[CLOSED] == (2, "error: the output cannot be written: Bad file descriptor\n")
    if UNREAD in found:
        assert found[UNREAD][0] == 1 or command == "--help"  # which may be faster than the reader goes
        assert found[UNREAD][1] == ""
    if NEEDLESS in found:
        assert found[NEEDLESS] == (0, "")


def test_a_reader_that_has_gone_before_all_is_printed(folder: Path, tmp_path: Path) -> None:
    with Started(tmp_path, "inspect", folder / "model.wm").process as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_closed_input_cannot_be_read(folder: Path, tmp_path: Path) -> None:
    line = f'"{sys.executable}" -c "{PROGRAM}" predict "{folder / "model.wm"}" - <&-'
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: standard input cannot be read: Bad file descriptor\n"


def test_commands_called_from_python_leave_signals_alone(folder: Path) -> None:
    before = [signal.getsignal(each) for each in NUMBERS]
    assert run("inspect", folder / "model.wm").exit_code == 0
    assert [signal.getsignal(each) for each in NUMBERS] == before
