"""A reliability diagram: which share of predictions is right, against how sure they were said to be.

Where confidence is calibrated the points lie on the diagonal. A point's area is the share of predictions in its bin.
"""

from os import PathLike

from widemargin.answers.calibration import CalibrationReport
from widemargin.data.atomic import replacing
from widemargin.report.curves import COLOURS, frame

LARGEST = 400.0  # the area of a point that stands for all predictions, in square points
INCHES = (4.6, 4.6)


def plot_reliability(report: CalibrationReport, path: str | PathLike[str]) -> None:
    """Draw a panel for labels, and one for spans if there are any, into a PNG file at `path`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(INCHES[0] * len(report), INCHES[1]), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(report), squeeze=False)[0]
    for axes, (kind, found), colour in zip(panels, report.items(), COLOURS, strict=False):
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
        x, y = [each.confidence for each in found.bins], [each.right for each in found.bins]
        axes.plot(x, y, color=colour, linewidth=1)
        sizes = [max(LARGEST * each.n / found.n, 12.0) for each in found.bins]
        axes.scatter(x, y, s=sizes, color=colour, alpha=0.8, linewidths=0, zorder=3, clip_on=False)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="confidence", ylabel="share that is right")
        axes.set_title(f"{found.n:,} {kind}: expected calibration error {found.after:.3f}", fontsize=10)
        axes.set_aspect("equal")
        frame(axes)
    with replacing(path, "wb") as file:
        figure.savefig(file, format="png")
