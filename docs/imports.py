"""Draws which package imports which, into `imports.svg` beside this file: ``python docs/imports.py``.

A package is drawn above all that it imports. Of its imports only those are drawn that do not follow from others: who
imports `report`, which imports `core`, has no line to `core`. Errors, types, threads and the kernel decorator are left
out, since everything imports them.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "widemargin"
PICTURE = Path(__file__).with_name("imports.svg")
ALONE = ("clusterings", "metrics", "summaries")  # modules beside the packages that not everything imports
WIDTH, HEIGHT, GAP, RISE = 112, 30, 16, 78

Graph = dict[str, set[str]]


def package_of(module: str) -> str:
    """The package of a module as the picture has it: the folder of a task is a package of its own."""
    parts = module.split(".")[1:]
    if parts[:1] == ["tasks"] and len(parts) > 1 and (SOURCE / "tasks" / parts[1]).is_dir():
        return f"tasks.{parts[1]}"
    if not parts or not ((SOURCE / parts[0]).is_dir() or parts[0] in ALONE):
        return ""
    return parts[0]


def imports_of(path: Path) -> Iterator[str]:
    """The modules of this library that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("widemargin"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported() -> Graph:
    """The packages, each with those that it imports."""
    graph: Graph = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(["widemargin", *path.relative_to(SOURCE).with_suffix("").parts])
        here = package_of(module)
        if here:
            graph[here] |= {there for each in imports_of(path) if (there := package_of(each)) not in ("", here)}
    return dict(graph)


def reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """All packages that can be reached from one."""
    found, waiting = set[str](), list(graph[start])
    while waiting:
        package = waiting.pop()
        if package not in found:
            found.add(package)
            waiting += graph[package]
    return found


def reduced(graph: Graph) -> Graph:
    """Only the imports that do not follow from others."""
    return {
        package: {each for each in below if not any(each in reached(graph, other) for other in below - {each})}
        for package, below in graph.items()
    }


def rows_of(graph: Graph) -> list[list[str]]:
    """The packages in rows, the lowest first: each in the row above the highest that it imports."""
    level: dict[str, int] = {}
    for package in TopologicalSorter(graph).static_order():
        level[package] = max((level[each] + 1 for each in graph[package]), default=0)
    return [sorted(each for each in level if level[each] == row) for row in range(max(level.values()) + 1)]


def picture() -> str:
    """The picture as SVG."""
    graph = imported()
    rows = rows_of(graph)
    width = max(len(row) * (WIDTH + GAP) for row in rows) + GAP
    height = len(rows) * RISE
    place = {
        package: ((width - len(row) * (WIDTH + GAP) + GAP) / 2 + k * (WIDTH + GAP), height - (number + 1) * RISE + 24)
        for number, row in enumerate(rows)
        for k, package in enumerate(row)
    }
    lines, boxes = [], []
    for package, below in sorted(reduced(graph).items()):
        x, y = place[package]
        for each in sorted(below):
            to_x, to_y = place[each]
            lines.append(
                f'<path d="M{x + WIDTH / 2:g} {y + HEIGHT:g}C{x + WIDTH / 2:g} {y + RISE:g} {to_x + WIDTH / 2:g} '
                f'{to_y - RISE + HEIGHT:g} {to_x + WIDTH / 2:g} {to_y:g}"/>'
            )
        boxes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
            f'<text x="{x + WIDTH / 2:g}" y="{y + HEIGHT / 2 + 5:g}">{package}</text>'
        )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" font-family="sans-serif" font-size="14" text-anchor="middle">',
            f'<rect width="{width:g}" height="{height:g}" fill="white"/>',
            '<g fill="none" stroke="#7a8ca3">',
            *lines,
            '</g><g fill="#eef3f9" stroke="#35557d">',
            *(box.replace("<text", '<text fill="#1b2d45" stroke="none"') for box in boxes),
            "</g></svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
