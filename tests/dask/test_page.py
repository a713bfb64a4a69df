"""The examples of docs/scaling.md run."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")

PAGE = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text(encoding="utf-8")


def test_examples_run(client, tmp_path, monkeypatch, capsys):
    first, *blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert first.splitlines()[-1].startswith("client = Client(LocalCluster(")
    monkeypatch.chdir(tmp_path)
    names = {"client": client}  # instead of another cluster
    for block in blocks:
        exec(compile(block, "scaling.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "bytes moved" in printed
    assert printed.count("('accuracy', '") == 2
    assert Path("model.wm").exists()
    assert names["by_files"].solution_.certified
