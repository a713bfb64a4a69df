"""Progress: a bar on a terminal, lines elsewhere; true to the figures it is given, and rarely redrawn."""

import io
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from widemargin import _jit
from widemargin.core.solution import Epoch
from widemargin.report import progress
from widemargin.report.progress import Aside, Progress, epochs_left


class Terminal(io.StringIO):
    """A stream that claims to be a terminal and counts how often it is drawn upon."""

    def isatty(self):
        return True

    def frames(self):
        """What was drawn, one bar after the other, without control codes."""
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())
        return [frame for frame in re.split(r"[\r\n]+", plain) if frame.strip()]


@pytest.fixture
def terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return Terminal()


@pytest.fixture
def clock(monkeypatch):
    """A clock that is moved by hand: `clock[0]` is the time."""
    time = [100.0]
    for name in ("monotonic", "now"):
        monkeypatch.setattr(progress, name, lambda: time[0])
    return time


def row(epoch, gap=None, score=None, primal=250.5):
    return Epoch(epoch, float(epoch), 10 * epoch, primal, None, gap, score, False)


def train(bar, max_epochs=4):
    with bar:
        bar.on_start(max_epochs, 10)
        bar.on_batch(5)
        bar.on_epoch(row(1, gap=0.125, score=0.9312))
        bar.on_stop("gap")


def test_a_line_per_epoch_when_not_a_terminal():
    stream = io.StringIO()
    train(Progress(stream=stream))
    assert stream.getvalue().splitlines() == [
        "epoch 1/4  objective 250.5  gap 12.5 %  dev 0.9312  1.00 s",
        "stopped by gap after 1 epochs",
    ]


def test_reading_is_told_now_and_then_and_in_the_end(clock):
    stream = io.StringIO()
    with Progress(stream=stream) as bar:
        for n in range(1, 15):
            Aside(bar).on_read(1000 * n, 12.3 * n)
            clock[0] += 2
        bar.on_start(4, 10)
    assert stream.getvalue().splitlines() == [
        f"read {n},000 examples, {12.3 * n:.0f} MB of arrays" for n in (1, 6, 11, 14)
    ]


def test_reading_is_shown_on_a_terminal_and_does_not_stay(terminal):
    with Progress(stream=terminal) as bar:
        bar.on_read(25_000, 310.0)
        assert "read 25,000 examples, 310 MB of arrays" in terminal.frames()[-1]
        bar.on_start(4, 10)
        assert "epoch 1/4" in terminal.frames()[-1]


def test_lines_of_several_runs_and_rounds():
    stream = io.StringIO()
    with Progress(stream=stream, prefix="2 of 3") as bar:
        bar.on_run("restart 2/5")
        bar.on_start(9, 10)
        bar.on_round(1, 7)
        bar.on_epoch(row(1, primal=None))
        bar.on_round(2, 7)
        bar.on_epoch(row(2))
        bar.on_stop("stable")
    assert stream.getvalue().splitlines() == [
        "2 of 3: restart 2/5, round 1/7, epoch 1/9  1.00 s",
        "2 of 3: restart 2/5, round 2/7, epoch 1/9  objective 250.5  2.00 s",
        "2 of 3: restart 2/5, stopped by stable after 2 epochs",
    ]


def test_a_reader_that_has_gone_does_not_end_training():
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    train(Progress(stream=Gone()))


class Compiler:
    """Stands in for Numba: kernels are compiled by hand."""

    def __init__(self, monkeypatch):
        self.event = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=Compiler)})
        self.now = 0.0
        monkeypatch.setattr(_jit, "perf_counter", lambda: self.now)

    @contextmanager
    def compiles(self, seconds):
        _jit._clock.on_start(self.event)
        self.now += seconds
        try:
            yield
        finally:
            _jit._clock.on_end(self.event)


def test_lines_tell_of_compiling(monkeypatch):
    stream, compiler = io.StringIO(), Compiler(monkeypatch)
    with Progress(stream=stream) as bar:
        with compiler.compiles(1.5):
            assert stream.getvalue() == "compiling kernels, first run only\n"
        bar.on_start(2, 10)
        with compiler.compiles(2.0), compiler.compiles(1.0):
            pass
        bar.on_epoch(row(1))
        with compiler.compiles(0.5):
            pass
        bar.on_stop("gap")
    with compiler.compiles(7.0):
        pass
    assert [line.partition("  ")[0] for line in stream.getvalue().splitlines()] == [
        "compiling kernels, first run only",
        "compiled kernels in 4.5 s",
        "epoch 1/2",
        "compiled kernels in 0.5 s",
        "stopped by gap after 1 epochs",
    ]


def test_kernels_are_logged_for_those_who_listen(monkeypatch, caplog):
    compiler = Compiler(monkeypatch)
    with compiler.compiles(1.0):
        pass
    with caplog.at_level("DEBUG", logger="widemargin"), compiler.compiles(1.5), compiler.compiles(0.5):
        pass
    assert caplog.messages == [f"compiled {__name__}.Compiler in 2.00 s"]


def test_names_of_runs_are_shown_as_they_are(terminal):
    """A tagger may be named after a column of a file."""
    lines = io.StringIO()
    for stream in (terminal, lines):
        bar = Progress(stream=stream)
        bar.on_run("a tagger for [red]\x1b]0;x")
        train(bar)
    assert r"a tagger for [red]\x1b]0;x, epoch 1/4" in terminal.frames()[-1]
    assert "\x1b]" not in terminal.getvalue()
    assert lines.getvalue().startswith(r"a tagger for [red]\x1b]0;x, epoch 1/4")


