"""Options from files: every one can be given, the command line wins, and mistakes are named."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from helpers.command_line import fail, run, succeed, written
from helpers.files import TASK_FILES
from widemargin.cli.commands import main
from widemargin.cli.config import options_of
from widemargin.tasks import TASKS, task
from widemargin.tasks.base import load_model

pytestmark = pytest.mark.interpreted
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def config(tmp_path: Path) -> Any:
    """Writes a config file, and returns its path."""

    def write(text: str) -> Path:
        path = tmp_path / "run.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "train.tsv"
    path.write_text(written("conll", 6, 1), encoding="utf-8")
    return path


def commands() -> list[tuple[list[str], click.Command]]:
    """Every command, with those of all tasks."""
    found = []
    for name, command in main.commands.items():
        context = click.Context(command, info_name=name)
        if isinstance(command, click.Group):
            found += [([name, each], command.get_command(context, each)) for each in command.list_commands(context)]
        else:
            found.append(([name], command))
    return [(path, command) for path, command in found if command is not None]


def value_for(option: click.Option) -> Any:
    """A value that the option accepts, as TOML has it."""
    if option.is_flag:
        return True
    if option.multiple:
        return ["name=file"] if option.metavar == "NAME=FILE" else ["x", "y"]
    if isinstance(option.type, click.Choice):
        return option.type.choices[-1]
    if option.name == "span":
        return "1:2"
    if isinstance(option.type, click.IntRange):
        return max(option.type.min or 0, min(3, option.type.max or 3))
    return "3"


@pytest.mark.parametrize(
    ("path", "command"), commands(), ids=lambda each: " ".join(each) if isinstance(each, list) else ""
)
def test_every_option_of_every_command_can_be_set(path: list[str], command: click.Command, config: Any) -> None:
    options = options_of(command)
    assert options
    lines = [f"{name} = {json.dumps(value_for(option))}" for name, option in options.items()]
    lines[::2] = [line.replace("-", "_", line.partition(" =")[0].count("-")) for line in lines[::2]]
    chosen = config("\n".join(lines))
    arguments = ["3" for each in command.params if isinstance(each, click.Argument)]
    context = command.make_context(path[-1], [*arguments, "--config", str(chosen)], parent=click.Context(main))
    for name, option in options.items():
        source = context.get_parameter_source(str(option.name))
        assert source is click.core.ParameterSource.DEFAULT_MAP, name
        assert context.params[str(option.name)] not in (None, [], ()), name


def test_the_command_line_wins(data: Path, tmp_path: Path, config: Any) -> None:
    chosen = config(f'train = "{data}"\nepochs = 3\nC = 0.5\ntemplates = "word"\nquiet = true\nseed = 7\n')
    succeed("train", "tag", "--config", chosen, "--out", tmp_path / "a.wm", "--epochs", "2")
    parameters = load_model(tmp_path / "a.wm").summary["parameters"]
    assert (parameters["max_epochs"], parameters["C"], parameters["random_state"]) == (2, 0.5, 7)


def test_templates_may_be_a_list(data: Path, tmp_path: Path, config: Any) -> None:
    out = tmp_path / "m.wm"
    chosen = config(f'train = "{data}"\nepochs = 1\ntemplates = ["word", "lower[-1]|lower"]\nquiet = true\n')
    succeed("train", "tag", "--config", chosen, "--out", out)
    assert load_model(out).templates == {"": ["word", "lower[-1]|lower"]}


def test_a_table_for_each_command(data: Path, tmp_path: Path, config: Any) -> None:
    model, out = tmp_path / "a.wm", tmp_path / "out.tsv"
    chosen = config(
        f'label = "3"\n[train]\ntrain = "{data}"\nout = "{model}"\nepochs = 2\nquiet = true\n[predict]\nout = "{out}"\n'
    )
    succeed("train", "tag", "--config", chosen)
    succeed("predict", model, data, "--config", chosen)
    assert out.exists()
    assert json.loads(succeed("evaluate", model, data, "--config", chosen, "--json"))["label"] == "column3"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("epoch = 3", "{path}: there is no option 'epoch' of this command; did you mean 'epochs'?"),
        ("max-epochs = 3", "{path}: there is no option 'max-epochs' of this command; did you mean"),
        ("epochs = 'many'", "{path}: epochs: 'many' is not a valid integer"),
        ("epochs = true", "{path}: epochs must be a text or a number, not True"),
        ("epochs = {a = 1}", "{path}: epochs must be a text or a number, not {{'a': 1}}"),
        ("quiet = 1", "{path}: quiet must be true or false, not 1"),
        ("penalty = 'l3'", "{path}: penalty: 'l3' is not one of 'l2', 'l1'"),
        ("lexicon = ['no name']", "{path}: lexicon: 'no name' is not of the form NAME=FILE"),
        ("[train]\nepoch = 3", "{path}: there is no option 'epoch' of this command; did you mean 'epochs'?"),
        ("epochs = ", "{path} is not TOML: Invalid value (at end of document)"),
        ("zzz = 1", "{path}: there is no option 'zzz' of this command; there are train, dev, out, "),
    ],
)
def test_mistakes_are_named(text: str, complaint: str, data: Path, tmp_path: Path, config: Any) -> None:
    path = config(text)
    found = fail("train", "tag", "--config", path, "--train", data, "--out", tmp_path / "a.wm")
    assert found.startswith(complaint.format(path=path))
    assert not (tmp_path / "a.wm").exists()


def test_missing_and_binary_files(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in fail("demo", "--config", tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff")
    assert "is not UTF-8" in fail("demo", "--config", tmp_path / "b.toml")


@pytest.mark.parametrize("name", [name for name in TASKS if task(name).files is not None])
@pytest.mark.parametrize("command", ["train", "compare"])
def test_printed_options_read_again(command: str, name: str, tmp_path: Path, config: Any) -> None:
    options = ["--train", "a file.tsv", "--out", "ü.wm", *TASK_FILES[name]().options, "--C", "0.1", "--seed", "3"]
    printed = succeed(command, name, *options, "--print-config")
    assert tomllib.loads(printed)["seed"] == 3
    assert tomllib.loads(printed)["out"] == "ü.wm"
    assert succeed(command, name, "--config", config(printed), "--print-config") == printed


def test_printed_pairs_and_lists(tmp_path: Path, config: Any) -> None:
    options = ["--train", "a", "--out", "b", "--lexicon", "x=a b.txt", "--lexicon", "y=c", "--C", "0.1,1"]
    printed = succeed("train", "tag", *options, "--print-config")
    content = tomllib.loads(printed)
    assert content["lexicon"] == {"x": "a b.txt", "y": "c"}
    assert content["C"] == [0.1, 1.0]
    assert succeed("train", "tag", "--config", config(printed), "--print-config") == printed


def test_python_dash_m() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "widemargin", "predict", "--help"], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.startswith("Usage: python -m widemargin predict [OPTIONS] MODEL FILE\n")
    done = subprocess.run(
        [sys.executable, "-m", "widemargin", "--version"], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == run("--version").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    """The script that the documentation asks for, and the answer to what a user has typed so far."""
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    assert f"_WIDEMARGIN_COMPLETE={shell}_source widemargin" in page
    result = CliRunner().invoke(main, [], env={"_WIDEMARGIN_COMPLETE": f"{shell}_source"})
    assert result.exit_code == 0
    assert f"_WIDEMARGIN_COMPLETE={shell}_complete" in result.output
    typed = {"COMP_WORDS": "widemargin train tag --con", "COMP_CWORD": "3" if shell != "fish" else "--con"}
    answer = CliRunner().invoke(main, [], env={"_WIDEMARGIN_COMPLETE": f"{shell}_complete", **typed}).output
    assert "--config" in answer
    typed = {"COMP_WORDS": "widemargin train ta", "COMP_CWORD": "2" if shell != "fish" else "ta"}
    answer = CliRunner().invoke(main, [], env={"_WIDEMARGIN_COMPLETE": f"{shell}_complete", **typed}).output
    assert "tag" in answer


def test_the_file_of_the_documentation(config: Any) -> None:
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    printed = tomllib.loads(succeed("train", "tag", "--config", config(block), "--epochs", "20", "--print-config"))
    assert (printed["label"], printed["seed"], printed["epochs"], printed["C"]) == ("upos", 7, 20, [0.03, 0.1, 0.3])
    assert (
        fail("predict", "no.wm", "no.tsv", "--config", config(block))
        == "the model no.wm cannot be read: No such file or directory"
    )
