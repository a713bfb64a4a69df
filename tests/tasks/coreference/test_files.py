"""Files of texts with coreference: every format, read, written, and with detected mentions."""

import json

import pytest

from widemargin.clusterings import by_first
from widemargin.data.samples import small_texts
from widemargin.errors import DataError, WidemarginError
from widemargin.tasks.base import Reading
from widemargin.tasks.coreference.files import read_texts

pytestmark = pytest.mark.interpreted

CONLL_2012 = """#begin document (nw/a); part 000
nw/a 0 0 Ada NNP (TOP(S(NP*) - - - - * (0)
nw/a 0 1 saw VBD (VP* - - - - * -
nw/a 0 2 the DT (NP(NP* - - - - * (1
nw/a 0 3 queen NN *) - - - - * -
nw/a 0 4 of IN (PP* - - - - * -
nw/a 0 5 Rome NNP (NP*))))) - - - - * (2)|1)

nw/a 0 0 She PRP (TOP(S(NP*) - - - - * (0)
nw/a 0 1 smiled VBD (VP*))) - - - - * -

#end document
""".replace("#begin", "# begin").replace("#end", "# end")
GUM = """# begin document one
0\tThe\t(7
1\tpope\t7)
2\tlost\t_
3\this\t(9(7)
4\that\t9)

# end document
"""
LINES = [
    {
        "doc_key": "a",
        "sentences": [["Ada", "saw", "the", "queen"], ["She", "smiled"]],
        "clusters": [[[0, 0], [4, 4]], [[2, 3]]],
        "upos": [["PROPN", "VERB", "DET", "NOUN"], ["PRON", "VERB"]],
    },
    {"sentences": [["Rome"]], "mentions": [[0, 0]]},
]
JSONL = "".join(json.dumps(line) + "\n" for line in LINES)


def read(tmp_path, name, text, *, gold=True, detected=False, **reading):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_texts(str(tmp_path / name), Reading(**reading), {"detected": detected}, gold=gold)


def written(corpus, outputs, *, singletons=True):
    return corpus.document.text_with(outputs, singletons=singletons)


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("a.conll", CONLL_2012, [[0, 1, 2, 0]]),
        ("a.conll", GUM, [[0, 1, 0]]),
        ("a.conllu", small_texts(2), [[0, 1, 2, 0, 1, 2]] * 2),
        ("a.jsonl", JSONL, [[0, 1, 0], [0]]),
    ],
)
def test_what_is_written_is_read_again(tmp_path, name, text, wanted):
    corpus = read(tmp_path, name, text)
    assert [by_first(each) for each in corpus.y] == wanted
    assert by_first(read(tmp_path, name, written(corpus, wanted)).y[0]) == wanted[0]
    others = [list(range(len(each))) for each in wanted]
    again = read(tmp_path, name, written(corpus, others))
    assert [by_first(each) for each in again.y] == others
    assert [each.spans for each in again.X] == [each.spans for each in corpus.X]


def test_columns_of_conll_2012(tmp_path):
    corpus = read(tmp_path, "a.conll", CONLL_2012)
    (document,) = corpus.X
    assert [document.text(k) for k in range(4)] == ["Ada", "the queen of Rome", "Rome", "She"]
    assert document.name == "(nw/a); part 000"
    assert document.sentence.tolist() == [0] * 6 + [1] * 2
    assert document.columns["xpos"][:3] == ["NNP", "VBD", "DT"]
    assert corpus.about["columns"][:6] == ["document", "part", "id", "word", "xpos", "parse"]
    assert corpus.size == {"documents": 1, "mentions": 4}


def test_json_lines(tmp_path):
    corpus = read(tmp_path, "a.jsonl", JSONL)
    first, second = corpus.X
    assert [first.text(k) for k in range(3)] == ["Ada", "the queen", "She"]
    assert (first.name, second.name) == ("a", "")
    assert first.columns["upos"][4] == "PRON"
    lines = list(map(json.loads, written(corpus, [[0, 0, 1], [0]]).splitlines()))
    assert lines[0]["clusters"] == [[[0, 0], [2, 3]], [[4, 4]]]
    assert lines[0]["sentences"] == LINES[0]["sentences"]
    assert lines[1]["clusters"] == [[[0, 0]]]


def test_detected_mentions_know_their_entities_and_those_that_are_missed(tmp_path):
    text = small_texts(1).replace("Entity=(1)", "_", 1)
    corpus = read(tmp_path, "a.conllu", text, detected=True)
    (document,), (entities,) = corpus.X, corpus.y
    known = dict(zip((document.text(k) for k in range(len(document))), entities.labels, strict=True))
    assert known["Ada"] is None
    assert known["She"] == "1"
    assert corpus.about["detected"] is True
    # A mention over a verb is none that detection finds.
    odd = text.replace("\tmet\tmet\tVERB\t_\t_\t0\troot\t_\t_", "\tmet\tmet\tVERB\t_\t_\t0\troot\t_\tEntity=(8)")
    assert read(tmp_path, "b.conllu", odd, detected=True).y[0].missed == [((1, 2), "8")]


