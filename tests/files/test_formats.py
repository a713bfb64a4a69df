"""Corpus files: what is read, that everything else survives writing, and that faults are named with their place."""

import io
import json
import pickle
import re
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import corpus
from widemargin.errors import DataError
from widemargin.files.document import label_column
from widemargin.files.formats import guess, read
from widemargin.files.raw import RawText

CONLLU = (
    "# sent_id = 1\n"
    "# text = don't go\n"
    "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tdo\tdo\tAUX\tVB\t_\t3\taux\t_\tSpaceAfter=No\n"
    "2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_\n"
    "2.1\tever\tever\tADV\tRB\t_\t_\t_\t_\t_\n"
    "3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n"
    "\n"
    "1\tNew York\tNew York\tPROPN\tNNP\t_\t0\troot\t_\t_\n"
    "\n"
)
JSONL = (
    '{"id": 1e3, "tokens":["a", "fly"],  "tags": ["O","B"], "pos": ["DT", "NN"], "scores": [1, 2] }\n'
    '\n{"tokens": ["\\u00e9"], "pos": ["NN"], "tags": ["O"], "note": "caf\\u00e9"}'
)
EXAMPLES = {"conll": "a DT  O\r\nfly\tNN B \r\n\r\n\r\n# NN O", "conllu": CONLLU, "jsonl": JSONL}


def parsed(text, **options):
    return read(io.StringIO(text, newline=""), **options)


def written(document, replaced=None):
    stream = io.StringIO(newline="")
    document.write(stream, replaced)
    return stream.getvalue()


# ---------------------------------------------------------------------------------------------------------- reading


def test_conll_columns():
    columns = parsed("a DT  O\nfly\tNN B \n\n \n\n# NN O").columns
    assert columns.sequences("word") == [["a", "fly"], ["#"]]
    assert columns.sequences("column2") == [["DT", "NN"], ["NN"]]
    assert columns.sequences("label") == columns.sequences("column3") == [["O", "B"], ["O"]]
    assert columns.names == ["word", "column2", "column3"]


def test_conll_fields_between_tabs_may_hold_spaces_and_be_empty():
    columns = parsed("New York\t\tB\nno\u00a0break\tx\tO\n").columns
    assert columns.sequences("word") == [["New York", "no\u00a0break"]]
    assert columns.sequences("column2") == [["", "x"]]


def test_conll_cuts_lines_only_at_line_feeds():
    assert parsed("a\u2028b\x0c O\r\nc\x1c O\r\n").columns.sequences("word") == [["a\u2028b\x0c", "c\x1c"]]


def test_conll_named_columns():
    document = parsed("a DT O\n", names=("word", "pos", "label"))
    assert document.columns.names == ["word", "pos", "label"]
    assert document.columns["label"].strings() == ["O"]


def test_conllu_columns():
    columns = parsed(CONLLU).columns
    assert columns.sequences("word") == columns.sequences("form") == [["do", "n't", "go"], ["New York"]]
    assert columns.sequences("xpos") == [["VB", "RB", "VB"], ["NNP"]]
    assert columns.sequences("misc") == [["SpaceAfter=No", "_", "_"], ["_"]]
    assert "form" in columns.by_name
    assert len(columns.by_name) == len(columns.names) == 10


def test_jsonl_columns():
    columns = parsed(JSONL).columns
    assert columns.names == ["word", "tags", "pos"]
    assert columns.sequences("word") == [["a", "fly"], ["é"]]
    assert columns.sequences("label") == columns.sequences("tags") == [["O", "B"], ["O"]]


def test_jsonl_words_key_and_empty_sequences():
    columns = parsed('{"words": []}\n{"words": ["a"]}').columns
    assert columns.sequences("word") == [[], ["a"]]


