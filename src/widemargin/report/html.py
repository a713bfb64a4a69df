"""The web pages that the library writes: no scripts, no network, and readable from a phone to a wide screen."""

from html import escape

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
