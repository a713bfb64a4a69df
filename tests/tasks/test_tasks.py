"""The registry of tasks: whatever it lists is whole, described, and loaded only when asked for."""

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import widemargin
from helpers.models import EXPECTED, FIXTURES, given_for, inputs_of
from widemargin.cli.commands import main
from widemargin.cli.options import parameter_fields
from widemargin.core.model_file import read_model
from widemargin.tasks import TASKS, estimators, kinds, reporter_of, task
from widemargin.tasks.base import Model
from widemargin.tasks.files import Reporter
from widemargin.tasks.parameters import Parameters, spelt_type

KINDS = dict(kinds())
WITH_COMMANDS = [name for name in TASKS if task(name).files is not None]


@pytest.mark.parametrize("name", KINDS)
def test_the_parts_of_a_kind_fit_together(name):
    kind = KINDS[name]
    parameters, model, estimator = kind.parameters, kind.model(), kind.estimator()
    assert issubclass(parameters, Parameters)
    assert issubclass(model, Model)
    assert model.kind == name
    assert issubclass(reporter_of(name), Reporter)
    assert issubclass(estimator, parameters)
    assert [field.name for field in fields(estimator)] == [field.name for field in fields(parameters)]
    assert estimator._compile is kind.compile
    assert estimator.__name__ == kind.name
    assert getattr(widemargin, estimator.__name__) is estimator
    assert estimator.__name__ in dir(widemargin)


@pytest.mark.parametrize("name", KINDS)
def test_help_describes_every_parameter(name):
    """Name, type, default and text of each, right behind the first sentence, and nothing else before them."""
    estimator = KINDS[name].estimator()
    document = inspect.getdoc(estimator)
    first, heading, rest = document.split("\n\n", 1)[0], *document.split("\n\n", 1)[1].split("\n----------\n", 1)
    assert "\n" not in first
    assert heading == "Parameters"
    described = dict(re.findall(r"^(\w+) : (.+)\n    \S", rest.split("\n\n")[0], flags=re.MULTILINE))
    assert list(described) == [field.name for field in fields(estimator)]
    signature = inspect.signature(estimator).parameters
    for field in fields(estimator):
        assert described[field.name].startswith(spelt_type(field.type))
        default = signature[field.name].default
        if default is not inspect.Parameter.empty:
            text = f'"{default}"' if isinstance(default, str) else repr(default)
            assert described[field.name].endswith(f", default={text}")
    for attribute in ("solution_", "model_"):
        assert re.search(rf"^{attribute} : \w+\n    \S", rest, flags=re.MULTILINE)


@pytest.mark.parametrize("command", ["train", "compare"])
@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_options_are_the_parameters(name, command):
    """Every parameter with an option is in the help, with the default of the dataclass."""
    ctx = main.make_context("widemargin", ["demo"], resilient_parsing=True)
    found = {option.name: option for option in main.get_command(ctx, command).get_command(ctx, name).params}
    for field_name, (_, field) in parameter_fields(task(name)).items():
        if field.metadata["option"] is None:
            assert field_name not in found
            continue
        option = found[field_name]
        assert option.help.startswith(field.metadata["text"].split("{")[0][:20])
        if not field.metadata["given_as"] and not (command == "compare" and field_name in ("max_epochs", "tol")):
            assert option.default == field.default
    result = CliRunner().invoke(main, [command, name, "--help"])
    assert result.exit_code == 0, result.output


def test_tasks_without_files_have_no_command():
    assert set(TASKS) - set(WITH_COMMANDS) == {"custom"}
    assert "custom" not in CliRunner().invoke(main, ["train", "--help"]).output


def test_names_for_type_checkers_are_those_of_the_tasks():
    text = Path(widemargin.__file__).read_text(encoding="utf-8")
    listed = set(re.findall(r"from widemargin\.tasks\.\w+\.estimator import (\w+) as", text))
    assert len(listed) >= 7
    assert listed <= set(estimators())


