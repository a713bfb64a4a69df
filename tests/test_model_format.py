"""Model files are as docs/model-format.md says: its program reads them, and it names every field and tensor."""

import json
import re
from pathlib import Path

import pytest
from safetensors.numpy import save_file

from helpers.models import EXPECTED, FIXTURES
from widemargin import SequenceTagger, load
from widemargin.core.model_file import DTYPES, ENTRY, FORMAT, read_model
from widemargin.core.solution import EPOCH, ROUND, Solution
from widemargin.errors import ModelFileError
from widemargin.tasks import kinds
from widemargin.text.templates import LONGEST, MOST

PAGE = (Path(__file__).parents[1] / "docs" / "model-format.md").read_text(encoding="utf-8")
(PROGRAM,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
TITLES = re.findall(r"^### (.*)$", PAGE, flags=re.MULTILINE)


def named(text: str) -> set[str]:
    """The names in backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


def section(structure: str) -> str:
    """The text about a structure."""
    (title,) = (title for title in TITLES if f"`{structure}`" in title)
    return PAGE.split(f"### {title}\n")[1].split("\n#")[0]


def test_the_program_of_the_page_predicts_the_same(tmp_path: Path) -> None:
    words = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["dogs", "bark"], ["cats", "ß", "\ud800"]]
    y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["N", "X", "X"]]
    X = [[[f"w={word}", f"end={word[-1:]}"] for word in sequence] for sequence in words]
    tagger = SequenceTagger(n_jobs=1).fit(X, y)
    tagger.save(tmp_path / "a.wm")
    program: dict[str, object] = {}
    exec(PROGRAM, program)
    unseen = [[["w=the", "end=e"], ["never seen"], ["end=s", "end=s"]], [[]], [["w=\ud800"], ["w=cats", "end=k"]]]
    assert tagger.predict(X) == y
    for sequence in [*X, *unseen]:
        assert program["tag"](tmp_path / "a.wm", sequence) == load(tmp_path / "a.wm").predict([sequence])[0]


def test_newer_formats_are_refused_in_the_words_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / "m.wm"
    header, tensors = read_model(FIXTURES / "tag.wm")
    newer = {"format": FORMAT + 1, "written_by": "widemargin 0.9.0", "new": {"structure": 7}}
    save_file({name: each.copy() for name, each in tensors.items()}, path, {ENTRY: json.dumps(header | newer)})
    with pytest.raises(ModelFileError) as refused:
        load(path)
    promised = " ".join(re.search(r"sentence is `([^`]*)`", PAGE)[1].split())
    assert str(refused.value).replace(str(path), "m.wm") == promised


def test_additions_are_ignored(tmp_path: Path) -> None:
    header, tensors = read_model(FIXTURES / "tag.wm")
    header["summary"]["later"], header["later"] = 1, {"labels": 2}
    more = {name: each.copy() for name, each in tensors.items()} | {"later": tensors["weights.begin"].copy()}
    save_file(more, tmp_path / "m.wm", {ENTRY: json.dumps(header), "other": "text"})
    expected = EXPECTED["tag"]
    assert load(tmp_path / "m.wm").predict(expected["inputs"]) == load(FIXTURES / "tag.wm").predict(expected["inputs"])


def test_the_page_names_every_structure_and_its_fields() -> None:
    for structure, kind in kinds():
        model = kind.model()
        assert {*model.fields, *model.perhaps} - {"labels"} <= named(section(structure)) | {"features"}, structure
    assert {f"`{structure}`" for structure, _ in kinds()} <= {each for title in TITLES for each in title.split()}


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.wm")), ids=lambda path: path.stem)
def test_the_page_names_all_that_files_hold(path: Path) -> None:
    header, tensors = read_model(path)
    known = named(PAGE)
    common = named(PAGE.split("## Structures")[0])
    assert header.keys() - common <= named(section(header["structure"]))
    assert header["summary"].keys() | header["summary"]["solution"].keys() <= common
    assert {*header["summary"]["solution"]["trace"][0]} <= common
    assert {*header.get("features", ())} <= known
    for name in tensors:
        plain = re.sub(r"^taggers\.\w+\.", "", name)
        assert {plain, re.sub(r"\.(text|lengths|indptr|indices|values)$", "", plain)} & known, name


def test_the_page_names_limits_and_the_course_of_training() -> None:
    assert f"# Model files: format {FORMAT}\n" in PAGE
    assert {*DTYPES, *EPOCH, *ROUND, *Solution.__dataclass_fields__} - {"w", "cuts", "slacks", "state"} <= named(PAGE)
    assert f"at most {MOST:,} texts of at most {LONGEST:,} characters" in PAGE
