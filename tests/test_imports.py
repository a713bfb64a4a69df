"""The import graph: its picture is current, and what is slow or special is imported in one kind of place only."""

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

import widemargin
from widemargin.tasks import TASKS

ROOT = Path(__file__).parents[1]
SOURCE = Path(widemargin.__file__).parent


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def drawing():
    spec = importlib.util.spec_from_file_location("imports", ROOT / "docs" / "imports.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def graph():
    return drawing().imported()


def importers_of(package):
    """The files that import a package, at the top or inside a function."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(tree(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == package for name in names):
                found.add(path.relative_to(SOURCE).as_posix())
    return found


def has_no_encoding(call):
    """Whether a call reads or writes text, of a file or another program, whose encoding is left to `LANG`."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name in ("read_text", "write_text"):
        return len(call.args) + len(call.keywords) < 1 + (name == "write_text")
    return name in ("run", "Popen", "check_output") and any(each.arg == "text" for each in call.keywords)


def test_encodings_are_named():
    files = [path for name in ("src", "tests", "examples", "benchmarks") for path in (ROOT / name).rglob("*.py")]
    doubtful = [path for path in files if re.search("_text|subprocess", path.read_text(encoding="utf-8"))]
    calls = ((path, node) for path in doubtful for node in ast.walk(tree(path)) if isinstance(node, ast.Call))
    assert not [f"{path.relative_to(ROOT)}:{node.lineno}" for path, node in calls if has_no_encoding(node)]


def test_the_picture_is_current():
    """Run `python docs/imports.py` where this fails."""
    assert (ROOT / "docs" / "imports.svg").read_text(encoding="utf-8") == drawing().picture()


def test_packages_import_in_one_direction():
    assert len(graph()) >= 15
    assert all(package not in drawing().reached(graph(), package) for package in graph())


def test_only_bridges_know_tasks():
    """Tasks never import each other; what they share, the command line and reports name none of them."""
    folders = {package for package in graph() if package.startswith("tasks.")}
    assert folders == {f"tasks.{name}" for name in TASKS}
    for package, below in graph().items():
        assert package in ("crfsuite", "dask", "torch") or not below & folders, package


def test_only_estimators_import_scikit_learn():
    flat = {"crfsuite/metrics.py", "crfsuite/scorers.py"}  # sklearn-crfsuite's names for scikit-learn's metrics
    found = {path.rpartition("/")[2] for path in set(importers_of("sklearn")) - flat}
    assert found == {"estimator.py", "scikit_learn.py"}


def test_only_one_package_imports_dask():
    for name in ("dask", "distributed"):
        assert {path.partition("/")[0] for path in importers_of(name)} == {"dask"}


def test_only_one_package_imports_pytorch():
    assert {path.partition("/")[0] for path in importers_of("torch")} == {"torch"}
