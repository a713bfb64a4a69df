"""Files that mark spans: XML fields and JSON lines with spans are read as BIO columns and written back."""

import io
import json
import pickle
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import corpus
from widemargin.errors import DataError
from widemargin.files import xml
from widemargin.files.formats import read
from widemargin.text.spans import Span, bio, spans

CITATIONS = """<?xml version="1.0" encoding="UTF-8"?>
<!-- two <of> them -->
<dataset>
  <sequence id="a>b">
    <author role="first">Solon, G. &amp; K&#246;hler</author>
    <date>(1999).</date> in
    <title>H<sub>2</sub>O <i>and <b>the</b></i> rest</title>
    <note/><date></date>
  </sequence>
  <sequence/>
  <sequence>no &lt;fields&gt; <![CDATA[a <&> b]]> here</sequence>
</dataset>
"""
ADDRESSES = """<all>
 <one><street>Main</street> <street>Road</street>, <street>North</street><zip>1</zip></one>
 <one><zip x="1">2</zip><!-- c --> <zip>3</zip> </one>
</all>"""
LISTS = '{"tokens": ["New","York","is"],  "spans": [[0, 2, "city"]], "id": 1e3}\n{"tokens": [], "spans": []}\n'
OBJECTS = '{"tokens": ["New","York","is"], "spans": [{"start": 0,"end": 2,"type": "city", "by": "me"}]}\n'


def parsed(text, **options):
    return read(io.StringIO(text, newline=""), **options)


def relabelled(document, labels):
    """The document written with these labels and read again."""
    return parsed(document.text({document.label: labels}))


# ---------------------------------------------------------------------------------------------------------- reading


def test_an_element_is_a_span():
    columns = parsed(CITATIONS).columns
    assert columns.sequences("word") == [
        ["Solon,", "G.", "&", "Köhler", "(1999).", "in", "H2O", "and", "the", "rest"],
        [],
        ["no", "<fields>", "a", "<&>", "b", "here"],
    ]
    assert spans(columns.sequences("label")[0]) == [Span(0, 4, "author"), Span(4, 5, "date"), Span(6, 10, "title")]
    assert set(columns.sequences("label")[2]) == {"O"}


def test_neighbouring_elements_of_one_token_are_a_span():
    columns = parsed(ADDRESSES).columns
    assert columns.sequences("word") == [["Main", "Road", ",", "North", "1"], ["2", "3"]]
    assert columns.sequences("label") == [["B-street", "I-street", "O", "B-street", "B-zip"], ["B-zip", "I-zip"]]


def test_tokens_end_where_fields_do():
    columns = parsed("<all><one>a<x>b c</x>d<x/>e</one></all>").columns
    assert columns.sequences("word") == [["a", "b", "c", "d", "e"]]
    assert columns.sequences("label") == [["O", "B-x", "I-x", "O", "O"]]


