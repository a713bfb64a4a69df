"""Sequence logos (Schneider & Stephens 1990): at each place a stack of letters as high as its information in bits.

In the stack each letter is as high as its probability times the information, the most frequent on top. Letters are
drawn as outlines, so every viewer shows the same. On a terminal the number of rows of a stack stands for its height.
"""

from collections.abc import Iterator
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatMatrix, FloatVector
from widemargin.report import svg
from widemargin.report.curves import check_can_draw
from widemargin.report.svg import Picture, Text

STANDARD = ("ACGT", "ACGU", "ACDEFGHIKLMNPQRSTVWY")
PSEUDO = 1.0  # the background counts as one more site, so that no probability is 0


class Motif(NamedTuple):
    """The motif as biologists keep it: counts of letters (l × letters) at its sites, and their shares in all data.

    As in motif databases, letters are counted at the sites that the trained model finds in its positive training
    sequences. The weights of the model are different: they distinguish the motif from its surroundings, and are not
    probabilities.
    """

    letters: str
    counts: FloatMatrix
    frequencies: FloatVector
    both_strands: bool

    @property
    def probabilities(self) -> FloatMatrix:
        """The probability of each letter at each place, (l × letters)."""
        counts = self.counts + PSEUDO * self.frequencies
        return counts / counts.sum(axis=1, keepdims=True)

    @property
    def information(self) -> FloatVector:
        """The bits at each place: log₂ of the number of letters minus the entropy."""
        p = self.probabilities
        return np.maximum(np.log2(len(self.letters)) + (p * np.log2(p)).sum(axis=1), 0.0)

    @property
    def consensus(self) -> str:
        """The most frequent letter at each place."""
        return "".join(self.letters[k] for k in self.probabilities.argmax(axis=1))

    def meme(self, name: str = "motif") -> str:
        """The text of a file in MEME's minimal motif format, version 4, which the tools of the MEME suite read."""
        lines = ["MEME version 4", "", *self._alphabet(), ""]
        if self.letters == "ACGT":
            lines += ["strands: + -" if self.both_strands else "strands: +", ""]
        frequencies = " ".join(
            f"{letter} {each:.6f}" for letter, each in zip(self.letters, self.frequencies, strict=True)
        )
        lines += ["Background letter frequencies", frequencies, ""]
        n_sites = round(float(self.counts.sum(axis=1).max(initial=0.0)))
        lines += [
            f"MOTIF {name} {self.consensus}",
            f"letter-probability matrix: alength= {len(self.letters)} w= {len(self.counts)} nsites= {n_sites} E= 0",
        ]
        lines += [" ".join(f"{p:.6f}" for p in row) for row in self.probabilities]
        return "\n".join(lines) + "\n"

    def _alphabet(self) -> list[str]:
        if self.letters in STANDARD:
            return [f"ALPHABET= {self.letters}"]
        return ['ALPHABET "letters"', *self.letters, "END ALPHABET"]


COLOURS = {"A": "#2f9e44", "C": "#1c6fd0", "G": "#e8940c", "T": "#d6303a", "U": "#d6303a"}
GROUPS = {"AVLIPFWMCG": "#1b1f24", "STYNQ": "#2f9e44", "KRH": "#1c6fd0", "DE": "#d6303a"}  # of amino acids
WIDTH, HEIGHT, AXIS = 34.0, 150.0, 34.0
LINES = 8
SHORTEST = 0.002  # of the whole height; letters below are left out


class PlacedLetter(NamedTuple):
    """A letter of a logo: its place, its bottom and its top, as shares of the highest possible stack."""

    place: int
    letter: str
    low: float
    high: float


def place_letters(motif: Motif) -> Iterator[PlacedLetter]:
    """All letters of a logo, from the bottom of each stack to its top."""
    heights = motif.probabilities * motif.information[:, None] / np.log2(len(motif.letters))
    for place, stack in enumerate(heights):
        low = 0.0
        for k in np.argsort(stack, kind="stable").tolist():
            if stack[k] >= SHORTEST:
                yield PlacedLetter(place, motif.letters[k], low, low + float(stack[k]))
                low += float(stack[k])


