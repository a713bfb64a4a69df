"""The examples in the README are run as they stand."""

import re
from pathlib import Path

import pytest

from helpers.printed import agree, gaps

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
OUTPUTS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)
FROM_AN_INDEX = re.compile(r"pip install [\"']?widemargin")


def test_there_are_examples():
    assert len(BLOCKS) == 8
    assert len(OUTPUTS) == 2
    assert README.index("pip install .") < README.index(BLOCKS[0]) < README.index("![")


def test_nobody_is_told_to_install_it_from_an_index():
    """It is on none; whoever puts a package of that name there would be run instead."""
    files = [
        *ROOT.glob("*.md"),
        *(path for folder in ("docs", "examples", "src") for path in (ROOT / folder).rglob("*")),
    ]
    told = [path for path in files if path.suffix in (".md", ".py") and FROM_AN_INDEX.search(path.read_text("utf-8"))]
    assert not told
    assert FROM_AN_INDEX.search("pip install 'widemargin[torch]'")


@pytest.mark.parametrize("block", BLOCKS)
def test_examples_run(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    shown = dict(OUTPUTS).get(block)
    promised = gaps("".join(re.findall(r"# … (proven to be within .*)", block)))
    assert len(promised) <= len(gaps(printed))
    assert all(gap <= 1.0 for gap in (*promised, *gaps(printed))) or not promised  # in per cent, as by default
    if shown is None:
        assert "proven to be within" in printed
    else:
        assert agree(printed, shown), printed


def test_every_command_of_the_readme_exists():
    from click.testing import CliRunner

    from widemargin.cli.commands import main

    shell = "".join(re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL))
    commands = re.findall(r"\bwidemargin ([a-z-]+(?: tag| segment)?)", shell)
    assert {"train tag", "evaluate", "predict", "inspect"} <= set(commands)
    for command in commands:
        result = CliRunner().invoke(main, [*command.split(), "--help"])
        assert result.exit_code == 0, result.output


def test_files_that_the_readme_links_to_exist():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (Path(__file__).parents[1] / target).exists(), target
