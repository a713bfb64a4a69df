"""Without matplotlib, which the extra `plots` installs, whatever draws says so in one sentence, before any work."""

import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.command_line import fail
from widemargin import MotifFinder, SequenceTagger
from widemargin.cli.commands import main
from widemargin.core.solution import Epoch
from widemargin.errors import WidemarginError
from widemargin.report.curves import distinct, plot_curves, plot_reliability
from widemargin.report.page import Row, one_picture, plots_of
from widemargin.tasks.motif.logo import Motif, logo_picture, logo_png

SENTENCE = r"drawing needs matplotlib; install widemargin\[plots\]"
MOTIF = Motif("ACGT", np.eye(4) * 9, np.full(4, 0.25), False)
TRACES = {"dcd": [Epoch(1, 1.0, 1, 2.0, 1.0, 0.5, None, True)]}
X, Y = [["a", "b"], ["b"]], [["A", "B"], ["B"]]
READS = ["ATTTGACGTCATA", "CCTGACGTCAGGT", "ATTTGAAATCATA", "CCTCAGGTGAGGT"]


@pytest.fixture(autouse=True)
def hidden(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.mark.parametrize(
    "draw",
    [
        lambda folder: plot_curves(TRACES, folder / "curves.png"),
        lambda folder: plot_reliability({}, folder / "reliability.png"),
        lambda folder: one_picture([]),
        lambda folder: plots_of([Row("primal", "Objective", distinct(TRACES))]),
        lambda folder: SequenceTagger(max_epochs=1).compare(X, Y, ["dcd"]).save(folder / "report"),
        lambda folder: logo_picture(MOTIF),
        lambda folder: logo_png(MOTIF),
        lambda folder: MotifFinder(length=4, order=0, max_rounds=1).fit(READS, [1, 1, 0, 0]).logo(),
    ],
)
def test_from_python(draw, tmp_path):
    with pytest.raises(WidemarginError, match=SENTENCE):
        draw(tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "train.tsv"
    path.write_text("a\tA\nb\tB\n\nb\tB\n\n", encoding="utf-8")
    return path


def test_from_the_command_line(file, tmp_path):
    tagger, finder = tmp_path / "tagger.wm", tmp_path / "finder.wm"
    SequenceTagger(max_epochs=1).fit(X, Y).save(tagger)
    MotifFinder(length=4, order=0, max_rounds=1).fit(READS, [1, 1, 0, 0]).save(finder)
    before = sorted(tmp_path.iterdir())
    for command in (
        ["train", "tag", "--train", file, "--out", tmp_path / "new.wm", "--curves", tmp_path / "curves.png"],
        ["compare", "tag", "--train", file, "--out", tmp_path / "report"],
        ["calibrate", tagger, file, "--plot", tmp_path / "plot.png"],
        ["inspect", finder, "--export", tmp_path / "logo.png"],
        ["inspect", finder, "--export", tmp_path / "logo.svg"],
    ):
        assert "drawing needs matplotlib; install widemargin[plots]" in fail(*command), command
    assert sorted(tmp_path.iterdir()) == before


def test_the_demo_leaves_its_picture_out(tmp_path):
    result = CliRunner().invoke(main, ["demo", "--out", str(tmp_path), "--sequences", "30"])
    assert result.exit_code == 0
    assert "needs matplotlib; install widemargin[plots]" in " ".join(result.stdout.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["addresses.wm", "test.tsv"]