def test_jsonl_list_of_the_right_length_by_chance_does_no_harm():
    columns = parsed('{"tokens": ["a"], "authors": ["x"]}\n{"tokens": ["b", "c"], "authors": ["x"]}').columns
    assert columns.sequences("word") == [["a"], ["b", "c"]]
    with pytest.raises(DataError, match=re.escape('input, line 2: "authors" has 1 items, but "tokens" has 2')):
        columns["authors"]


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("x.conllu", CONLLU, "do"),
        ("x.CONLLU", CONLLU, "do"),
        ("x.conll", CONLLU, "do"),
        ("x", CONLLU, "do"),
        ("x.ndjson", JSONL, "a"),
        ("x.jsonl", JSONL, "a"),
        ("x", JSONL, "a"),
        ("x.tsv", "{\tO\n", "{"),
        ("x", "{\tO\n", "{"),
        ("x.txt", '{"a":1} O\n', '{"a":1}'),
        ("x.bio", "# O\n", "#"),
        ("x.iob", "1 O\n", "1"),
    ],
)
def test_format_is_guessed(tmp_path, name, text, word):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read(tmp_path / name).columns["word"].strings()[0] == word


def test_reads_paths_strings_binary_files_and_standard_input(tmp_path, monkeypatch):
    path = tmp_path / "x.tsv"
    path.write_bytes("\ufeffé\tO\r\n".encode())
    monkeypatch.setattr(sys, "stdin", path.open(encoding="latin-1"))
    with path.open("rb") as binary, path.open(encoding="utf-8", newline="") as text, sys.stdin:
        for source in (path, str(path), binary, text, "-"):
            document = read(source)
            assert document.columns.sequences("word") == [["é"]]
            assert document.text() == "\ufeffé\tO\r\n"


def test_documents_can_be_pickled():
    document = pickle.loads(pickle.dumps(parsed(CONLLU)))
    assert document.columns["upos"].strings() == ["AUX", "PART", "VERB", "PROPN"]
    assert document.text() == CONLLU


def test_importing_readers_and_metrics_is_cheap():
    heavy = "import sys, widemargin.data, widemargin.metrics; print({'numba', 'scipy', 'sklearn'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", heavy], capture_output=True, encoding="utf-8", check=True)
    assert run.stdout.strip() == "set()"


# ----------------------------------------------------------------------------------------------------- label column


@pytest.mark.parametrize(
    ("text", "wanted", "name"),
    [
        (EXAMPLES["conll"], None, "label"),
        (EXAMPLES["conll"], "2", "column2"),
        (EXAMPLES["conll"], "column3", "column3"),
        (CONLLU, None, "xpos"),
        (CONLLU, "upos", "upos"),
        (CONLLU, "4", "upos"),
        (JSONL, None, "tags"),
        (JSONL, "pos", "pos"),
        ('{"tokens": ["a"], "labels": ["O"]}', None, "labels"),
        ('{"tokens": ["a"], "label": ["O"]}', None, "label"),
    ],
)
def test_label_column(text, wanted, name):
    assert label_column(parsed(text), wanted) == name


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        ("a\nfly\n", None, "input has no label column 'label'; its columns, numbered from 1, are 'word'"),
        ("a O\n", "ner", "input has no label column 'ner'; its columns, numbered from 1, are 'word', 'column2'"),
        ("a O\n", "3", "input has no label column '3'; its columns, numbered from 1, are 'word', 'column2'"),
        ("a O\n", "0", "input has no label column '0'; its columns, numbered from 1, are 'word', 'column2'"),
        ('{"tokens": ["a"]}', None, "input has no label column 'tags'; its columns, numbered from 1, are 'word'"),
        (
            '{"tokens": ["a"], "label": "spam"}',
            None,
            "input has no label column 'tags'; its columns, numbered from 1, are 'word'",
        ),
    ],
)
def test_label_column_that_does_not_exist(text, wanted, message):
    with pytest.raises(DataError) as caught:
        label_column(parsed(text), wanted)
    assert str(caught.value) == message


# ---------------------------------------------------------------------------------------------------------- writing


@pytest.mark.parametrize("example", EXAMPLES)
def test_round_trip(example, tmp_path):
    path = tmp_path / "x"
    for prefix in ("", "\ufeff"):
        text = prefix + EXAMPLES[example]
        path.write_bytes(text.encode())
        document = read(path, format=example)
        document.write(tmp_path / "y")
        assert (tmp_path / "y").read_bytes() == text.encode()
        assert document.text({"word": document.columns["word"].strings()}) == text


