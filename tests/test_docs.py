"""The pages of docs/: their examples run and print what they show, their links lead somewhere, and none is missing."""

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

from helpers.printed import agree
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import SOLVERS
from widemargin.tasks import TASKS, estimators, task
from widemargin.tasks.parameters import PRESETS

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
    for path in (*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("papers/*.md")))
}
EXAMPLES = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", flags=re.DOTALL)
SAYS = {
    "adapters.md": "proven to be within",
    "answers.md": "expected calibration error",
    "bracketing.md": "(TOP (S (NP (PRP They))",
    "choosing.md": "perceptron",
    "classification.md": "proven to be within",
    "clustering.md": "a local optimum after",
    "command-line.md": "Leeds B-",
    "comparing.md": "predicts best",
    "coreference.md": "a local optimum after",
    "crfsuite.md": "Active features",
    "graphs.md": "proven to be within",
    "latent.md": "[(1, 1), (0, None), (1, 0), (0, None)]",
    "motifs.md": "TGACGTCA [1]",
    "neural.md": "tensor([[ 0,  1,  0,  1],\n        [ 0,  1, -1, -1]])",
    "objectives.md": "proven to be within",
    "out-of-core.md": "True",
    "own-structure.md": "[1, -1]",
    "parsing.md": "Arc(head=",
    "pystruct.md": "proven to be within",
    "ranking.md": "proven to be within",
    "segmentation.md": "Span(start=2, end=4, type='city')",
    "segments.md": "[(0, 0, 0), (1, 2, 1)]",
    "speed.md": "proven to be within",
    "summaries.md": "The staff is very friendly and the rooms are clean.",
    "svmstruct.md": "proven to be within",
    "tagging.md": "[['DET', 'NOUN', 'VERB']]",
    "training.md": "proven to be within",
    "word-clusters.md": " without clusters, 0.5",
}
"""What pages print that do not show it right below an example."""
ELSEWHERE = ("model-format.md", "pictures.md", "scaling.md")  # pages with tests of their own
RUN = [name for name, text in PAGES.items() if EXAMPLES.search(text) and name not in ELSEWHERE]


@pytest.mark.parametrize("name", RUN)
def test_examples_run_and_print_what_is_shown(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pycrfsuite", None)  # one page puts something there
    names, everything, shown_outputs = {}, "", 0
    for code, shown in EXAMPLES.findall(PAGES[name]):
        exec(compile(code, name, "exec"), names)
        printed = capsys.readouterr().out
        if shown:
            shown_outputs += 1
            assert agree(printed, shown), printed
        everything += printed
    assert SAYS[name] in everything if name in SAYS else shown_outputs


def slug(heading):
    """The anchor of a heading, as code hosts and Sphinx make it."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    outside_code = re.sub(r"```.*?```", "", PAGES[name], flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", outside_code):
        if not target.startswith("http"):
            page, _, anchor = target.partition("#")
            page = os.path.normpath(Path(name).parent / page) if page else name
            assert (DOCS / page).exists(), target
            if anchor:
                headings = re.findall(r"^#+ (.*)$", PAGES[page], flags=re.MULTILINE)
                assert anchor in map(slug, headings), target


def test_every_page_is_on_the_site():
    trees = re.findall(r"```\{toctree\}\n(.*?)```", "".join(PAGES.values()), flags=re.DOTALL)
    lines = {line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")}
    listed = {line.rpartition("<")[2].rstrip(">") for line in lines}
    assert {name.removesuffix(".md") for name in PAGES} - {"index"} <= listed


def test_every_task_has_a_page_with_a_picture():
    rows = re.findall(r"^\| \[.*\]\(([\w-]+\.md)\) \|.* `([a-z]+)` \|$", PAGES["tasks.md"], flags=re.MULTILINE)
    assert [name for _, name in rows] == list(TASKS)
    for page, name in rows:
        pictures = re.findall(r"!\[[^\]]+\]\(([\w./-]+)\)", PAGES[page])
        assert pictures, page
        assert all((DOCS / picture).exists() for picture in pictures)
        for kind in task(name).kinds.values():
            assert kind.name in PAGES["tasks.md"]
            assert kind.name in PAGES[page]
    assert all(f"`{name}`" in PAGES["tasks.md"] for name in estimators())


def test_solvers_and_objectives_that_pages_advise_exist():
    advised = re.findall(r'`"([a-z-]+)"`', PAGES["choosing.md"].partition("## Choosing C")[0])
    assert advised
    assert set(advised) <= {*SOLVERS, *PRESETS}
    described = re.findall(r"^\| `([a-z-]+)` \|", PAGES["objectives.md"].partition("```python")[0], flags=re.MULTILINE)
    assert described
    assert set(described) <= set(OBJECTIVES)


@pytest.fixture(scope="module")
def site():
    """The parts of the site's own extension, which need no Sphinx."""
    found = {}
    for name in ("registries", "docstrings"):
        spec = importlib.util.spec_from_file_location(f"site_{name}", DOCS / "_site" / f"{name}.py")
        found[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found[name])
    return found


def test_solvers_and_objectives_have_pages_made_of_their_sources(site):
    pytest.importorskip("torch")  # the reference lists it
    pages = site["registries"].pages()
    assert {f"solvers/{name}" for name in SOLVERS} | {f"objectives/{name}" for name in OBJECTIVES} <= set(pages)
    table = site["registries"].solver_table()
    assert all(f"[`{name}`](generated/solvers/{name}.md)" in table for name in SOLVERS)
    folder = DOCS / "generated"
    for name, text in pages.items():
        here = (folder / name).parent
        for source, begin in re.findall(r"\{literalinclude\} (\S+)\n.*?:lines: (\d+)-\n", text, flags=re.DOTALL):
            code = (here / source).resolve().read_text(encoding="utf-8").splitlines()
            assert code[0].strip('"').split(".")[0].split("`")[0] in text  # the docstring is the page's text
            assert not code[int(begin) - 2].strip()  # it begins with a whole definition
        for link in re.findall(r"\]\((\S+?)\.md\)", text):
            assert str((here / link).resolve().relative_to(folder)) in pages


def test_parameters_are_described_below_their_names(site):
    lines = [
        "Parameters",
        "----------",
        "tau : the paper's τ",
        "w, cuts : to start",
        "    from",
        "n : int",
        "    How many.",
    ]
    said = ["Parameters", "----------", "tau", "    the paper's τ", "w, cuts", "    to start", "    from"]
    assert site["docstrings"].described(lines) == [*said, "n : int", "    How many."]
    assert site["docstrings"].described(["Notes", "-----", "a : b"]) == ["Notes", "-----", "a : b"]


def test_equations_are_marked_as_literal(site):
    marked = site["docstrings"].literal_equations(["The step is", "", "    w += a", "", "for all a."])
    assert marked == ["The step is", "", "::", "", "    w += a", "", "for all a."]
    listed = ["- one", "", "  more", "x : int", "    said"]
    assert site["docstrings"].literal_equations(listed) == listed
