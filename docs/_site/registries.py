"""A page for every solver, every part that solvers share, and every objective, and the list of all public names.

A page holds the docstring of the module, which states the algorithm, and its code. Both are read when the site is
built, and the lists are `SOLVERS`, `OBJECTIVES` and ``__all__``, so that nothing can be missing or out of date.
"""

import ast
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import widemargin
from widemargin.core.solver import Solver
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import SOLVERS

SOURCE = Path(widemargin.__file__).parent
PACKAGES = {
    "widemargin": "Estimators and training",
    "widemargin.solvers": "Solvers",
    "widemargin.objectives": "Objectives",
    "widemargin.core.solver": "Writing a solver",
    "widemargin.core.examples": "Writing a compiled structure",
    "widemargin.structures": "Structures in plain Python",
    "widemargin.testing": "Checks of solvers and structures",
    "widemargin.data": "Reading data",
    "widemargin.data.generators": "Generated addresses and matchings",
    "widemargin.data.treebanks": "Generated treebanks",
    "widemargin.data.duplicates": "Generated duplicates",
    "widemargin.scorers": "Scorers for scikit-learn",
    "widemargin.metrics": "Scores of sequences",
    "widemargin.clusterings": "Scores of clusterings",
    "widemargin.summaries": "Scores of summaries",
    "widemargin.graphs": "Graphs of pictures and networks",
    "widemargin.adapters": "Problems of other libraries",
    "widemargin.torch": "Neural scorers",
    "widemargin.torch.distributions": "Distributions",
    "widemargin.crfsuite": "CRFsuite's classes",
    "widemargin.errors": "Errors",
}
"""The packages and modules of the reference, in its order."""
SHOWN_AS_SOURCE = ("widemargin.solvers", "widemargin.objectives")
"""Packages whose classes have a page with their source, so that methods need no list."""
INHERITED = [
    "   :inherited-members: BaseEstimator, ABC, Protocol, Generic, dict, tuple, Module, ValueError, BaseException"
]
WHERE = "Everything public. Methods and parameters are described as `help()` describes them."


def module_path(module: str) -> Path:
    """The file of a module such as ``solvers.dcd``."""
    return SOURCE.joinpath(*module.split(".")).with_suffix(".py")


def linked(text: str, folder: str) -> str:
    """The text with links to the pages of the modules that it names in backticks."""
    parts = {path.stem for path in (SOURCE / "solvers").glob("*.py")} - solver_modules()

    def link(found: re.Match[str]) -> str:
        name = found[1].removeprefix("solvers.")
        if name in SOLVERS:
            return f"[`{found[1]}`]({folder}solvers/{name}.md)"
        return f"[`{found[1]}`]({folder}solvers/parts/{name}.md)" if name in parts else found[0]

    return re.sub(r"`([\w.-]+)`", link, text)


def solver_modules() -> set[str]:
    """The modules that hold a solver of the registry."""
    return {type(solver).__module__.rpartition(".")[2] for solver in SOLVERS.values()}


def page(title: str, modules: Iterable[str], facts: str, depth: int) -> str:
    """Docstring and code of modules, with some facts between them."""
    up = "../" * depth
    said, code = [], []
    for module in modules:
        path = module_path(module)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        said.append(linked(ast.get_docstring(tree) or "", f"{up}generated/"))
        first = next(node for node in tree.body[1:] if not isinstance(node, ast.Import | ast.ImportFrom))
        begin = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", []))])
        code.append(
            f"```{{literalinclude}} {up}../src/widemargin/{path.relative_to(SOURCE)}\n:language: python\n"
            f":caption: widemargin/{path.relative_to(SOURCE)}\n:lines: {begin}-\n```\n"
        )
    return "\n\n".join([f"---\nhide-toc: true\n---\n# {title}", *said, facts, "## Source", *code])


def solver_table() -> str:
    """All solvers with what their modules say first, for the page that lists them."""
    rows = ["| `solver=` | method | losses | proves its gap |", "| --- | --- | --- | --- |"]
    for name, solver in SOLVERS.items():
        said = " ".join(_first_paragraph(import_module(type(solver).__module__)).split())
        rows.append(
            f"| [`{name}`](generated/solvers/{name}.md) | {linked(said, 'generated/')} | {minimised(solver)} "
            f"| {'no' if solver.usual_epochs else 'yes'} |"
        )
    return "\n".join(rows)


def minimised(solver: Solver) -> str:
    """The losses that a solver takes; smooth objectives have none."""
    losses = [each.replace("_", " ") for each in solver.losses] if "maximum" in solver.kinds else []
    return ", ".join([*losses, *["smooth"] * ("smooth" in solver.kinds)])


