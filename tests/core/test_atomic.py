"""Files are replaced as a whole or not at all."""

import os
import re
import stat

import pytest

from widemargin.core.atomic import replacing
from widemargin.errors import WidemarginError


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file(tmp_path, failure):
    path = tmp_path / "x"
    path.write_text("old", encoding="utf-8")

    def fail():
        with replacing(path) as stream:
            stream.write("new")
            raise failure

    with pytest.raises(failure):
        fail()
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_replacing_keeps_line_ends_permissions_and_links(tmp_path):
    path, link = tmp_path / "x", tmp_path / "link"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    link.symlink_to(path)
    with replacing(link) as stream:
        stream.write("é\r\n")
    assert path.read_bytes() == "é\r\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert link.is_symlink()


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    with replacing(tmp_path / "x", "wb") as stream:
        stream.write(b"\x00")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full and /dev/null")
def test_devices_are_written_directly():
    with replacing("/dev/null") as stream:
        stream.write("gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    def fill():
        with replacing("/dev/full", "wb") as stream:
            stream.write(b"x" * 100_000)

    with pytest.raises(WidemarginError, match=r"^/dev/full cannot be written: No space left on device$"):
        fill()


def test_unwritable(tmp_path):
    def write(path):
        with replacing(path) as stream:
            stream.write("x")

    path = tmp_path / "none" / "x"
    with pytest.raises(WidemarginError, match=re.escape(f"{path} cannot be written: No such file or directory")):
        write(path)
    with pytest.raises(WidemarginError, match=re.escape(f"{tmp_path} cannot be written: Is a directory")):
        write(tmp_path)
