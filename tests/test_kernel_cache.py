"""Compiled kernels on disk: whatever happens to the files, programs run, and nothing unchecked is unpickled."""

import os
import pickle
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from widemargin import _jit, _kernel_cache
from widemargin._kernel_cache import checked_content, private_directory, write_content

PROGRAM = """
import logging, resource, sys
logging.basicConfig()
from widemargin._jit import _DIRECTORY, kernel

@kernel
def twice(x):
    return 2 * x

@kernel
def answer(x):
    return twice(x) + 2

if "full" in sys.argv:  # of everything that is written, only the first bytes reach the disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
print(answer(twice(10)), sum(answer.stats.cache_hits.values()), _DIRECTORY)
"""

COMPILER = "plain" if _jit._WAY == "plain" else ""  # asked for, it is not worth a word in the log
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions")


class Kernels:
    """A program with two kernels, and its cache."""

    def __init__(self, folder: Path) -> None:
        self.program, self.base = folder / "program.py", folder / "cache"
        self.program.write_text(PROGRAM, encoding="utf-8")

    def run(self, *arguments: str) -> tuple[bool, str]:
        """Run it; whether its kernel came from the cache, and what it logged."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        done = subprocess.run(
            [sys.executable, "-W", "error", self.program, *arguments],
            env=environment | {"NUMBA_CACHE_DIR": str(self.base), "WIDEMARGIN_COMPILER": COMPILER},
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        value, hits, _ = done.stdout.split(maxsplit=2)
        assert value == "42"
        return hits == "1", done.stderr

    @property
    def files(self) -> list[Path]:
        return sorted(self.base.glob("widemargin-*/__main__*"))

    def file(self, name: str) -> Path:
        (found,) = (path for path in self.files if f".{name}-" in path.name)
        return found


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """A program whose kernels are in the cache."""
    kernels = Kernels(tmp_path_factory.mktemp("kernels"))
    assert kernels.run() == (False, "")
    return kernels


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


class Harm:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return Path.touch, (self.path,)


@posix
def test_kernels_are_kept_for_this_user_alone(filled: Kernels) -> None:
    assert len(filled.files) == 2
    assert stat.S_IMODE(filled.files[0].parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in filled.files} == {0o600}
    assert filled.run() == (True, "")


def test_two_functions_in_one_line_are_two_kernels() -> None:
    program = "from widemargin._jit import kernel; print(*(each(7) for each in (kernel(lambda x: 2 * x), "
    program += "kernel(lambda x: 3 * x))))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True, timeout=120
    )
    assert done.stdout.split() == ["14", "21"]


def test_damaged_and_foreign_files_are_compiled_again(filled: Kernels, tmp_path: Path) -> None:
    path, other, mark = filled.file("answer"), filled.file("twice"), tmp_path / "harm"
    content = path.read_bytes()
    harm = pickle.dumps(Harm(mark))
    pickle.loads(harm)
    assert mark.exists()
    mark.unlink()
    damages = [
        b"",
        content[: len(content) // 2],
        flipped(content, 0),
        flipped(content, len(_kernel_cache.MAGIC)),
        flipped(content, len(content) // 2),
        flipped(content, len(content) - 1),
        content + b"x",
        other.read_bytes(),
        harm,
        content[: len(_kernel_cache.MAGIC) + _kernel_cache.DIGEST_SIZE] + harm,
    ]
    for damaged in damages:
        path.write_bytes(damaged)
        assert checked_content(path) is None
        assert not path.exists()
    path.write_bytes(harm)
    hit, log = filled.run()
    assert not hit
    assert log.count("\n") == 1
    assert "damaged or was not made here" in log
    assert not mark.exists()
    assert filled.run() == (True, "")


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_what_others_own_or_can_write_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.kernel"
    for spoil in (lambda: path.chmod(0o620), lambda: os.chown(path, 12345, -1)):
        write_content(path, b"content")
        assert checked_content(path) == b"content"
        spoil()
        assert checked_content(path) is None
    os.chown(tmp_path, 12345, -1)
    assert private_directory(tmp_path) is None


@posix
def test_a_directory_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    kernels = Kernels(tmp_path)
    kernels.run()
    directory, before = kernels.files[0].parent, [path.read_bytes() for path in kernels.files]
    for mode in (0o777, 0o720):
        directory.chmod(mode)
        hit, log = kernels.run()
        assert not hit
        assert log.count("\n") == 1
        assert "others can write to it" in log
    assert [path.read_bytes() for path in kernels.files] == before
    directory.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o700)
    directory.symlink_to(tmp_path / "elsewhere")
    assert private_directory(directory) is None


def test_a_directory_that_cannot_be(tmp_path: Path) -> None:
    kernels = Kernels(tmp_path)
    kernels.base.write_text("a file", encoding="utf-8")
    hit, log = kernels.run()
    assert not hit
    assert log.count("\n") == 1
    assert "compiled kernels are not kept" in log


@posix
def test_a_full_disk(tmp_path: Path) -> None:
    kernels = Kernels(tmp_path)
    hit, log = kernels.run("full")
    assert not hit
    assert log.count("\n") == 1
    assert "compiled kernels cannot be kept" in log
    assert kernels.files == []


def test_where_files_cannot_be_read_or_removed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A folder in place of the file is both, even for root."""
    (tmp_path / "x.kernel").mkdir()
    assert checked_content(tmp_path / "x.kernel") is None
    assert "cannot be read" in caplog.text


@posix
def test_a_cache_that_can_only_be_read_is_read(filled: Kernels) -> None:
    """As in a container whose image holds the kernels: nothing is written, or even tried."""
    before = {path: path.stat().st_mtime_ns for path in [*filled.files, filled.files[0].parent]}
    assert filled.run("full") == (True, "")
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_two_processes_fill_a_cache_at_once(tmp_path: Path) -> None:
    kernels = Kernels(tmp_path)
    with ThreadPoolExecutor(2) as both:
        logs = [log for _, log in both.map(lambda _: kernels.run(), range(2))]
    assert logs == ["", ""]
    assert len(kernels.files) == 2
    assert kernels.run() == (True, "")