def solver_facts(name: str) -> str:
    """What a solver of the registry takes, needs and proves."""
    solver: Any = SOLVERS[name]
    kind = type(solver)
    rows = {
        "class": f"{{py:class}}`~widemargin.solvers.{kind.__name__}`",
        "as": f"`{solver!r}`",
        "losses": minimised(solver),
        "penalties": ", ".join(f"`{each}`" for each in solver.penalties),
        "needs of the structure": ", ".join(f"`{each.__name__}`" for each in solver.requires) or "decoding alone",
        "`partial_fit`": "yes" if solver.online else "no",
        "stops": f"after {solver.usual_epochs} epochs by default" if solver.usual_epochs else "at a proven gap",
    }
    return "\n".join(["| | |", "| --- | --- |", *(f"| {key} | {value} |" for key, value in rows.items())])


def objective_facts(name: str) -> str:
    """What an objective needs and allows."""
    objective = OBJECTIVES[name]
    rows = {
        "class": f"{{py:class}}`~widemargin.objectives.{type(objective).__name__}`",
        "as": f"`{objective!r}`",
        "slacks": {"maximum": "a maximum of cuts", "smooth": "smooth, with tangents as cuts"}[objective.kind],
        "needs of the structure": ", ".join(f"`{each.__name__}`" for each in objective.requires) or "decoding alone",
        "gap": "proven" if objective.exact else "not proven",
    }
    return "\n".join(["| | |", "| --- | --- |", *(f"| {key} | {value} |" for key, value in rows.items())])


def pages() -> dict[str, str]:
    """The text of every generated page by its name."""
    made = reference_pages()
    for name, solver in SOLVERS.items():
        module = type(solver).__module__.removeprefix("widemargin.")
        made[f"solvers/{name}"] = page(name, [module], solver_facts(name), 2)
    for path in sorted((SOURCE / "solvers").glob("[a-z]*.py")):
        if path.stem not in solver_modules():
            made[f"solvers/parts/{path.stem}"] = page(path.stem, [f"solvers.{path.stem}"], "", 3)
    parts = [name.rpartition("/")[2] for name in made if name.startswith("solvers/parts/")]
    made["solvers/parts/index"] = "# Shared parts\n\n```{toctree}\n:maxdepth: 1\n\n" + "\n".join(parts) + "\n```"
    for name, objective in OBJECTIVES.items():
        module = type(objective).__module__.removeprefix("widemargin.")
        made[f"objectives/{name}"] = page(name, [module], objective_facts(name), 2)
    return made


def public_names(module: ModuleType) -> list[str]:
    """The classes and functions of a module: those in ``__all__``, or those that it defines."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    kept = [name for name in names if callable(getattr(module, name)) and hasattr(getattr(module, name), "__name__")]
    if not hasattr(module, "__all__"):
        kept = [name for name in kept if getattr(module, name).__module__ == module.__name__]
    return sorted(kept)


def reference_pages() -> dict[str, str]:
    """A page of all public names, package by package, and a page for each package with what its names mean.

    Estimators have so many methods that each name of `widemargin` has a page of its own.
    """
    index, made = ["# Reference", WHERE], {}
    for package, title in PACKAGES.items():
        module = import_module(package)
        names = public_names(module)
        own_pages = package == "widemargin"
        table = [
            f".. currentmodule:: {package}",
            "",
            ".. autosummary::",
            "   :nosignatures:",
            *["   :toctree:"] * own_pages,
            "",
        ]
        table += [f"   {name}" for name in names]
        heading = f"## {title}" if own_pages else f"## [{title}]({package}.md)"
        index += [heading, f"`{package}`", _rst(table)]
        if not own_pages:
            members = [] if package in SHOWN_AS_SOURCE else ["   :members:", *INHERITED]
            described = [f"# {title}", f"`{package}`", linked(_first_paragraph(module), "../")]
            for name in names:
                is_class = isinstance(getattr(module, name), type)
                what = f".. auto{'class' if is_class else 'function'}:: {package}.{name}"
                described += [f"## {name}", _rst([what, *members] if is_class else [what])]
            made[f"api/{package}"] = "\n\n".join(described)
    others = "\n".join(package for package in PACKAGES if package != "widemargin")
    index.append(f"```{{toctree}}\n:hidden:\n\n{others}\n```")
    return {"api/index": "\n\n".join(index), **made}


def _rst(lines: list[str]) -> str:
    return "\n".join(["```{eval-rst}", *lines, "```"])


def _first_paragraph(module: ModuleType) -> str:
    return (module.__doc__ or "").partition("\n\n")[0]


def write(app: Any, _: Any) -> None:
    """Write what has changed; remove pages of what is gone."""
    folder = Path(app.srcdir) / "generated"
    made = {folder / f"{name}.md": text for name, text in pages().items()}
    made[folder / "solvers.txt"] = solver_table()
    for kind in ("solvers", "objectives", "api"):
        for old in set((folder / kind).rglob("*.md")) - set(made):
            old.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Run before Sphinx looks for pages."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True}
