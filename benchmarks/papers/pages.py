"""The report: a Markdown page for each paper, one with all claims, and everything as one web page."""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from experiment import Block, Claim, Paper, Picture, Table
from PIL import Image

from widemargin.core.atomic import replacing
from widemargin.report.svg import web_page

STYLE = """
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; margin: 0.5rem 0 1.25rem; }
th, td { padding: 0.25rem 0.6rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
thead th { color: var(--faint); font-weight: 500; }
.wide { overflow-x: auto; overflow-wrap: normal; }
.claim { border-left: 4px solid var(--accent); background: var(--tint); padding: 0.25rem 1rem; margin: 0.75rem 0; }
.caption { color: var(--faint); margin: 0.25rem 0 0; }
figure { margin: 1rem 0; } figure img { background: #fff; border-radius: 6px; }
"""
OPENING = (
    "`make papers` runs the tables and figures of five papers again, with this library and open corpora; most of the "
    "papers' own are not free. So the claims can be compared, the numbers only side by side. Every verdict is computed "
    "from what was measured; the figures and the rule stand beside it on the page of the paper."
)


class Chapter(NamedTuple):
    """A paper with the blocks of its sections."""

    paper: Paper
    sections: list[tuple[str, list[Block]]]
    about: str

    @property
    def claims(self) -> list[Claim]:
        """All claims of the paper."""
        return [block for _, blocks in self.sections for block in blocks if isinstance(block, Claim)]


def write_report(folder: Path, papers: Iterable[tuple[Paper, Mapping[str, dict[str, Any]]]]) -> None:
    """Write the pages; each paper comes with what its experiments stored."""
    chapters = [chapter(paper, found) for paper, found in papers]
    folder.mkdir(parents=True, exist_ok=True)
    for each in chapters:
        for picture in pictures(each):
            with replacing(folder / f"{each.paper.key}-{picture.name}.png", "wb") as file:
                file.write(drawn(picture))
        text(folder / f"{each.paper.key}.md", markdown(each))
    text(folder / "claims.md", overview(chapters))
    text(folder / "report.html", page(chapters))


def chapter(paper: Paper, found: Mapping[str, dict[str, Any]]) -> Chapter:
    """The blocks of a paper; a section that lacks an experiment says so."""
    sections: list[tuple[str, list[Block]]] = []
    for section in paper.sections:
        missing = [name for name in section.needs if name not in found]
        if missing:
            blocks: list[Block] = [f"Not run: {', '.join(missing)}."]
        else:
            blocks = list(section.write({name: found[name]["measured"] for name in section.needs}))
        sections.append((section.title, blocks))
    return Chapter(paper, sections, provenance(list(found.values())))


def provenance(runs: Sequence[dict[str, Any]]) -> str:
    """What the figures of a paper were measured with."""
    if not runs:
        return "Nothing has been run."
    versions, machine = runs[0]["versions"], runs[0]["machine"]
    minutes = sum(run["seconds"] for run in runs) / 60
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    size = "quick sizes, which decide nothing; " if any(run["quick"] for run in runs) else ""
    busiest = max(run["machine"]["load"] or 0.0 for run in runs)
    return (
        f"{len(runs)} experiments, {minutes:.0f} minutes, one thread, {size}{machine['processor']}, "
        f"{machine['cores']} cores, load up to {busiest:.1f}; {named}."
    )


def pictures(each: Chapter) -> list[Picture]:
    return [block for _, blocks in each.sections for block in blocks if isinstance(block, Picture)]


def drawn(picture: Picture) -> bytes:
    """The figure as PNG; lines and letters need few colours, which makes the file a third as large."""
    stream, small = BytesIO(), BytesIO()
    picture.figure.savefig(stream, format="png", dpi=100)
    Image.open(stream).convert("RGB").quantize(64).save(small, format="png", optimize=True)
    return small.getvalue()


def text(path: Path, content: str) -> None:
    with replacing(path) as file:
        file.write(content)


