"""Files and folders of topics."""

import json

import pytest

from helpers.command_line import fail, succeed
from widemargin.errors import DataError, WidemarginError
from widemargin.tasks.base import Reading
from widemargin.tasks.summarise.features import Summary, Topic
from widemargin.tasks.summarise.files import read_topics

pytestmark = pytest.mark.interpreted

CONLLU = """# newdoc id = one
# meta::summary1 = (human) Dogs bark (loudly).
# meta::summary2 = (some-model; postedited) Barking dogs.
# meta::title = ignored
# sent_id = 1
# text = Dogs bark.
1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_

# text = They do.
1\tThey\tthey\tPRON\t_\t_\t0\troot\t_\t_

# newdoc id = two
# meta::summary1 = Cats.
# text = Cats meow.
1\tCats\tcat\tNOUN\t_\t_\t0\troot\t_\t_

"""


@pytest.fixture
def folder(tmp_path):
    """Two topics, one of them a folder of two documents; names with dots, other encodings, hidden files."""
    for path, content in {
        "topics/a.txt.data": "Caf\u00e9 life .\r\n\r\n It is good .\r\n",
        "topics/b/1.txt": "One thing.\n",
        "topics/b/2.txt": "Two things.\n",
        "topics/.hidden": "x",
        "summaries-gold/a/a.1.gold": "Good caf\u00e9\nlife",
        "summaries-gold/a/a.2.gold": "Good",
        "summaries-gold/b/b.1.gold": "Things",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content.encode("cp1252"))
    return tmp_path


def test_a_folder(folder):
    found = read_topics(str(folder), about={"encoding": "cp1252"})
    assert [Topic([["Café life .", "It is good ."]], "a"), Topic([["One thing."], ["Two things."]], "b")] == found.X
    assert found.y == [["Good café\nlife", "Good"], ["Things"]]
    assert found.size == {"topics": 2, "documents": 3, "sentences": 4}
    assert found.about == {"format": "text", "encoding": "cp1252"}
    below = read_topics(str(folder / "topics"), about={"encoding": "cp1252"}, gold=False)
    assert below.X == found.X


def test_what_is_wrong_with_a_folder_is_named(folder):
    with pytest.raises(DataError, match=r"a\.txt\.data, line 1: byte 0xe9 at offset 3 is not UTF-8"):
        read_topics(str(folder))
    for encoding in ("klingon", "rot13", "a\0"):
        with pytest.raises(WidemarginError, match="there is no encoding"):
            read_topics(str(folder), about={"encoding": encoding})
    with pytest.raises(DataError, match=r"is not (idna|IDNA)"):
        read_topics(str(folder), about={"encoding": "idna"})
    with pytest.raises(DataError, match="cannot be read"):
        read_topics("x" * 5000)
    with pytest.raises(DataError, match="the topic 'a' has no references"):
        read_topics(str(folder / "topics"), about={"encoding": "cp1252"})
    (folder / "empty").mkdir()
    with pytest.raises(DataError, match="has no sentences"):
        read_topics(str(folder / "empty"))
    with pytest.raises(DataError, match="missing cannot be read"):
        read_topics(str(folder / "missing"))


def test_the_commands_take_folders_and_remember_their_encoding(folder):
    model = folder / "a.wm"
    assert "is not UTF-8" in fail("train", "summarise", "--train", folder, "--out", model)
    options = ["--encoding", "cp1252", "--order", "1", "--length", "3", "--quiet"]
    succeed("train", "summarise", "--train", folder, "--dev", folder, "--out", model, *options)
    assert float(succeed("evaluate", model, folder, "--quiet")) >= 0.0
    text = succeed("predict", model, folder)
    assert text.count("\n\n") == 1
    lines = [json.loads(line) for line in succeed("predict", model, folder, "--format", "jsonl").splitlines()]
    assert [line["id"] for line in lines] == ["a", "b"]
    assert "\n\n".join(line["references"][0] for line in lines) + "\n" == text
    one = succeed("predict", model, folder / "topics" / "a.txt.data")
    assert one == text.split("\n\n")[0] + "\n"


def test_json_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"documents": ["a b\\nc", ["d"]], "references": ["a"], "n": 1.0}\n\n{"id": "x", "documents": []}\n',
        encoding="utf-8",
    )
    found = read_topics(str(path), gold=False)
    assert [Topic([["a b", "c"], ["d"]], "1"), Topic([], "x")] == found.X
    written = found.document.text_with([Summary(["c", "d"], []), Summary([], [])], as_json=True)
    assert written == (
        '{"documents": ["a b\\nc", ["d"]], "references": ["c\\nd"], "n": 1.0}\n\n'
        '{"id": "x", "documents": [], "references": [""]}\n'
    )
    with pytest.raises(DataError, match="the topic 'x' has no references"):
        read_topics(str(path))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("[]", "expected a JSON object"),
        ("{}", 'the object has no "documents"'),
        (
            '{"documents": "a"}',
            'line 1: "documents" holds "a" where a list of texts or of lists of sentences is wanted',
        ),
        ('{"documents": [["a", 1]]}', r'"documents" holds \["a", 1\] where a text or a list of sentences is wanted'),
        ('{"documents": ["a"], "references": "b"}', '"references" holds "b" where a list of texts is wanted'),
        ('{"documents": ["a"], "references": [1]}', "where a list of texts is wanted"),
    ],
)
def test_what_is_wrong_with_json_is_named(tmp_path, line, complaint):
    path = tmp_path / "a.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=complaint):
        read_topics(str(path))


def test_conllu(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    found = read_topics(str(path))
    assert [Topic([["Dogs bark.", "They do."]], "one"), Topic([["Cats meow."]], "two")] == found.X
    assert found.y == [["Dogs bark (loudly).", "Barking dogs."], ["Cats."]]


def test_other_formats_are_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("One.\n", encoding="utf-8")
    with pytest.raises(WidemarginError, match="not svmlight"):
        read_topics(str(path), Reading(format="svmlight"))
    with pytest.raises(WidemarginError, match="leave out --label"):
        read_topics(str(path), Reading(label="x"))
