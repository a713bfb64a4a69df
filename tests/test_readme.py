"""The examples in the README are run as they stand."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


OUTPUTS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)
SECONDS = r"after [0-9.]+ s and"  # the only figures that are not the same everywhere


def test_there_are_examples():
    assert len(BLOCKS) == 8
    assert len(OUTPUTS) == 2
    assert README.index("pip install widemargin") < README.index(BLOCKS[0]) < README.index("![")


@pytest.mark.parametrize("block", BLOCKS)
def test_examples_run(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    shown = dict(OUTPUTS).get(block)
    for promised in re.findall(r"# … (proven to be within .*)", block):
        assert promised in printed
    if shown is None:
        assert "proven to be within" in printed
    else:
        assert re.sub(SECONDS, "", printed) == re.sub(SECONDS, "", shown)


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
