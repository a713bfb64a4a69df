"""`predict` reads, predicts and writes in pieces: whatever their size, the output is that of the whole file."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.command_line import fail, run, succeed, written
from helpers.files import FORMAT_FILES, TASK_FILES
from widemargin.errors import DataError
from widemargin.files import pieces as cutting
from widemargin.files.formats import FORMATS
from widemargin.files.pieces import every_line, pieces
from widemargin.files.raw import RawText

CUTTABLE = [name for name, format_ in FORMATS.items() if format_.in_pieces]


def stdin(content: bytes) -> Any:
    return SimpleNamespace(buffer=io.BytesIO(content))


@pytest.fixture
def size(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the number of bytes of a piece."""
    return lambda n: monkeypatch.setattr(cutting, "SIZE", n)


# ------------------------------------------------------------------------------------------------------- cutting


@pytest.mark.interpreted
@pytest.mark.parametrize("name", CUTTABLE)
@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces_of_every_format_are_the_file(name: str, data: st.DataObject, monkeypatch: pytest.MonkeyPatch) -> None:
    """One behind the other they are the file, and each can be read: the same units, with the numbers of their lines."""
    text = data.draw(st.sampled_from(FORMAT_FILES[name]()))
    text = data.draw(st.sampled_from(["", "\n", "\ufeff", "# a comment\n\n" if "conllu" in name else ""])) + text
    text += data.draw(st.sampled_from(["", "\n\n", "\r\n"]))
    monkeypatch.setattr(cutting, "SIZE", data.draw(st.integers(1, len(text))))
    monkeypatch.setattr(sys, "stdin", stdin(text.encode()))
    found = list(pieces("-", lambda head: FORMATS[name].cut))
    assert "".join(raw.text(raw.lines) for raw in found) == text
    assert [raw.is_last for raw in found] == [False] * (len(found) - 1) + [True]
    whole, parts = FORMATS[name].parse(RawText.of(text)), [FORMATS[name].parse(raw) for raw in found]
    if FORMATS[name].has_tokens:
        for column in whole.columns.names:
            expected = whole.columns.sequences(column)
            assert [each for part in parts for each in part.columns.sequences(column)] == expected
        if name != "brackets":  # which are written anew, one per line
            assert "".join(part.text() for part in parts) == text
        return
    assert [labels for part in parts for labels in part.labels] == whole.labels
    if hasattr(whole, "sequences"):
        for field in ("texts", "names", "lines"):
            found = [each for part in parts for each in getattr(part.sequences, field)]
            assert found == getattr(whole.sequences, field)


@pytest.mark.interpreted
def test_lines_of_later_pieces_keep_their_numbers(size: Callable[[int], None], tmp_path: Path) -> None:
    size(30)
    path = tmp_path / "a.tsv"
    path.write_text("a\tO\n\n" * 20 + "b\n", encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(f"{path}, line 41: expected 2 columns, found 1: 'b'")):
        [FORMATS["conll"].parse(raw) for raw in pieces(str(path), lambda head: FORMATS["conll"].cut)]


@pytest.mark.interpreted
def test_bytes_that_are_no_text_keep_their_place(size: Callable[[int], None], tmp_path: Path) -> None:
    size(7)
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n" * 5 + b"tw\xff\n")
    with pytest.raises(DataError, match=re.escape(f"{path}, line 6: byte 0xff at offset 22 is not UTF-8")):
        list(pieces(str(path), lambda head: every_line))


@pytest.mark.interpreted
def test_how_to_cut_is_asked_once_something_tells(size: Callable[[int], None], tmp_path: Path) -> None:
    size(4)
    path, heads = tmp_path / "a.txt", list[list[str]]()
    path.write_text("# a\n\n# b\nc\nd\ne\n", encoding="utf-8")

    def choose(head: RawText) -> Any:
        heads.append(head.lines)
        return every_line

    list(pieces(str(path), choose))
    assert len(heads) == 1
    assert "c" in heads[0]


@pytest.mark.interpreted
def test_a_unit_longer_than_a_piece(size: Callable[[int], None], tmp_path: Path) -> None:
    size(3)
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{k}\tO\n" for k in range(500)) + "\n1\tO\n\n2\tO\n\n", encoding="utf-8")
    first, *_ = pieces(str(path), lambda head: FORMATS["conll"].cut)
    assert len(first.lines) >= 501


