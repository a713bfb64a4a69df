"""Where compiled kernels are kept, and that an edited source never meets an old kernel."""

import gc
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import event as numba_event

import widemargin
from widemargin import _jit, _kernel_cache
from widemargin._self_test import failure
from widemargin.errors import WidemarginError

VIOLATION = """if True:
    import numpy as np
    from widemargin import _jit
    from widemargin.core.cut_store import CutStore
    from widemargin.core.cuts import violation
    store = CutStore(1)
    store.sets.b[0], store.sets.begin[0], store.sets.end[0] = 5.0, 0, 2
    store.sets.indices[:2], store.sets.values[:2] = [0, 1], [1.0, 2.0]
    print(violation(store.sets, 0, np.array([1.0, 0.5])))
    print(_jit._DIRECTORY)
    print(sum(violation.stats.cache_hits.values()))
"""

COMPILING = VIOLATION + "    print(_jit.seconds_compiling() > 0.0)"


def run(program, **environment):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(
        command, env=inherited | environment, capture_output=True, encoding="utf-8", check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def package(tmp_path):
    """A copy of the library that may be edited."""
    source = Path(widemargin.__file__).parent
    shutil.copytree(source, tmp_path / "copy" / "widemargin", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "copy" / "widemargin"


def test_a_kernel_is_compiled_once_and_again_when_a_callee_in_another_file_changes(package, tmp_path):
    where = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    value, first, hits, compiling = run(COMPILING, **where)
    assert (value, hits, compiling) == ("3.0", "0", "True")
    assert Path(first).parent == tmp_path / "cache"
    assert any(Path(first).glob("*.kernel"))
    assert run(COMPILING, **where) == ["3.0", first, "1", "False"]

    callee = package / "core" / "sparse.py"
    text = callee.read_text(encoding="utf-8")
    assert text.count("total += values[np") == 1
    callee.write_text(text.replace("total += values[np", "total += 2.0 * values[np"), encoding="utf-8")
    assert run(VIOLATION, **where) == ["1.0", first, "0"]


@pytest.mark.parametrize("lost", [False, True])
def test_ctrl_c_while_compiling_is_never_lost(lost):
    """What is raised in a callback of LLVM is lost; so it is raised when the kernel is done."""

    def _raw_object_cache_notify():
        signal.raise_signal(signal.SIGINT)

    def compiling():
        press()
        done.append("kernel")

    done, press = [], _raw_object_cache_notify if lost else lambda: signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), numba_event.trigger_event("numba:compile", data={}):
        compiling()
    assert done == ["kernel"] * lost
    assert not _jit.is_compiling()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize("pressed", [False, True])
def test_the_collector_rests_while_kernels_are_compiled_and_is_as_before_when_they_are_done(on, pressed):
    was_on = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        try:
            with numba_event.trigger_event("numba:compile", data={}):
                with numba_event.trigger_event("numba:compile", data={}):
                    assert not gc.isenabled()
                assert not gc.isenabled()
                if pressed:
                    signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            assert pressed
        assert gc.isenabled() == on
    finally:
        (gc.enable if was_on else gc.disable)()


CHOSEN = """if True:
    import logging, sys
    logging.basicConfig(format="%(message)s", stream=sys.stdout)
    {before}
    from widemargin import _jit
    from widemargin.core.sparse import new_table
    print(_jit._WAY, len(new_table(3)), bool(new_table.stats.cache_hits))
"""
BROKEN = "import numba.core.compiler_machinery as it; del it.register_pass"


@pytest.mark.parametrize(
    ("before", "chosen", "said", "kept"),
    [
        ("", "layered", [], True),
        (BROKEN, "plain", ["twice as long"], True),
        (
            f"{BROKEN}; import numba.core.compiler as it; del it.CompileResult._rebuild",
            "not kept",
            ["twice as long", "every process"],
            False,
        ),
    ],
)
@pytest.mark.skipif(_jit._WAY != "layered", reason="here there is nothing to lose")
def test_kernels_are_compiled_as_this_numba_can(before, chosen, said, kept, tmp_path):
    """What works is found out once, and the log says what is missing."""
    program, where = CHOSEN.format(before=before), {"NUMBA_CACHE_DIR": str(tmp_path), "WIDEMARGIN_COMPILER": ""}
    for is_kept, wanted in ((False, said), (kept, [])):
        log, _, answers = " ".join(run(program, **where)).rpartition(chosen)
        assert answers.split() == ["16", str(is_kept)]
        assert log.count("with Numba") == len(wanted)
        assert all(each in log for each in wanted)


def test_a_setting_chooses_the_plain_compiler(tmp_path, monkeypatch):
    where = {"NUMBA_CACHE_DIR": str(tmp_path)}
    for is_kept in ("False", "True"):
        assert run(CHOSEN.format(before=""), **where, WIDEMARGIN_COMPILER="plain") == ["plain", "16", is_kept]
    monkeypatch.setenv("WIDEMARGIN_COMPILER", "fast")
    with pytest.raises(WidemarginError, match="may be 'plain'"):
        _jit._way(None)


def test_the_self_test_sees_what_is_wrong():
    taken = []

    def spoilt(function, directory):
        return lambda *given: (function(*given), taken.append(given))[0]

    assert failure(lambda function, directory: function, None) == ""
    assert failure(lambda function, directory: lambda *given: None, None).startswith("TypeError")
    assert failure(spoilt, None) == "kernels answer otherwise than in Python", "references are kept"


def test_where_nothing_can_be_written_kernels_work_all_the_same(tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    value, directory, hits = run(VIOLATION, NUMBA_CACHE_DIR=str(blocked / "cache"))
    assert (value, directory, hits) == ("3.0", "None", "0")


def test_the_users_cache_is_the_default(tmp_path):
    program = "from widemargin import _jit; print(_jit._DIRECTORY)"
    (directory,) = run(program, XDG_CACHE_HOME=str(tmp_path), LOCALAPPDATA=str(tmp_path), HOME=str(tmp_path))
    assert directory.startswith(str(tmp_path))
    assert Path(directory).name.startswith("widemargin-")
    assert Path(directory).is_dir()


def test_a_kernel_is_known_by_all_that_its_file_imports_and_by_nothing_else(package, monkeypatch):
    monkeypatch.setattr(_kernel_cache, "PACKAGE", package)
    viterbi, examples = package / "decoders" / "viterbi.py", package / "tasks" / "tag" / "features.py"

    def digests():
        for each in (_kernel_cache.sources_digest, _kernel_cache._imports_of, _kernel_cache._source):
            each.cache_clear()
        return [_kernel_cache.sources_digest(str(file)) for file in (viterbi, examples)]

    before = digests()
    assert before == digests()
    (package / "decoders" / "cky.py").write_text("# changed\n", encoding="utf-8")
    assert digests() == before
    for file, changed in ((package / "core" / "sparse.py", [False, True]), (viterbi, [True, True])):
        with file.open("a") as stream:
            stream.write("# changed\n")
        after = digests()
        assert [a != b for a, b in zip(after, before, strict=True)] == changed
        before = after


def test_the_setting_of_other_libraries_is_not_touched():
    program = "import numba; before = numba.config.CACHE_DIR; import widemargin.core.cuts; "
    program += "print(before == numba.config.CACHE_DIR)"
    assert run(program) == ["True"]


@pytest.mark.parametrize(("module", "waits"), [("numba.core.base", True), ("elsewhere", False)])
def test_ctrl_c_waits_until_numba_has_read_its_registries(module, waits):
    """They are read once: an interrupted compiler would miss what it had not read yet, in all later fits."""
    names = {"__name__": module, "asked": lambda: _jit.in_callback(sys._getframe())}
    exec("def install_registry(): return asked()", names)
    assert names["install_registry"]() is waits