@pytest.mark.parametrize("name", ["x.xml", "x.XML", "x"])
@pytest.mark.parametrize("text", [CITATIONS, ADDRESSES])
def test_xml_is_guessed(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert "label" in read(tmp_path / name).columns.by_name


def test_a_token_in_angle_brackets_is_no_xml():
    assert parsed("<unk> O\n").columns["word"].strings() == ["<unk>"]


@pytest.mark.parametrize("text", [LISTS, OBJECTS])
def test_spans_in_json_are_bio_labels(text):
    document = parsed(text)
    assert document.label == "spans"
    assert document.columns["label"].strings() == document.columns["spans"].strings() == ["B-city", "I-city", "O"]


def test_spans_in_json_stand_back_behind_tags():
    document = parsed('{"tokens": ["a"], "spans": [[0, 1, "x"]], "tags": ["O"]}')
    assert document.label == "tags"
    assert document.columns["spans"].strings() == ["B-x"]


# ---------------------------------------------------------------------------------------------------------- writing

EXAMPLES = {"citations": CITATIONS, "addresses": ADDRESSES, "lists": LISTS, "objects": OBJECTS}


@pytest.mark.parametrize("name", EXAMPLES)
def test_labels_that_do_not_change_change_nothing(name):
    document = parsed(EXAMPLES[name])
    assert document.text({document.label: document.columns["label"].strings()}) == EXAMPLES[name]
    assert pickle.loads(pickle.dumps(document)).columns["label"].strings() == document.columns["label"].strings()


@pytest.mark.parametrize("text", [CITATIONS, LISTS, OBJECTS])
@given(data=st.data())
def test_labels_come_back_as_they_were_written(text, data):
    document = parsed(text)
    indptr = document.columns.indptr.tolist()
    labels = [label for i, j in pairwise(indptr) for label in bio(data.draw(segments(j - i)), j - i)]
    again = relabelled(document, labels)
    assert again.columns.sequences("word") == document.columns.sequences("word")
    found = again.columns["label"].strings()
    if text is not CITATIONS or any(label.startswith("I-") for label in labels):
        assert found == labels
    else:  # every element holds one token: neighbours of the same type have run together
        assert [label[2:] for label in found] == [label[2:] for label in labels]


@st.composite
def segments(draw, length):
    """Spans of a sequence of this length."""
    cuts = sorted(draw(st.sets(st.integers(0, length)))) if length else []
    types = [draw(st.sampled_from(["", "a", "date", "x-é.y"])) for _ in cuts[1:]]
    return [Span(i, j, t) for i, j, t in zip(cuts, cuts[1:], types, strict=False) if t]


def test_spans_that_stay_keep_all_that_is_in_them():
    document = parsed(CITATIONS)
    labels = document.columns["label"].strings()
    labels[4] = "O"
    text = document.text({"label": labels})
    assert text == CITATIONS.replace("<date>(1999).</date>", "(1999).")
    labels[5], labels[6:10] = "B-y", ["B-z", "I-z", "O", "O"]
    assert "(1999). <y>in</y>\n    <z>H2O and</z>\n    the\n    rest\n" in document.text({"label": labels})


def test_tokens_in_elements_of_their_own_are_written_so():
    document = parsed(ADDRESSES)
    text = document.text({"label": ["B-a", "I-a", "I-a", "O", "O", "B-zip", "I-zip"]})
    assert text.split("\n")[1] == " <one><a>Main</a> <a>Road</a> <a>,</a> North 1</one>"
    assert text.split("\n")[2] == ADDRESSES.split("\n")[2]


def test_new_spans_have_the_form_of_the_old_ones():
    labels = ["B-city", "I-city", "B-verb"]
    assert json.loads(parsed(LISTS).text({"spans": labels}).split("\n")[0])["spans"] == [[0, 2, "city"], [2, 3, "verb"]]
    old = {"start": 0, "end": 2, "type": "city", "by": "me"}
    new = {"start": 2, "end": 3, "type": "verb"}
    assert json.loads(parsed(OBJECTS).text({"spans": labels}))["spans"] == [old, new]
    assert parsed('{"tokens": ["a"] }').text({"spans": ["B-x"]}) == '{"tokens": ["a"], "spans": [[0, 1, "x"]] }'


@pytest.mark.parametrize("text", [CITATIONS, LISTS])
def test_labels_that_mark_no_span_are_not_lost_in_silence(text):
    document = parsed(text)
    with pytest.raises(DataError, match="'NN' marks no span"):
        document.text({document.label: ["NN"] * document.columns.n_tokens})


def test_what_xml_cannot_hold():
    document = parsed(ADDRESSES)
    with pytest.raises(DataError, match="no name of an element"):
        document.text({"label": ["B-a b"] * 7})
    with pytest.raises(DataError, match="no column 'word' to write"):
        document.text({"word": ["x"] * 7})


# ----------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<a>\n<b>x</c></a>", "input, line 2: not well-formed XML: mismatched tag"),
        ("<a><b>x</b>", "input, line 1: not well-formed XML: no element found"),
        ("<a>\n\nstray <b>x</b></a>", "input, line 3: the text 'stray' is in no sequence"),
        ('<!DOCTYPE a [\n<!ENTITY x "y">]><a><b>&x;</b></a>', "input, line 2: the entity 'x' is declared"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a><b>\n&x;</b></a>', "input, line 2: the entity 'x' is declared"),
        ("<a><b>&nbsp;</b></a>", "input, line 1: not well-formed XML: undefined entity"),
        ("<a><b> </b></a>", "input holds no tokens"),
        ("<a><b>\ud800</b></a>", "input, line 1: not well-formed XML"),
    ],
)
def test_faults_in_xml_are_named(text, complaint):
    with pytest.raises(DataError, match=re.escape(complaint)):
        parsed(text, format="xml")


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ('[[0, 1, "x"], [0, 2, "y"]]', "the span 0:2 ('y') overlaps with the one before"),
        ('[[0, 4, "x"]]', "the span 0:4 ('x') does not fit into a sequence of 3 tokens"),
        ('[[1, 1, "x"]]', "the span 1:1 ('x') does not fit"),
        ('[[-1, 1, "x"]]', "the span -1:1 ('x') does not fit"),
        ("[[0, 1]]", "[0, 1] is not a span like"),
        ('[[true, 2, "x"]]', '[true, 2, "x"] is not a span'),
        ('[{"start": 0, "end": 1}]', '{"start": 0, "end": 1} is not a span'),
        ("[7]", "7 is not a span"),
        ("{}", '"spans" is {} where'),
    ],
)
def test_faults_in_spans_are_named(value, complaint):
    text = f'{{"tokens": ["a", "b", "c"], "spans": []}}\n{{"tokens": ["a", "b", "c"], "spans": {value}}}'
    with pytest.raises(DataError, match=re.escape(f"input, line 2: {complaint}")):
        parsed(text).columns["spans"]


# ---------------------------------------------------------------------------------------------------------- corpora


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["anystyle-citations/gold.xml", "us50-addresses/test.xml"])
def test_corpora_come_back(name):
    document = read(corpus(name))
    labels = document.columns["label"].strings()
    assert document.text({"label": labels}) == document.text()
    changed = ["O" if number % 50 == 0 else label for number, label in enumerate(labels)]
    again = relabelled(document, changed).columns
    assert again.sequences("word") == document.columns.sequences("word")
    wanted = [label[2:] for label in changed]
    assert [label[2:] for label in again["label"].strings()] == wanted


def test_a_long_line_of_tokens_is_encoded_once(monkeypatch):
    """Where a token begins in the file is counted on from the token before, not from the beginning of the text."""
    encoded = []
    monkeypatch.setattr(xml, "_size", lambda text: encoded.append(len(text)) or len(text.encode()))
    text = "één &amp; twee" * 500
    document = parsed(f"<all><one><x>{text}</x> {text}</one></all>")
    words = text.replace("&amp;", "&").split()
    assert document.columns["word"].strings() == words * 2
    assert sum(encoded) <= 2 * len(text)
    again = relabelled(document, ["O"] * 2 * len(words))
    assert again.columns["word"].strings() == words * 2
