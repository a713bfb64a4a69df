"""CRFsuite's models beyond python-crfsuite's classes: what is imported for them, and the command line."""

import json
import subprocess
import sys

import numpy as np
import pytest

from helpers.command_line import fail, succeed
from widemargin.files.lcrf import ChainFile, Weights, read_lcrf, write_lcrf


@pytest.fixture
def path(tmp_path):
    states = Weights(np.array([0, 1, 1], np.int32), np.array([0, 0, 1], np.int32), np.array([2.0, -1.0, 3.0]))
    transitions = Weights(np.array([1], np.int32), np.array([0], np.int32), np.array([0.5]))
    write_lcrf(tmp_path / "m.crfsuite", ChainFile(["O", "N"], ["bias", "word=dog"], states, transitions))
    return tmp_path / "m.crfsuite"


def test_tagging_imports_no_task(path):
    code = (
        "import sys, widemargin.crfsuite as crfsuite\n"
        "assert 'numpy' not in sys.modules\n"
        f"tagger = crfsuite.Tagger()\ntagger.open({str(path)!r})\nprint(tagger.tag([['bias'], ['word=dog']]))\n"
        "print(sum(name.startswith('widemargin') for name in sys.modules), 'sklearn' in sys.modules)\n"
        "print(any(name.startswith('widemargin.tasks') for name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    labels, counted, tasks = done.stdout.splitlines()
    assert labels == "['O', 'N']"
    assert counted.split()[1] == tasks == "False"
    assert int(counted.split()[0]) <= 32


@pytest.mark.interpreted
def test_the_command_line_shows_and_writes_models_of_crfsuite(path, tmp_path):
    shown = json.loads(succeed("inspect", path, "--json"))
    assert (shown["written_by"], shown["structure"], shown["labels"]) == ("CRFsuite", "chain", ["O", "N"])
    assert shown["size"]["weights_not_zero"] == 4
    assert "word=dog" in succeed("inspect", path, "--export", tmp_path / "again.crfsuite")
    assert (tmp_path / "again.crfsuite").read_bytes() == path.read_bytes()
    assert read_lcrf(path).labels == ["O", "N"]
    (tmp_path / "words.txt").write_text("the dog\n", encoding="utf-8")
    assert "trained on ready-made features" in fail("predict", path, tmp_path / "words.txt", "--text")
    path.write_bytes(path.read_bytes()[:-1])
    assert "is truncated" in fail("inspect", path)