@pytest.mark.interpreted
def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no-such-file cannot be read: No such file"):
        list(pieces(str(tmp_path / "no-such-file"), lambda head: every_line))


# ------------------------------------------------------------------------------------------------------ every task


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, str]]:
    """A model of a task, trained on first use, and its file's name."""
    folder, made = tmp_path_factory.mktemp("models"), dict[str, Path]()

    def model(task: str) -> tuple[Path, str]:
        row = TASK_FILES[task]()
        if task not in made:
            data, made[task] = folder / f"{task}-{row.name}", folder / f"{task}.wm"
            data.write_text(row.text, encoding="utf-8")
            options = ["--epochs", "2", "--quiet", *row.options]
            succeed("train", task, "--train", data, "--out", made[task], *options)
        return made[task], row.name

    return model


def longer(task: str) -> str:
    """Several documents of a task in one file."""
    text = TASK_FILES[task]().text
    if task == "rank":
        return text + re.sub(r"qid:(\d+)", lambda found: f"qid:{int(found[1]) + 1000}", text)
    return text + text if not text.startswith("#id") else text


@pytest.mark.parametrize("task", TASK_FILES)
@pytest.mark.parametrize("n_bytes", [1, 200, 1500])
def test_every_task_predicts_the_same_in_pieces(
    task: str, n_bytes: int, models: Any, size: Callable[[int], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, name = models(task)
    data, out = tmp_path / name, tmp_path / f"out-{name}"
    data.write_text(longer(task), encoding="utf-8")
    expected = succeed("predict", model, data)
    seen = list[int]()
    piece = cutting._Lines.piece
    monkeypatch.setattr(cutting._Lines, "piece", lambda self, end, **more: seen.append(end) or piece(self, end, **more))
    size(n_bytes)
    assert succeed("predict", model, data) == expected
    assert n_bytes > 1 or len(seen) > 3
    succeed("predict", model, data, "--out", out)
    assert out.read_text(encoding="utf-8") == expected
    assert succeed("predict", model, "-", stdin=data.read_bytes()) == expected


# ------------------------------------------------------------------------------------------------- options and errors


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A calibrated tagger of addresses that knows probabilities."""
    folder = tmp_path_factory.mktemp("tagger")
    data, model = folder / "train.tsv", folder / "a.wm"
    data.write_text(written("conll", 12, 1), encoding="utf-8")
    options = ["--solver", "crf", "--epochs", "4", "--templates", "word lower", "--quiet"]
    succeed("train", "tag", "--train", data, "--out", model, *options)
    succeed("calibrate", model, data, "--quiet")
    return model


OPTIONS = {
    "--best": ["--best", "2"],
    "--confidence": ["--confidence"],
    "--probabilities": ["--probabilities"],
    "--minimum-risk": ["--minimum-risk"],
    "--bio": ["--bio"],
    "--forced": ["--forced", "label"],
    "--allowed": ["--allowed", "label", "--best", "1"],
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_kind_of_answer(options: list[str], tagger: Path, size: Callable[[int], None], tmp_path: Path) -> None:
    data = tmp_path / "new.tsv"
    data.write_text(written("conll", 8, 1), encoding="utf-8")
    expected = succeed("predict", tagger, data, *options)
    size(100)
    assert succeed("predict", tagger, data, *options) == expected


@pytest.mark.parametrize("format_", ["conllu", "jsonl"])
def test_other_formats_than_that_of_training(
    format_: str, tagger: Path, size: Callable[[int], None], tmp_path: Path
) -> None:
    data = tmp_path / f"new.{format_}"
    data.write_text(written(format_, 8, 2), encoding="utf-8")
    expected = succeed("predict", tagger, data)
    size(300)
    assert succeed("predict", tagger, data) == expected


@given(lines=st.lists(st.sampled_from(["12 High Street", "Leeds", "", " \t", "a  b\tc"]), min_size=1, max_size=8))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_plain_text(lines: list[str], tagger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join([*lines, "LS1 4AP"])
    monkeypatch.setattr(cutting, "SIZE", 1 << 20)
    expected = succeed("predict", tagger, "-", "--text", stdin=text)
    monkeypatch.setattr(cutting, "SIZE", 5)
    assert succeed("predict", tagger, "-", "--text", stdin=text) == expected


def broken(tmp_path: Path) -> Path:
    """A file of addresses whose last line has a column too many."""
    data = tmp_path / "broken.tsv"
    data.write_text(written("conll", 8, 2) + "\none\t2\tO\ttoo many\n", encoding="utf-8")
    return data


def test_a_mistake_in_a_later_piece_leaves_no_file(tagger: Path, size: Callable[[int], None], tmp_path: Path) -> None:
    data, out = broken(tmp_path), tmp_path / "out.tsv"
    n_lines = data.read_text(encoding="utf-8").count("\n")
    size(100)
    complaint = fail("predict", tagger, data, "--out", out)
    assert complaint == f"{data}, line {n_lines}: expected 3 columns, found 4: 'one\\t2\\tO\\ttoo many'"
    assert sorted(path.name for path in tmp_path.iterdir()) == [data.name]


def test_before_a_mistake_in_a_later_piece_standard_output_has_the_pieces_before(
    tagger: Path, size: Callable[[int], None], tmp_path: Path
) -> None:
    data = broken(tmp_path)
    good = tmp_path / "good.tsv"
    good.write_text(written("conll", 8, 2), encoding="utf-8")
    expected = succeed("predict", tagger, good)
    size(100)
    result = run("predict", tagger, data)
    assert result.exit_code == 2
    assert result.stdout
    assert expected.startswith(result.stdout)
    assert result.stdout.endswith("\n\n")


def test_an_impossible_constraint_in_a_later_piece_is_found(
    tagger: Path, size: Callable[[int], None], tmp_path: Path
) -> None:
    data = tmp_path / "new.tsv"
    text = written("conll", 6, 1)
    data.write_text(f"{text}\nLeeds\t5\tno-such-label\n", encoding="utf-8")
    line = text.count("\n") + 2
    size(len(text) - 10)
    complaint = run("predict", tagger, data, "--forced", "label").stderr
    assert f"{data}, from line " in complaint
    assert line >= int(re.findall("from line ([0-9]+) on", complaint)[0]) > 1
    assert "'no-such-label', which the model does not know" in complaint


# ------------------------------------------------------------------------------------------------ pipes and memory


def started(*arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "widemargin", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        bufsize=1,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )


ASKED = {
    "conll": (["--label", "label"], "12\t2\tO\nLeeds\t5\tO\n\n"),
    "text": (["--text"], "12 Leeds\n"),
    "jsonl": (["--format", "jsonl"], '{"tokens": ["12", "Leeds"]}\n'),
    "best": (["--text", "--best", "2"], "12 Leeds\n"),
}


@pytest.mark.parametrize("case", ASKED)
def test_a_pipe_gets_its_answer_before_it_asks_again(case: str, tagger: Path) -> None:
    options, sentence = ASKED[case]
    expected = succeed("predict", tagger, "-", *options, stdin=sentence)
    with started("predict", tagger, "-", *options) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(sentence)
            process.stdin.flush()
            assert "".join(process.stdout.readline() for _ in range(expected.count("\n"))) == expected
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait() == 0


PEAK = """
import resource, sys
from widemargin.files import pieces
pieces.SIZE = 1 << 14
from widemargin.cli.commands import main
try:
    main(sys.argv[1:])
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the peak differs between systems")
def test_memory_does_not_grow_with_the_file(tagger: Path, tmp_path: Path) -> None:
    """Forty times as many sentences: a megabyte of text, for which the whole file at once needs 16 more."""
    peaks = []
    sentence = written("conll", 30, 3) + "\n"
    for times in (5, 200):
        data = tmp_path / f"{times}.tsv"
        data.write_text(sentence * times, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", PEAK, "predict", str(tagger), str(data), "--out", str(tmp_path / "out.tsv")],
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        peaks.append(int(done.stderr) / 1024)
    assert (tmp_path / "out.tsv").read_text(encoding="utf-8").count("\n") == (sentence * 200).count("\n")
    assert peaks[1] - peaks[0] < 6