def test_only_the_replaced_fields_change():
    assert written(parsed("a DT  O\r\nfly\tNN B \r\n\r\n\r\n# NN O"), {"label": ["X", "Y", "Z"]}) == (
        "a DT  X\r\nfly\tNN Y \r\n\r\n\r\n# NN Z"
    )
    assert written(parsed(CONLLU), {"upos": list("wxyz"), "misc": ["Typo=Yes", "_", "_", "_"]}) == (
        CONLLU.replace("AUX", "w").replace("PART", "x").replace("VERB", "y").replace("PROPN", "z")
    ).replace("SpaceAfter=No", "Typo=Yes")
    assert written(parsed(JSONL), {"label": ["X", "Y", "Z"]}) == (
        JSONL.replace('["O","B"]', '["X", "Y"]').replace('["O"]', '["Z"]')
    )


@pytest.mark.parametrize(
    ("text", "options", "name", "expected"),
    [
        ("a\r\nfly\r\n\r\nb", {}, "label", "a\tX\r\nfly\tY\r\n\r\nb\tZ"),
        ("a\nfly\n\nb\n", {}, "column2", "a\tX\nfly\tY\n\nb\tZ\n"),
        ("a\n fly \n\nb\n", {}, "label", "a X\n fly Y \n\nb Z\n"),
        ("a D\nfly N\nb N\n", {"names": ("word", "pos", "ner")}, "ner", "a D X\nfly N Y\nb N Z\n"),
        ("a\nfly\nb\n", {"names": ("word",)}, "label", "a\tX\nfly\tY\nb\tZ\n"),
        (
            '{"tokens":["a", "fly"] }\r\n{"tokens":["b"], "id": {"n": [1, "}"]}}',
            {},
            "label",
            '{"tokens":["a", "fly"], "tags": ["X", "Y"] }\r\n{"tokens":["b"], "id": {"n": [1, "}"]}, "tags": ["Z"]}',
        ),
        (
            '{"tokens":["a", "fly"], "tags": null}\n{"tokens":["é"]}',
            {},
            "tags",
            '{"tokens":["a", "fly"], "tags": ["X", "Y"]}\n{"tokens":["é"], "tags": ["Z"]}',
        ),
    ],
)
def test_a_missing_column_is_appended(text, options, name, expected):
    assert written(parsed(text, **options), {name: ["X", "Y", "Z"]}) == expected


@pytest.mark.parametrize(
    ("text", "replaced", "message"),
    [
        ("a O\n", {"label": []}, "input has 1 tokens, but 0 values were given for its column 'label'"),
        ("a O\n", {"ner": ["X"]}, "input has no column 'ner' to write; it has 'word', 'column2'"),
        (
            "a O\n\nb O\n",
            {"label": ["X", "Y Z"]},
            "input, line 3: 'Y Z' cannot be written into column 'label', because it is not one field",
        ),
        (
            "a\tO\n",
            {"label": ["Y\tZ"]},
            "input, line 1: 'Y\\tZ' cannot be written into column 'label', because it is not one field",
        ),
        (CONLLU, {"xpos": ["", "", "", ""]}, "input, line 4: '' cannot be written into column 'xpos', because"),
    ],
)
def test_values_that_cannot_be_written(text, replaced, message, tmp_path):
    with pytest.raises(DataError, match=re.escape(message)):
        parsed(text).write(tmp_path / "x", replaced)
    assert not list(tmp_path.iterdir())


def test_standard_output_gets_the_bytes(capfdbinary):
    parsed("é\tO\r\n").write("-")
    assert capfdbinary.readouterr().out == "é\tO\r\n".encode()


def test_standard_output_without_bytes(capsys, monkeypatch):
    stream = io.StringIO(newline="")
    monkeypatch.setattr(sys, "stdout", stream)
    parsed("é\tO\r\n").write("-")
    assert stream.getvalue() == "é\tO\r\n"


field = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\ufeff{"), min_size=1, max_size=5)
line_end = st.sampled_from(["\n", "\r\n"])


@st.composite
def tables(draw):
    """The text of a CoNLL file with blanks, TABs and blank lines in odd places."""
    width = draw(st.integers(1, 4))
    tabbed = draw(st.booleans())
    gap = st.just("\t") if tabbed else st.text(" ", min_size=1, max_size=2)
    lines = []
    for blank in [*draw(st.lists(st.booleans(), max_size=12)), False]:
        if blank:
            lines.append(draw(st.sampled_from(["", " ", "\t "])))
            continue
        fields = draw(st.lists(field, min_size=width, max_size=width))
        line = fields[0] + "".join(draw(gap) + f for f in fields[1:])
        lines.append(line if tabbed else draw(st.sampled_from(["", " "])) + line + draw(st.sampled_from(["", " "])))
    return (
        "".join(line + draw(line_end) for line in lines[:-1]) + lines[-1] + draw(st.sampled_from(["", "\n", "\r\n\n"]))
    )


@st.composite
def treebanks(draw):
    """The text of a CoNLL-U file."""
    lines = []
    cell = field.filter(lambda text: not text.startswith("#"))
    kinds = st.sampled_from(["token", "range", "empty", "comment", "blank"])
    for kind in [*draw(st.lists(kinds, max_size=12)), "token"]:
        number = {"token": "1", "range": "1-2", "empty": "1.1"}.get(kind)
        if number:
            lines.append("\t".join([number, *draw(st.lists(cell, min_size=9, max_size=9))]))
        else:
            lines.append("# " + draw(field) if kind == "comment" else "")
    return "".join(line + draw(line_end) for line in lines)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def json_files(draw):
    """The text of a JSON lines file with anything at all beside the tokens."""
    objects = []
    for tokens in [*draw(st.lists(st.lists(st.text(max_size=4), max_size=4), max_size=5)), ["last"]]:
        others = draw(st.dictionaries(st.text(max_size=3).filter(lambda key: key != "words"), values, max_size=3))
        members = list({**others, "tokens": tokens}.items())
        objects.append(dict(draw(st.permutations(members))))
    styles = st.fixed_dictionaries(
        {"ensure_ascii": st.booleans(), "separators": st.sampled_from([(",", ":"), (" ,  ", "\t: "), (", ", ": ")])}
    )
    return "".join(json.dumps(o, **draw(styles)) + draw(line_end) * draw(st.integers(1, 2)) for o in objects)


@pytest.mark.parametrize(
    ("format_", "files", "label"),
    [("conll", tables(), "label"), ("conllu", treebanks(), "xpos"), ("jsonl", json_files(), "tags")],
)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_writing_keeps_the_file_and_reading_again_gives_the_replaced_column(format_, files, label, data):
    text = data.draw(files)
    document = parsed(text, format=format_)
    assert written(document) == text

    n_tokens = document.columns.n_tokens
    labels = data.draw(st.lists(field, min_size=n_tokens, max_size=n_tokens))
    again = parsed(written(document, {label: labels}), format=format_)
    assert again.columns[label].strings() == labels
    assert again.columns["word"].strings() == document.columns["word"].strings()
    assert again.columns.indptr.tolist() == document.columns.indptr.tolist()
    if label in document.columns.by_name and format_ != "jsonl":
        assert written(again, {label: document.columns[label].strings()}) == text


# ----------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "input holds no tokens"),
        (" \n\n", {"format": "conll"}, "input holds no tokens"),
        ("# text\n\n", {"format": "conllu"}, "input holds no tokens"),
        ('{"tokens": []}\n', {}, "input holds no tokens"),
        ("a\tDT\tO\n\nfly\tNN\n", {}, "input, line 3: expected 3 columns, found 2: 'fly\\tNN'"),
        ("a O\nfly NN B\n", {}, "input, line 2: expected 2 columns, found 3: 'fly NN B'"),
        ("a O\n" + "x" * 99, {}, f"input, line 2: expected 2 columns, found 1: '{'x' * 59}…'"),
        ("a O\n", {"names": ("word",)}, "input has 2 columns, but 1 names were given: 'word'"),
        ("a O\n", {"names": ("x", "x")}, "the column names 'x', 'x' are not distinct"),
        (CONLLU, {"names": ("x", "y")}, "input is read as conllu, where columns have names already"),
        ("a O\n", {"format": "csv"}, "the format 'csv' is unknown; choose one of conll, conllu, conllx"),
        (CONLLU + "1\tgo\tVB\n", {}, "input, line 11: expected 10 columns, found 3: '1\\tgo\\tVB'"),
        (
            CONLLU + "go\tVB\n",
            {},
            "input, line 11: expected a token, which starts with its number: 'go\\tVB'",
        ),
        ('{"tokens": ["a"]}\n{"tokens": ["a"', {}, "input, line 2: not JSON: Expecting ',' delimiter at character 16"),
        ('{"tokens": ["a"]}\n[1]', {}, "input, line 2: expected a JSON object, found [1]"),
        ('{"tokens": ["a"]}\n\n{"text": "a"}', {}, 'input, line 3: the object has no "tokens"'),
        ('{"text": "a"}', {}, 'input, line 1: the object has no "tokens"'),
        ('{"tokens": "a fly"}', {}, 'input, line 1: "tokens" is "a fly" where a list of strings is wanted'),
        ('{"tokens": ["a", null]}', {}, 'input, line 1: "tokens" holds null where a string is wanted'),
        ('{"tokens": ["a", 7]}', {}, 'input, line 1: "tokens" holds 7 where a string is wanted'),
        ('{"tokens": ' + "[" * 10**5, {}, "input, line 1: not usable JSON: it nests too deep"),
    ],
)
def test_malformed_files(text, options, message):
    with pytest.raises(DataError) as caught:
        parsed(text, **options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ('{"tokens": ["a"], "tags": []}', '"tags" has 0 items, but "tokens" has 1'),
        ('{"tokens": ["a"], "tags": [1.5]}', '"tags" holds 1.5 where a string is wanted'),
        ('{"tokens": ["a"], "tags": null}', '"tags" is null where a list of strings is wanted'),
        ('{"tokens": ["a"]}', 'the object has no "tags"'),
    ],
)
def test_malformed_json_columns(second, message):
    document = parsed('{"tokens": ["a"], "tags": ["O"]}\n' + second)
    with pytest.raises(DataError) as caught:
        document.columns["tags"]
    assert str(caught.value) == f"input, line 2: {message}"