def logo_picture(motif: Motif) -> Picture:
    """The logo for `svg.page`."""
    check_can_draw()
    body = svg.title(f"sequence logo of {motif.consensus}")
    outlines: dict[str, Any] = {}
    for place, letter, low, high in place_letters(motif):
        outline = outlines.setdefault(letter, _outline(letter))
        x, y, up = AXIS + place * WIDTH, HEIGHT * (1.0 - low), HEIGHT * (high - low)
        path = "".join(_step(code, points) for points, code in outline.iter_segments(curves=True))
        body += (
            f'<path d="{path}" fill="{_colour(letter, motif.letters)}" '
            f'transform="translate({x + 1:.2f} {y:.2f}) scale({WIDTH - 2:.2f} {-up:.3f})"/>\n'
        )
    most, right = np.log2(len(motif.letters)), AXIS + WIDTH * len(motif.counts)
    ticks = range(int(most) + 1)
    body += svg.lines(
        [f"M{AXIS - 4:g} 0V{HEIGHT:g}H{right:g}", *(f"M{AXIS - 9:g} {HEIGHT * (1 - t / most):.1f}h5" for t in ticks)]
    )
    marks = [Text(AXIS - 15, HEIGHT * (1 - t / most) + 4, str(t)) for t in ticks]
    places = [Text(AXIS + WIDTH * (j + 0.5), HEIGHT + 16, str(j + 1)) for j in range(len(motif.counts))]
    body += svg.texts([*marks, *places], size=11, colour=svg.FAINT)
    body += svg.texts([Text(8.0, -6.0, "bits")], size=11, colour=svg.FAINT)
    return Picture(right, HEIGHT + 22, f'<g transform="translate(0 8)">\n{body}</g>\n')


def logo_png(motif: Motif) -> bytes:
    """The logo as the contents of a PNG file."""
    check_can_draw()
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import, and needed only here
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch
    from matplotlib.transforms import Affine2D

    n, most = len(motif.counts), float(np.log2(len(motif.letters)))
    figure = Figure(figsize=(1.0 + 0.45 * n, 2.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for place, letter, low, high in place_letters(motif):
        stretch = Affine2D().scale(0.94, most * (high - low)).translate(place + 0.53, most * low)
        outline = _outline(letter).transformed(stretch)
        axes.add_patch(PathPatch(outline, facecolor=_colour(letter, motif.letters), linewidth=0))
    axes.set(xlim=(0.4, n + 0.6), ylim=(0.0, most), ylabel="bits", xticks=range(1, n + 1))
    axes.spines[["top", "right"]].set_visible(False)
    stream = BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def logo_lines(motif: Motif, height: int = LINES) -> list[str]:
    r"""The logo as lines for a terminal, the top line first; empty columns are places without information.

    >>> sure = Motif("ACGT", np.array([[9.0, 0, 0, 0], [0, 5, 0, 5]]) * 1000, np.full(4, 0.25), False)
    >>> print(*logo_lines(sure, 4), sep="\n")
    A
    A
    AT
    AC
    """
    rows = [[" "] * len(motif.counts) for _ in range(height)]
    for place, letter, low, high in place_letters(motif):
        for row in range(height):
            # A letter fills the rows whose middle it covers.
            if low <= (row + 0.5) / height < high:
                rows[height - 1 - row][place] = letter
    return ["".join(row).rstrip() for row in rows]


def _outline(letter: str) -> Any:
    """The outline of a letter, as wide and as high as 1."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    path = TextPath((0, 0), letter, size=10, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    box = path.get_extents()
    return path.transformed(Affine2D().translate(-box.x0, -box.y0).scale(1 / box.width, 1 / box.height))


def _step(code: Any, points: Any) -> str:
    """One step of an outline as SVG has it."""
    command = {1: "M", 2: "L", 3: "Q", 4: "C"}.get(int(code))
    return "Z" if command is None else command + " ".join(f"{each:.3f}" for each in points)


def _colour(letter: str, letters: str) -> str:
    if letters in ("ACGT", "ACGU"):
        return COLOURS[letter]
    return next((colour for group, colour in GROUPS.items() if letter in group), svg.ACCENT)
