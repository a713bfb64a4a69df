"""Pictures in SVG: the shapes that they are made of, and a self-contained page of them; and web pages.

Everything is plain shapes with attributes of their own. There are no style sheets, scripts or fonts, so that every
viewer shows the same; the page has a background, so that it can be read in a dark viewer. Web pages have no scripts and
need no network, and are readable from a phone to a wide screen.
"""

import unicodedata
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from widemargin.report.text import printable

FONT = "Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif"
PAPER, INK, FAINT, LINE, ACCENT = "#ffffff", "#1b1f24", "#7a828c", "#8c9bb0", "#1f5fa8"
MARGIN, BETWEEN = 20.0, 28.0
CORNER = 8.0
NARROW, BROAD = set("fijlrtI.,:;'`!|()[]{}/\\ -\""), set("mwMW@%&—…")


class Picture(NamedTuple):
    """A drawing of the given size whose upper left corner is at (0, 0); notebooks show it."""

    width: float
    height: float
    body: str

    def _repr_svg_(self) -> str:
        return page([self])


def page(pictures: Iterable[Picture]) -> str:
    """The pictures one under the other, as the text of an SVG file."""
    drawn, y, width = [], MARGIN, 0.0
    for picture in pictures:
        drawn.append(f'<g transform="translate({MARGIN:g} {number(y)})">\n{picture.body}</g>\n')
        y += picture.height + BETWEEN
        width = max(width, picture.width)
    across, down = number(width + 2 * MARGIN), number(y - BETWEEN + MARGIN if drawn else 2 * MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across}" height="{down}" viewBox="0 0 {across} {down}"'
        f' font-family="{FONT}" text-anchor="middle">\n'
        f'<rect width="{across}" height="{down}" rx="{CORNER:g}" fill="{PAPER}"/>\n{"".join(drawn)}</svg>\n'
    )


def number(value: float) -> str:
    """A coordinate, to a tenth of a pixel.

    >>> number(12.04), number(3.14159)
    ('12', '3.1')
    """
    return f"{value:.1f}".removesuffix(".0")


def width_of(text: str, size: float) -> float:
    """About how wide the text is in a font of `size` pixels; rather too wide, as the viewer's font is unknown."""
    return size * sum(map(_em, printable(text)))


def _em(each: str) -> float:
    if each in NARROW:
        return 0.36
    if each in BROAD or unicodedata.east_asian_width(each) in "WF":
        return 1.0
    if unicodedata.category(each) in ("Mn", "Me", "Cf"):
        return 0.0
    return 0.7 if each.isupper() else 0.6


def title(text: str) -> str:
    """The text shown when the pointer rests on the picture, and read to those who cannot see it."""
    return f"<title>{escape(printable(text))}</title>\n"


def lines(paths: Iterable[str]) -> str:
    """Paths as thin lines."""
    drawn = "".join(f'<path d="{path}"/>\n' for path in paths)
    return f'<g fill="none" stroke="{LINE}" stroke-width="1.4">\n{drawn}</g>\n' if drawn else ""


def bow(begin: tuple[float, float], end: tuple[float, float], level: float) -> str:
    """A path from one point up to the height `level`, along it with round corners, and down to another point."""
    (x, y), (other, bottom) = begin, end
    turn = CORNER if other > x else -CORNER
    return (
        f"M{number(x)} {number(y)}V{number(level + CORNER)}q0 {-CORNER:g} {turn:g} {-CORNER:g}"
        f"H{number(other - turn)}q{turn:g} 0 {turn:g} {CORNER:g}V{number(bottom)}"
    )


def filled_paths(paths: Iterable[str]) -> str:
    """Paths as shapes filled with the colour of lines."""
    joined = "".join(paths)
    return f'<path d="{joined}" fill="{LINE}"/>\n' if joined else ""


class Text(NamedTuple):
    """A text whose base line is centred at (x, y)."""

    x: float
    y: float
    text: str


def texts(written: Iterable[Text], *, size: float, colour: str, weight: str = "normal") -> str:
    """Texts of one kind."""
    drawn = "".join(
        f'<text x="{number(x)}" y="{number(y)}">{escape(printable(text))}</text>\n' for x, y, text in written
    )
    return f'<g font-size="{size:g}" fill="{colour}" font-weight="{weight}">\n{drawn}</g>\n' if drawn else ""


def cards(written: Iterable[Text], *, size: float) -> str:
    """Patches of paper to write these texts on, where lines run behind them."""
    drawn = ""
    for x, y, text in written:
        width = width_of(text, size) + 6
        drawn += f'<rect x="{number(x - width / 2)}" y="{number(y - size)}" width="{number(width)}"'
        drawn += f' height="{size + 3:g}"/>\n'
    return f'<g fill="{PAPER}">\n{drawn}</g>\n' if drawn else ""


STYLE = """
:root { --ink: #1b1f24; --faint: #59626d; --paper: #fff; --line: #d6dbe1; --strong: #8c9bb0; --accent: #1f5fa8;
  --tint: #eef5fb; color-scheme: light; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 54rem;
  margin: 0 auto; padding: 1rem clamp(0.75rem, 3vw, 1.5rem) 3rem; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.2; }
img { display: block; width: 100%; height: auto; }
"""
DARK = """
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --faint: #a3adb9; --paper: #14171b; --line: #343b44; --strong: #5b6673; --accent: #6ea8e8;
    --tint: #1d2a38; color-scheme: dark; }
}
"""


def web_page(title: str, body: str, style: str = "", *, dark: bool = True) -> str:
    """A whole page; `body` is HTML, and `style` is what it needs besides `STYLE`.

    Unless `dark` is False, it follows readers who prefer a dark screen.
    """
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}{DARK if dark else ''}{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