def test_not_utf8(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_bytes(b"a\tO\ncaf\xe9\tO\n")
    message = re.escape(f"{path}, line 2: byte 0xe9 at offset 7 is not UTF-8")
    with pytest.raises(DataError, match=message):
        read(path)
    with path.open(encoding="utf-8") as stream, pytest.raises(DataError, match=re.escape(f"{path} is not utf-8: ")):
        read(stream)


def test_unreadable(tmp_path):
    path = tmp_path / "none.tsv"
    with pytest.raises(DataError, match=re.escape(f"{path} cannot be read: No such file or directory")):
        read(path)
    with pytest.raises(DataError, match=re.escape(f"{tmp_path} cannot be read: ")):
        read(tmp_path)


# ---------------------------------------------------------------------------------------------------------- corpora


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "n_sequences", "n_tokens", "label"),
    [
        ("ud-english-ewt/train.conllu", 12544, 204577, "xpos"),
        ("ud-swedish-talbanken/train.conllu", 4287, None, "upos"),
        ("cdt-danish/train.conll", 4478, None, "upos"),
        ("wnut17/train.conll", 3394, 62730, None),
        ("bc2gm/train.tsv", 12574, None, None),
    ],
)
def test_corpora(name, n_sequences, n_tokens, label):
    path = corpus(name)
    document = read(path)
    content = path.read_bytes()
    assert document.columns.n_sequences == n_sequences
    assert n_tokens in (None, document.columns.n_tokens)
    column = label_column(document, label)
    assert document.text().encode() == content
    assert document.text({column: document.columns[column].strings()}).encode() == content


# ----------------------------------------------------------------------------------------------------------- growth


@pytest.mark.parametrize("line", ["a\tO{}x", "a\t{}O{}", "a b O{}x", "a b O{} ", "a{}x"])
def test_a_field_full_of_carriage_returns_is_found_at_once(line):
    """With one step per character this takes milliseconds; with one per pair of them, it would take hours."""
    many = "\r" * 1_000_000
    document = read(io.StringIO(line.replace("{}", many) + "\n", newline=""), format="conll")
    assert document.text({"label": ["new"]}).count("new") == 1


def test_a_first_line_of_one_long_word_is_guessed_at_once():
    assert guess(RawText.of("(" + "x" * 1_000_000 + " y")) == "conll"
