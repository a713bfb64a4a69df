"""Pictures of training traces: real PNG files for every kind of trace, and no half-written ones."""

import struct
import subprocess
import sys

import pytest

from widemargin.core.solution import Epoch
from widemargin.errors import WidemarginError
from widemargin.report.curves import COLOURS, MARKERS, plot_curves


def run(n, *, dual=True, score=True, seconds=0.5, certified=5):
    """A trace whose gap halves with every epoch."""
    return [
        Epoch(
            epoch=epoch,
            seconds=seconds * epoch,
            oracle_calls=10 * epoch,
            primal=100 * (1 + 0.5**epoch),
            dual=100 * (1 - 0.5**epoch) if dual else None,
            gap=2 * 0.5**epoch / (1 + 0.5**epoch) if dual else None,
            score=0.9 - 0.5**epoch if score else None,
            certified=epoch % certified == 0,
        )
        for epoch in range(1, n + 1)
    ]


def size(path):
    """Width and height in pixels, as the header of a PNG file has them."""
    header = path.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert header[12:16] == b"IHDR"
    return struct.unpack(">II", header[16:24])


@pytest.mark.parametrize(
    ("traces", "panels"),
    [
        ({"dcd": run(30)}, 3),
        ({"dcd": run(1)}, 3),
        ({"dcd": run(20, score=False)}, 2),
        ({"perceptron": run(20, dual=False)}, 2),
        ({"perceptron": run(1, dual=False, score=False)}, 1),
        ({"dcd": run(20), "perceptron": run(9, dual=False), "sgd": []}, 3),
        ({"quick": run(20, seconds=0.01), "slow": run(20, seconds=10.0)}, 3),
        ({"instant": run(1, seconds=0.0)}, 3),
        ({f"solver {number}": run(5) for number in range(12)}, 3),
        ({"bad bound": [epoch._replace(dual=-50.0, gap=1.5) for epoch in run(5)]}, 3),
        ({"solved": [epoch._replace(dual=epoch.primal, gap=0.0) for epoch in run(5)]}, 2),
        ({"separable": [epoch._replace(primal=0.0, dual=0.0, gap=None) for epoch in run(5)]}, 2),
        ({"overflown": [epoch._replace(primal=float("inf"), gap=None) for epoch in run(2)] + run(5)}, 3),
        ({"sparse": [epoch if epoch.certified else epoch._replace(primal=None, gap=None) for epoch in run(20)]}, 3),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_every_trace_has_its_picture(tmp_path, traces, panels):
    path = tmp_path / "curves.png"
    plot_curves(traces, path, title="a title")
    assert size(path) == (panels * 690, 600)


def test_an_existing_picture_is_replaced(tmp_path):
    path = tmp_path / "curves.png"
    path.write_text("something else", encoding="utf-8")
    plot_curves({"dcd": run(3)}, str(path))
    assert size(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_existing_picture_alone(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def fail(self, file, **_):
        file.write(b"half a picture")
        raise RuntimeError

    path = tmp_path / "curves.png"
    path.write_text("the old picture", encoding="utf-8")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(RuntimeError):
        plot_curves({"dcd": run(3)}, path)
    assert path.read_text(encoding="utf-8") == "the old picture"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("traces", [{}, {"dcd": []}, {"dcd": [Epoch(1, 1.0, 1, None, None, None, None, False)]}])
def test_nothing_to_plot_is_refused(tmp_path, traces):
    with pytest.raises(WidemarginError, match="nothing to plot"):
        plot_curves(traces, tmp_path / "curves.png")
    assert list(tmp_path.iterdir()) == []


def test_colours_and_markers_together_tell_many_traces_apart():
    looks = {(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]) for number in range(42)}
    assert len(looks) == 42


def test_matplotlib_is_imported_only_to_draw():
    program = "import sys, widemargin.report.curves; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