def cell(value: Any) -> str:
    """A value of a table; numbers have three digits or so."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def verdict(claim: Claim) -> str:
    return "holds" if claim.holds else "does not hold"


def markdown(each: Chapter) -> str:
    """A paper's page."""
    paper = each.paper
    lines = [
        f"# {paper.title}",
        "",
        paper.cited,
        "",
        f"*What differs:* {paper.differs}",
        "",
        f"*Measured:* {each.about}",
    ]
    for title, blocks in each.sections:
        lines += ["", f"## {title}"]
        for block in blocks:
            lines += ["", *block_lines(block, paper.key)]
    return "\n".join(lines) + "\n"


def block_lines(block: Block, key: str) -> Iterator[str]:
    if isinstance(block, str):
        yield block
    elif isinstance(block, Table):
        if block.caption:
            yield f"{block.caption}:"
            yield ""
        yield f"| {' | '.join(block.head)} |"
        yield f"| --- |{' ---: |' * (len(block.head) - 1)}"
        for row in block.rows:
            yield f"| {' | '.join(map(cell, row))} |"
    elif isinstance(block, Picture):
        yield f"![{block.caption}]({key}-{block.name}.png)"
    else:
        yield f"> **{block.says}** This {verdict(block)} here: {block.because}"


def overview(chapters: Sequence[Chapter]) -> str:
    """The page with all claims."""
    counts = [(each.paper, len(each.claims), sum(claim.holds for claim in each.claims)) for each in chapters]
    every, held = (sum(column) for column in list(zip(*counts, strict=True))[1:])
    lines = ["# The five papers, measured again", "", OPENING, "", f"{held} of {every} claims hold."]
    lines += ["[One page](report.html) has everything.", "", "| paper | claims | hold here |", "| --- | ---: | ---: |"]
    lines += [f"| [{paper.title}]({paper.key}.md) | {of} | {held} |" for paper, of, held in counts]
    for each in chapters:
        lines += ["", f"## {each.paper.title}", ""]
        lines += [f"- {claim.says} *{verdict(claim).capitalize()}.*" for claim in each.claims]
    return "\n".join(lines) + "\n"


def page(chapters: Sequence[Chapter]) -> str:
    """Everything as one page that needs no other file."""
    parts = ["<h1>The five papers, measured again</h1>", f"<p>{prose(OPENING)}</p>"]
    for each in chapters:
        paper = each.paper
        parts += [f"<h2>{escape(paper.title)}</h2>", f"<p>{prose(paper.cited)}</p>"]
        parts += [
            f"<p><em>What differs:</em> {prose(paper.differs)}</p>",
            f"<p><em>Measured:</em> {prose(each.about)}</p>",
        ]
        for title, blocks in each.sections:
            parts += [f"<h3>{escape(title)}</h3>", *(block_html(block) for block in blocks)]
    return web_page("The five papers, measured again", "\n".join(parts) + "\n", STYLE)


def block_html(block: Block) -> str:
    if isinstance(block, str):
        return f"<p>{prose(block)}</p>"
    if isinstance(block, Table):
        head = "".join(f'<th scope="col">{prose(name)}</th>' for name in block.head)
        rows = "".join(f"<tr>{''.join(f'<td>{prose(cell(value))}</td>' for value in row)}</tr>\n" for row in block.rows)
        caption = f'<p class="caption">{prose(block.caption)}</p>' if block.caption else ""
        return f'{caption}<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>'
    if isinstance(block, Picture):
        shown = b64encode(drawn(block)).decode("ascii")
        return (
            f'<figure><img alt="{escape(block.caption)}" src="data:image/png;base64,{shown}">'
            f'<figcaption class="caption">{prose(block.caption)}</figcaption></figure>'
        )
    return (
        f'<p class="claim"><strong>{prose(block.says)}</strong> This {verdict(block)} here: {prose(block.because)}</p>'
    )


def prose(words: str) -> str:
    """The little Markdown that captions and claims use, as HTML."""
    shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words))
    shown = re.sub(r"\[([^]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', shown)
    shown = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", shown)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", shown)
