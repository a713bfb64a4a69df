"""The examples in docs/pictures.md are run as they stand, and make the pictures and lines that it shows."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.interpreted

DOCS = Path(__file__).parents[1] / "docs"
TEXT = (DOCS / "pictures.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
SHOWN = re.findall(r"```text\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.mark.parametrize(("number", "picture"), [(0, "arcs.svg"), (1, "brackets.svg")])
def test_examples_draw_what_is_shown(number, picture, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(BLOCKS[number], {})
    assert Path(picture).read_text(encoding="utf-8") == (DOCS / picture).read_text(encoding="utf-8")
    assert capsys.readouterr().out == SHOWN[number]