def loaded(code):
    """The modules of the library that a fresh process has loaded after some code."""
    code += "\nimport sys; print(*sorted(name for name in sys.modules if name.startswith('widemargin')), sep='\\n')"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    ).stdout.splitlines()


def test_training_a_tagger_loads_no_other_task():
    modules = loaded(
        "import widemargin\n"
        "widemargin.SequenceTagger(max_epochs=1, templates='word').fit([['a', 'b']], [['A', 'B']]).predict([['a']])"
    )
    others = [name for name in TASKS if name != "tag"]
    assert not [each for each in modules for other in others if each.startswith(f"widemargin.tasks.{other}.")]
    assert not [each for each in modules if each.startswith("widemargin.decoders.cky")]
    assert len(modules) <= 130  # of 180 before tasks had folders, and of 250 now


def test_loading_and_predicting_load_no_reports():
    names = [name for name in EXPECTED if not given_for(name) and name not in ("tag-matrix", "bracket")]
    asked = [(str(FIXTURES / f"{name}.wm"), inputs_of(name)) for name in names]
    assert len(asked) >= 5
    code = "import sys\nfrom widemargin.tasks.base import load_model\n"
    code += f"for path, inputs in {asked!r}:\n    load_model(path).predict(inputs)\n"
    code += "assert not {'sklearn', 'matplotlib'} & set(sys.modules), 'slow'"
    modules = loaded(code)
    assert not [each for each in modules if re.search(r"report|files|training|estimator|pictures|explain", each)]


def test_help_loads_nothing_that_is_slow():
    code = "import sys\nfrom click.testing import CliRunner\nfrom widemargin.cli.commands import main\n"
    for name in WITH_COMMANDS:
        code += f"assert CliRunner().invoke(main, ['train', {name!r}, '--help']).exit_code == 0\n"
    code += "assert not {'numpy', 'numba', 'sklearn', 'scipy'} & set(sys.modules), 'slow'"
    loaded(code)


def plain(outputs):
    """Outputs as JSON has them."""
    if isinstance(outputs, np.ndarray):
        return outputs.tolist()
    if isinstance(outputs, list | tuple):
        return [plain(each) for each in outputs]
    return outputs if isinstance(outputs, str | int) else str(outputs)


@pytest.mark.parametrize("name", EXPECTED)
def test_models_of_earlier_versions_still_load(name, tmp_path):
    """Files written by version 0.1.0 before tasks had folders: loaded, they predict as they did; saved again, too."""
    given, inputs = given_for(name), inputs_of(name)
    estimator = widemargin.load(FIXTURES / f"{name}.wm", **given)
    assert plain(estimator.predict(inputs)) == EXPECTED[name]["outputs"]
    estimator.save(tmp_path / "again.wm")
    again = widemargin.load(tmp_path / "again.wm", **given)
    assert plain(again.predict(inputs)) == EXPECTED[name]["outputs"]
    assert np.array_equal(again.solution_.w, estimator.solution_.w)
    assert again.get_params(deep=False).keys() == estimator.get_params(deep=False).keys()


def test_there_is_a_model_of_every_kind_that_version_0_1_had():
    """And of graphs, which are of a later version."""
    found = {read_model(FIXTURES / f"{name}.wm").header["structure"] for name in EXPECTED}
    assert found == {"chain", "segment", "tree", "brackets", "classes", "multilabel", "custom", "graph"}
    assert found <= set(KINDS)


def test_weights_of_a_loaded_model_are_put_together_only_when_asked_for(monkeypatch):
    from widemargin.tasks.tag.features import ChainWeights

    asked = []
    flat = ChainWeights.flat
    monkeypatch.setattr(ChainWeights, "flat", lambda weights: asked.append(1) or flat(weights))
    tagger = widemargin.load(FIXTURES / "tag.wm")
    tagger.predict([["Rome", "fell"]])
    assert not tagger.model_.weights.thin_emission.values.flags.owndata  # still in the mapped file
    assert not asked
    assert len(tagger.solution_.w) == tagger.model_.chain.n_weights
    assert asked == [1]
    assert tagger.solution_ is tagger.solution_
