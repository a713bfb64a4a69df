"""The demo: it runs by itself, shows what it does, and leaves a model that the other commands can use."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.command_line import complaints
from widemargin.cli.commands import main
from widemargin.cli.demo import _fields
from widemargin.tasks.tag.model import Tagger


@pytest.mark.slow
def test_the_demo_writes_what_it_says(tmp_path: Path) -> None:
    out = tmp_path / "new" / "demo"
    result = CliRunner().invoke(main, ["demo", "--out", str(out), "--sequences", "300"])
    assert (result.exit_code, complaints(result.stderr)) == (0, "")
    epochs = [line for line in result.stderr.splitlines() if line.startswith("epoch ")]
    assert len(epochs) == len(Tagger.load(out / "addresses.wm").solution.trace)
    assert sorted(path.name for path in out.iterdir()) == ["addresses.wm", "curves.png", "test.tsv"]
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG")
    for expected in ("postcode", "that is proven, not estimated", "never seen before"):
        assert expected in result.stdout
    assert "\x1b[" not in result.stdout
    scores = CliRunner().invoke(main, ["evaluate", str(out / "addresses.wm"), str(out / "test.tsv"), "--json"])
    assert json.loads(scores.stdout)["f1"] > 0.85
    # The same seed gives the same model.
    before = Tagger.load(out / "addresses.wm").weights.flat()
    silent = CliRunner().invoke(main, ["demo", "--out", str(out), "--sequences", "300", "--quiet"])
    assert (silent.exit_code, silent.output) == (0, "")
    np.testing.assert_array_equal(Tagger.load(out / "addresses.wm").weights.flat(), before)


def test_fields_stand_under_their_words() -> None:
    tokens, labels = ["12", "High", "Street", ",", "Leeds"], ["B-house", "B-street", "I-street", "O", "B-city"]
    ((words, names),) = _fields(tokens, labels, width=80)
    assert words.plain.rstrip() == "  12     High Street  ,  Leeds"
    assert names.plain.rstrip() == "  house  street          city"
    assert len(list(_fields(tokens, labels, width=20))) == 3
