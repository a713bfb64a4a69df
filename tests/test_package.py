"""What is published besides code: metadata, licence, citation, and the mark for type checkers agree with each other."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import widemargin

ROOT = Path(__file__).parents[1]
BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = BUILD["project"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_type_checkers_find_annotations() -> None:
    assert (files(widemargin) / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_the_lowest_python_is_the_first_that_is_listed() -> None:
    listed = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), flags=re.MULTILINE)
    assert PROJECT["requires-python"] == f">={listed[0]}"
    assert [f"3.{11 + k}" for k in range(len(listed))] == listed
    assert f"Python {listed[0]} to {listed[-1]}" in text("CHANGELOG.md")


def test_the_changelog_tells_the_lowest_versions() -> None:
    lowest = dict(re.fullmatch(r"([\w-]+)>=([\d.]+).*", each).groups() for each in PROJECT["dependencies"])
    names = {"numpy": "NumPy", "scipy": "SciPy", "scikit-learn": "scikit-learn", "numba": "Numba"}
    for name, called in names.items():
        assert f"{called} {lowest[name]}" in text("CHANGELOG.md")


def test_versions_and_licences_agree() -> None:
    version, citation = widemargin.__version__, text("CITATION.cff")
    assert f"\nversion: {version}\n" in citation
    assert f"\nlicense: {PROJECT['license']}\n" in citation
    assert f"\n## {version}" in text("CHANGELOG.md")
    assert text("CHANGELOG.md").index("\n## Unreleased\n") < text("CHANGELOG.md").index(f"\n## {version}")
    assert PROJECT["authors"][0]["name"].lower() in text("LICENSE").lower()
    assert PROJECT["authors"][0]["name"] in citation


def test_every_page_for_people_is_in_the_sdist_and_its_links_lead_somewhere() -> None:
    assert "/*.md" in BUILD["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for page in ("CHANGELOG.md", "SECURITY.md"):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text(page)):
            assert target.startswith("https://") or (ROOT / target).exists(), (page, target)