@pytest.mark.parametrize(("name", "text"), [("a.conllu", small_texts(1)), ("a.conll", CONLL_2012), ("a.jsonl", JSONL)])
def test_detected_mentions_are_marked_anew(tmp_path, name, text):
    corpus = read(tmp_path, name, text, gold=False, detected=True)
    outputs = [[k % 2 for k in range(len(document))] for document in corpus.X]
    again = read(tmp_path, name, written(corpus, outputs))
    assert [each.spans for each in again.X] == [each.spans for each in corpus.X]
    assert [by_first(each) for each in again.y] == [by_first(each) for each in outputs]
    alone = [list(range(len(document))) for document in corpus.X]
    assert read(tmp_path, name, written(corpus, alone, singletons=False), detected=True, gold=True).y[0].missed == []
    if name != "a.jsonl":
        with pytest.raises(DataError, match="has no mentions"):
            read(tmp_path, name, written(corpus, alone, singletons=False))


def test_detection_needs_no_marks(tmp_path):
    text = "".join(f"{word}\t-\n" for word in ("Ada", "told", "her", "dog"))
    corpus = read(tmp_path, "a.conll", text, gold=False, detected=True)
    assert corpus.X[0].spans == [(0, 1), (2, 3)]
    assert written(corpus, [[0, 0]]) == "Ada\t(1)\ntold\t-\nher\t(1)\ndog\t-\n"


TREES = "( (S (NP (DT The) (NN king)) (VP (VBD saw) (NP (PRP$ his) (NN dog)))))\n(S (NP (PRP He)) (VP (VBD smiled)))\n"


def test_mentions_are_detected_in_trees(tmp_path):
    corpus = read(tmp_path, "a.mrg", TREES, gold=False, detected=True)
    (document,) = corpus.X
    assert [document.text(k) for k in range(len(document))] == ["The king", "his dog", "his", "He"]
    text = written(corpus, [[0, 1, 0, 0]])
    assert text.startswith("The\tDT\t(TOP(S(NP*\t(1\nking\tNN\t*)\t1)\nsaw\tVBD\t(VP*\t-\nhis\tPRP$\t(NP*\t(2|(1)\n")
    again = read(tmp_path, "b.conll", text)
    assert again.X[0].spans == document.spans
    assert again.X[0].sentence.tolist() == [0] * 5 + [1] * 2
    assert by_first(again.y[0]) == [0, 1, 0, 0]
    for options in ({"gold": True, "detected": True}, {"gold": False, "detected": False}):
        with pytest.raises(DataError, match="mentions can only be detected"):
            read(tmp_path, "a.mrg", TREES, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"clusters": []}', r'line 1: the object has no "sentences"'),
        ('{"sentences": 3}', r'line 1: "sentences" has 3 where a list of strings'),
        ('{"sentences": ["a"]}', r"line 1: \"sentences\" has 'a' where a list of strings"),
        ('{"sentences": [["a"]], "upos": [[]]}', r'line 1: "upos" has not as many items as "sentences"'),
        ('{"sentences": [["a"]], "clusters": 3}', r'line 1: "clusters" is 3 where a list'),
        ('{"sentences": [["a"]], "clusters": [3]}', r'line 1: "a cluster" is 3 where a list'),
        ('{"sentences": [["a"]], "clusters": [[[0, 1]]]}', r"line 1: \[0, 1\] is not a span \[first, last\] of the 1"),
        ('{"sentences": [["a"]], "clusters": [[[0, 0]], [[0, 0]]]}', r"line 1: the span \[0, 0\] is in two clusters"),
        ('{"sentences": [["a"]], "mentions": [[true, 0]]}', r"line 1: \[True, 0\] is not a span"),
        ('{"sentences": [["a"]]}', "has no mentions, neither in clusters nor under mentions"),
        ("x", "line 1: not JSON"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, "a.jsonl", text)


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(WidemarginError, match="read from conllu, conll, jsonl, brackets files, not xml"):
        read(tmp_path, "a.xml", "<a></a>")
    with pytest.raises(WidemarginError, match="leave out --columns"):
        read(tmp_path, "a.jsonl", JSONL, columns=["a"])
    with pytest.raises(WidemarginError, match="leave out --label"):
        read(tmp_path, "a.jsonl", JSONL, label="a")
