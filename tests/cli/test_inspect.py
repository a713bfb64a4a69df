"""What `inspect` shows of models whose features are hashed, and how it fits onto a terminal."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from helpers.command_line import fail, succeed
from helpers.files import TASK_FILES
from widemargin.cli.output import Printer
from widemargin.tasks.base import load_model
from widemargin.tasks.parse.explain import ArcVotes


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parser")
    row, model = TASK_FILES["parse"](), folder / "a.wm"
    (folder / row.name).write_text(row.text, encoding="utf-8")
    options = ["--epochs", "3", "--quiet", *row.options]
    succeed("train", "parse", "--train", folder / row.name, "--out", model, *options)
    return model


def test_relations_of_a_parser(parser: Path) -> None:
    """Their weights are the votes of the only template of labels that looks at no column."""
    model = load_model(parser)
    results = json.loads(succeed("inspect", parser, "--json", "--top", "100"))
    votes = ArcVotes(model.extractor, model.reporter.two_tokens(), model.w, model.labels)
    for name, (head, modifier) in (("relations_before", (2, 1)), ("relations_after", (1, 2))):
        found = {each["name"]: each["weight"] for side in results[name].values() for each in side}
        for number, label in enumerate(model.labels):
            expected = [w for text, w in votes.votes(head, modifier, number) if text.startswith("modifier:bias|")]
            assert len(expected) == 1
            assert found.get(label, 0.0) == expected[0]
    assert any(np.abs(list(found.values())) > 0)


def test_a_parser_is_shown_with_its_certificate_first(parser: Path) -> None:
    shown = succeed("inspect", parser)
    lines = shown.splitlines()
    assert lines[0].startswith("model")
    assert lines[1].startswith("certificate")
    n_templates = len(load_model(parser).templates["label"])
    for expected in ("Relations of tokens before their head", "Arc templates: ", f"Label templates: {n_templates}"):
        assert expected in shown
    for text in [text for texts in load_model(parser).templates.values() for text in texts]:
        assert f" {text}" in shown
    label = load_model(parser).labels[0]
    only = succeed("inspect", parser, "--label", label)
    assert label in only
    assert "has no label 'none'" in fail("inspect", parser, "--label", "none")


@pytest.mark.interpreted
@pytest.mark.parametrize("width", [30, 80, 140])
def test_facts_are_wrapped_on_terminals_only(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = [("certificate", "no weights make it more than 12.5 % smaller " * 4), ("a", "x" * 10), ("empty", "")]

    def printed(is_terminal: bool) -> list[str]:
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
        monkeypatch.setattr("sys.stdout", stream)
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        Printer().facts(facts)
        return stream.getvalue().splitlines()

    assert len(printed(False)) == len(facts)
    lines = printed(True)
    if width >= len("certificate") + 2 + 20:
        assert max(map(len, lines)) <= width
        assert all(line.startswith((" " * 13, "certificate  ", "a ", "empty")) for line in lines)
        assert not any(line.lstrip().startswith("%") for line in lines)
    else:
        assert len(lines) == len(facts)  # there is no room to wrap
    assert " ".join(" ".join(line.split()) for line in lines) == " ".join(" ".join(fact).strip() for fact in facts)
