"""Files of documents to cluster: read, written back, and what is wrong with them."""

import json

import pytest

from widemargin.clusterings import by_first
from widemargin.errors import DataError, WidemarginError
from widemargin.tasks.base import Reading
from widemargin.tasks.cluster.files import read_documents

pytestmark = pytest.mark.interpreted

NESTED = """{"id": 7,  "records": [{"name": "a", "id": 1}, "b"], "clusters": ["x", "x"]}

{"records": [], "clusters": []}
"""
FLAT = """{"document": "d", "name": "a", "cluster": 1}
{"document": "e", "name": "b", "year": 1, "cluster": 1}
{"document": "d", "name": "c", "cluster": 2}
"""
PAIRED = """+1 0:1 3:0.5  # d 0 2
-1 3:1 # e 5 9
-1 0:2 # d 2 7
 1:1 # d 0 7
"""
CONLLU = """# newdoc id = one
# text = The pope and his hat
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\tEntity=(7-person-1-ana
2\tpope\tpope\tNOUN\tNN\tNumber=Sing\t0\troot\t_\tSpaceAfter=No|Entity=7)
3\tand\tand\tCCONJ\tCC\t_\t5\tcc\t_\t_
4\this\this\tPRON\tPRP$\t_\t5\tnmod:poss\t_\tEntity=(9-object(7-person)|X=y
5\that\that\tNOUN\tNN\t_\t2\tconj\t_\tEntity=9)

1\tHe\the\tPRON\tPRP\t_\t0\troot\t_\tEntity=(7)

# newdoc id = two
1\tRome\tRome\tPROPN\tNNP\t_\t0\troot\t_\tEntity=(1-place)
"""
COREF = """# begin document one
0\tThe\t(7
1\tpope\t7)
2\this\t(9(7)
3\that\t9)

# end document
# begin document two
0\tRome\t(1)
1\tfell\t_
# end document
"""


def read(tmp_path, name, text, **options):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_documents(str(path), Reading(**options.pop("reading", {})), **options)


def test_records_of_both_forms(tmp_path):
    nested = read(tmp_path, "a.jsonl", NESTED)
    assert nested.X == [[{"name": "a"}, "b"], []]
    assert nested.y == [["x", "x"], []]
    assert nested.size == {"documents": 2, "items": 2}
    assert nested.document.rewrite([[0, 1], []]) == NESTED.replace('["x", "x"]', "[0, 1]")
    flat = read(tmp_path, "b.jsonl", FLAT)
    assert flat.X == [[{"name": "a"}, {"name": "c"}], [{"name": "b", "year": 1}]]
    assert flat.y == [[1, 2], [1]]
    written = flat.document.rewrite([[5, 6], [7]])
    assert [json.loads(line)["cluster"] for line in written.splitlines()] == [5, 7, 6]
    assert flat.document.rewrite([[1, 2], [1]]) == FLAT
    bare = read(tmp_path, "c.jsonl", '{"name": "a"}\n{"name": "b"}\n', gold=False)
    assert bare.X == [[{"name": "a"}, {"name": "b"}]]
    assert bare.y is None
    assert bare.document.rewrite([[0, 0]]) == '{"name": "a", "cluster": 0}\n{"name": "b", "cluster": 0}\n'


def test_pairs(tmp_path):
    corpus = read(tmp_path, "a.svm", PAIRED, gold=False)
    first, second = corpus.X
    assert first.pairs.tolist() == [[0, 1], [1, 2], [0, 2]]
    assert first.n == 3
    assert first.features.toarray().tolist() == [[1, 0, 0, 0.5], [2, 0, 0, 0], [0, 1, 0, 0]]
    assert second.pairs.tolist() == [[0, 1]]
    assert corpus.about == {"format": "svmlight", "width": 4}
    labelled = PAIRED.replace(" 1:1 # d 0 7", "-1 1:1 # d 0 7")
    gold = read(tmp_path, "b.svm", labelled)
    assert gold.y == [[0, 0, 1], [0, 1]]
    assert gold.document.rewrite(gold.y) == labelled
    assert corpus.document.rewrite([[0, 1, 0], [0, 0]]).split("\n")[:4] == [
        "-1 0:1 3:0.5  # d 0 2",
        "+1 3:1 # e 5 9",
        "-1 0:2 # d 2 7",
        "+1 1:1 # d 0 7",
    ]
    narrow = read(tmp_path, "c.svm", PAIRED, gold=False, about={"width": 2})
    assert narrow.X[0].features.shape == (3, 2)


def test_mentions_of_conllu(tmp_path):
    corpus = read(tmp_path, "a.conllu", CONLLU)
    first, second = corpus.X
    assert [first.text(k) for k in range(4)] == ["The pope", "his hat", "his", "He"]
    assert corpus.y == [["7", "9", "7", "7"], ["1"]]
    assert (first.name, second.name) == ("one", "two")
    assert first.sentence.tolist() == [0, 0, 0, 0, 0, 1]
    assert second.columns["upos"] == ["PROPN"]
    written = corpus.document.rewrite([[0, 1, 0, 2], [0]])
    assert "Entity=(1-person-1-ana\n" in written
    assert "Entity=(2-object(1-person)|X=y\n" in written
    assert "Entity=(3)\n" in written
    again = read(tmp_path, "b.conllu", written)
    assert [by_first(each) for each in again.y] == [[0, 1, 0, 2], [0]]
    assert [each.spans for each in again.X] == [each.spans for each in corpus.X]