def until(true):
    end = time.monotonic() + 600.0
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_bar_tells_of_compiling_and_its_clock_moves(terminal, monkeypatch):
    """Even before training begins, and although nobody calls the bar."""
    compiler = Compiler(monkeypatch)

    def last(*expected):
        return lambda: bool(terminal.frames()) and all(each in terminal.frames()[-1] for each in expected)

    with Progress(stream=terminal) as bar:
        with compiler.compiles(3.0):
            until(last("compiling, first run only", "00:03"))
            compiler.now += 9.0
            until(last("compiling, first run only", "00:12"))
        bar.on_start(4, 10)
        assert last("epoch 1/4", "00:00")()
        bar.on_epoch(row(1))
        bar.on_stop("gap")
        assert last("epoch 1/4", "00:00 and 00:12 compiling, stopped by gap")()
        with compiler.compiles(1.0):
            until(last("compiling, first run only", "00:01"))
    assert terminal.getvalue().endswith("\x1b[2K")  # nothing was trained since, so nothing stays
    until(lambda: not any("_move_clock" in each.name for each in threading.enumerate()))


def test_silent_when_not_enabled(terminal):
    train(Progress(enabled=False, stream=terminal))
    assert terminal.getvalue() == ""


def test_rich_is_not_imported_when_nothing_is_shown():
    program = """if True:
        import sys
        from widemargin.report.progress import Progress
        with Progress(enabled=False) as bar:
            bar.on_start(3, 10)
            bar.on_batch(1)
            bar.on_stop("epochs")
        sys.exit("rich" in sys.modules)
    """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert run.stdout + run.stderr == ""


def test_writes_to_standard_error_unless_told_otherwise(terminal, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", terminal)
    train(Progress())
    assert "epoch" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_shows_the_figures(terminal, clock):
    with Progress(stream=terminal) as bar:
        bar.on_start(4, 10)
        clock[0] += 5
        bar.on_batch(5)
        assert "epoch 1/4" in terminal.frames()[-1]
        assert "00:05, 00:35 left" in terminal.frames()[-1]
        clock[0] += 5
        bar.on_epoch(row(1, gap=0.125, score=0.9312))
        shown = terminal.frames()[-1]
        assert "epoch 2/4" in shown
        assert "objective 250.5  gap 12.5 %  dev 0.9312" in shown
        assert "00:10, 00:30 left" in shown
        bar.on_stop("gap")
    assert "epoch 1/4" in terminal.frames()[-1]
    assert "00:10, stopped by gap" in terminal.frames()[-1]


def test_says_which_of_several_runs_it_shows(terminal):
    train(Progress(stream=terminal, prefix="2 of 3, dcd"))
    assert terminal.frames()[-1].startswith("2 of 3, dcd: epoch 1/4")


def test_leaves_nothing_behind_if_told_so(terminal):
    train(Progress(stream=terminal, keep=False))
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is erased


def test_shows_what_is_known_and_no_more(terminal, clock):
    with Progress(stream=terminal) as bar:
        bar.on_start(None, 10)
        clock[0] += 1
        bar.on_epoch(row(1, primal=None))
        assert re.fullmatch(r"epoch 2 +\S+ +00:01\s*", terminal.frames()[-1])


def test_last_epoch_is_not_exceeded(terminal, clock):
    with Progress(stream=terminal) as bar:
        bar.on_start(1, 10)
        clock[0] += 1
        bar.on_epoch(row(1))
        assert "epoch 1/1" in terminal.frames()[-1]
        assert "00:00 left" in terminal.frames()[-1]


def test_batches_are_drawn_ten_times_a_second_at_most(terminal, clock):
    with Progress(stream=terminal) as bar:
        bar.on_start(1, 20_000)
        before = len(terminal.frames())
        for visited in range(20_000):
            clock[0] += 1e-4
            bar.on_batch(visited)
        assert 10 <= len(terminal.frames()) - before <= 20


def test_an_error_leaves_the_terminal_in_order(terminal):
    bar = Progress(stream=terminal)
    bar.on_start(3, 10)
    with pytest.raises(ZeroDivisionError), bar:
        raise ZeroDivisionError
    shown = terminal.getvalue()
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is visible again
    bar.on_batch(3)
    assert terminal.getvalue() == shown


def test_a_bar_serves_one_training_run_after_another(terminal):
    bar = Progress(stream=terminal)
    train(bar)
    train(bar, max_epochs=7)
    assert "epoch 1/7" in terminal.frames()[-1]


def test_no_epochs_at_all(terminal):
    with Progress(stream=terminal) as bar:
        bar.on_start(0, 0)
        bar.on_stop("epochs")
    assert "epoch 0/0" in terminal.frames()[-1]


def test_epochs_left_is_unknown_without_a_limit_or_a_falling_gap():
    assert epochs_left([], 0.5, None, None) is None
    assert epochs_left([row(1, gap=0.5)], 1.0, None, 0.01) is None
    assert epochs_left([row(1, gap=0.5), row(2, gap=0.5)], 2.0, None, 0.01) is None
    assert epochs_left([row(1, gap=0.5), row(2, gap=0.6)], 2.0, None, 0.01) is None


def test_epochs_left_is_never_negative():
    assert epochs_left([row(1, gap=0.5), row(2, gap=0.005)], 2.0, 10, 0.01) == 0
