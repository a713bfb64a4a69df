"""Progress of work other than training."""

import io

import pytest

from widemargin.cli.cluster_words import Steps

pytestmark = pytest.mark.interpreted


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_line_per_tenth_when_not_a_terminal():
    stream = io.StringIO()
    with Steps(stream=stream) as steps:
        steps.read(1000)
        for done in range(1, 41):
            steps.tell(done, 40)
    lines = stream.getvalue().splitlines()
    assert [line.partition("  ")[0] for line in lines] == [f"{tenth} % of 40 steps" for tenth in range(10, 101, 10)]


def test_a_bar_that_does_not_stay_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("widemargin.cli.cluster_words.SECONDS_PER_DRAW", 0.0)
    stream = Terminal()
    with Steps(stream=stream) as steps:
        steps.read(1234)
        steps.tell(10, 40)
    assert "1,234 tokens read" in stream.getvalue()
    assert "10 of 40 steps" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[2K")


def test_silent_when_not_enabled():
    stream = io.StringIO()
    with Steps(stream=stream, enabled=False) as steps:
        steps.read(1)
        steps.tell(1, 1)
    assert stream.getvalue() == ""