def test_mentions_of_a_column(tmp_path):
    corpus = read(tmp_path, "a.conll", COREF)
    assert [[document.text(k) for k in range(len(document))] for document in corpus.X] == [
        ["The pope", "his hat", "his"],
        ["Rome"],
    ]
    assert corpus.about["columns"] == ["id", "word", "coref"]
    written = corpus.document.rewrite([[0, 1, 1], [0]])
    renamed = {"(7\n": "(1\n", "\t7)\n": "\t1)\n", "(9(7)": "(2(2)", "\t9)": "\t2)"}
    expected = COREF
    for before, after in renamed.items():
        expected = expected.replace(before, after)
    assert written == expected
    named = read(tmp_path, "b.conll", COREF, reading={"columns": ["number", "word", "entity"]})
    assert named.y == corpus.y
    wide = "doc 0 0 Rome NNP (S* - - - - * (1)\ndoc 0 1 fell VBD *) - - - - * -\n"
    (document,) = read(tmp_path, "c.conll", wide).X
    assert document.columns == {"word": ["Rome", "fell"], "xpos": ["NNP", "VBD"], "parse": ["(S*", "*)"]}
    assert document.text(0) == "Rome"


def test_mentions_in_several_parts(tmp_path):
    text = "a\t(1[1/2])\nb\t_\nc\t(1[2/2])|(2)\n"
    corpus = read(tmp_path, "a.conll", text)
    assert corpus.X[0].spans == [(0, 1), (2, 3)]
    assert corpus.document.rewrite([[4, 0]]) == "a\t(5[1/2])\nb\t_\nc\t(5[2/2])|(1)\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "", "has no records"),
        ("a.jsonl", '{"records": 3}', r'line 1: "records" is 3 where a list'),
        ("a.jsonl", '{"records": ["a"], "clusters": []}', r'line 1: "clusters" has 0 items, but "records" has 1'),
        ("a.jsonl", '{"records": [], "clusters": []}\n{"x": 1}', r'line 2: the object has no "records"'),
        ("a.jsonl", '{"records": [4], "clusters": [1]}', "line 1: 4 is not a record"),
        ("a.jsonl", '{"records": ["a"], "clusters": [[]]}', r"line 1: the cluster \[\] is not a name"),
        ("a.jsonl", '{"name": "a"}', r'line 1: the object has no "cluster"'),
        ("a.jsonl", '{"name": "a", "cluster": 1}\n{}', "line 2: the record is empty"),
        ("a.jsonl", '{"name": {}, "cluster": 1}', r'line 1: the field "name" is \{\}'),
        ("a.jsonl", '{"name": 1, "cluster": 1, "document": []}', r'line 1: "document" is \[\]'),
        ("a.jsonl", "x", "line 1: not JSON"),
        ("a.svm", "+1 1:1\n", "line 1: a document and two different items"),
        ("a.svm", "+1 1:1 # d 1 1\n", "line 1: a document and two different items"),
        ("a.svm", "+1 1:1 # d 1 x\n", "line 1: a document and two different items"),
        ("a.svm", "2 1:1 # d 1 2\n", r"line 1: the label is '2', not \+1 or -1"),
        ("a.svm", " 1:1 # d 1 2\n", "line 1: the label is ''"),
        (
            "a.svm",
            "+1 1:1 # d 1 2\n+1 1:1 # d 2 3\n-1 1:1 # d 1 3\n",
            "line 3: the items 1 and 3 are apart here, but other pairs put them together",
        ),
        ("a.conll", "a\t(1\nb\t_\n", "line 1: a mention of '1' begins that does not end"),
        ("a.conll", "a\t_\nb\t1)\n", "line 2: a mention of '1' ends that has not begun"),
        ("a.conll", "a\tB-PER\n", r"line 1: 'B-PER' is not a row of brackets"),
        ("a.conll", "a\t_\n", "has no mentions in its column 'coref'"),
        ("a.conll", "a\t(1[2/2])\n", "'1' has a further part but no first one"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, name, text, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, name, text)


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(WidemarginError, match="jsonl, svmlight, conllu, conll files, not brackets"):
        read(tmp_path, "a.mrg", "(S a)")
    with pytest.raises(WidemarginError, match="leave out --columns"):
        read(tmp_path, "a.jsonl", NESTED, reading={"columns": ["a"]})
    with pytest.raises(WidemarginError, match="leave out --label"):
        read(tmp_path, "a.jsonl", NESTED, reading={"label": "a"})
    with pytest.raises(DataError, match="no column 'word'"):
        read(tmp_path, "a.conll", COREF, reading={"columns": ["a", "b", "c"]})
