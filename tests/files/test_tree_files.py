"""Files of trees: what is read and written, that mistakes are named with their place, and the generated treebanks."""

import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import corpus
from widemargin.data.treebanks import treebank
from widemargin.errors import DataError, WidemarginError
from widemargin.files.brackets import EMPTY, columns_of, parse, text_of, without_empty, without_functions
from widemargin.files.formats import read
from widemargin.files.raw import RawText
from widemargin.tasks.parse.dependencies import arc_lists, arcs, as_arcs
from widemargin.text.columns import Column, Columns
from widemargin.text.trees import DEEPEST, Arc, Tree, arc_columns

pytestmark = pytest.mark.interpreted

CONLLX = (
    "# doc = a\n"
    "1\tde\tden\tPD\tPD-P\t_\t2\tsubj\t_\t_\n"
    "2\tvar\tvære\tVA\tVAD\tmood=indic\t0\tROOT\t0\tROOT\n"
    "\n"
    "1\tNej\tnej\tI\tI\t_\t0\tROOT\t_\t_\n"
)


def parsed(text, **options):
    return read(io.StringIO(text, newline=""), **options)


# ------------------------------------------------------------------------------------------------------------- trees


def test_trees_in_brackets_are_read_strictly():
    tree = Tree.parse("\n(S\t(NP (DT the)\r\n (NN dog))(VP (VBZ  barks )))\n")
    assert tree == Tree(
        "S", (Tree("NP", (Tree("DT", ("the",)), Tree("NN", ("dog",)))), Tree("VP", (Tree("VBZ", ("barks",)),)))
    )
    assert str(tree) == "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
    assert [each.label for each in tree.constituents()] == ["S", "NP", "DT", "NN", "VP", "VBZ"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected one tree in brackets, found 0"),
        ("(A b)(A b)", "expected one tree in brackets, found 2"),
        ("(S\n(NP (NN a))", "line 1 of the tree: the bracket of 'S' is never closed"),
        ("(A b))", "line 1 of the tree: ')' is outside of all brackets"),
        ("(A b)\nc", "line 2 of the tree: 'c' is outside of all brackets"),
        ("(S\n(A b c))", "line 2 of the tree: the word 'b' in the bracket of 'A' has no tag"),
        ("(S (A b) c)", "line 1 of the tree: the word 'c' in the bracket of 'S' has no tag"),
        ("(S (A))", "line 1 of the tree: the bracket of 'A' holds nothing"),
        ("()", "line 1 of the tree: the bracket of '' holds nothing"),
        ("(S " * (DEEPEST + 1), f"line 1 of the tree: brackets nest deeper than {DEEPEST}"),
    ],
)
def test_what_is_no_tree_is_named(text, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Tree.parse(text)


def test_the_deepest_trees_can_be_read_stripped_and_written():
    text = "(X-1 " * (DEEPEST - 1) + "(A a)" + ")" * (DEEPEST - 1)
    assert str(Tree.parse(text)) == text
    assert parse(RawText.of(text)).trees[0].words() == ["a"]


def trees():
    name = st.text(st.characters(exclude_characters="() \t\r\n", exclude_categories=["Cs"]), min_size=1, max_size=4)
    tags = st.builds(lambda tag, word: Tree(tag, (word,)), name | st.just(EMPTY), name)
    return st.recursive(
        tags,
        lambda below: st.builds(Tree, name | st.just(""), st.lists(below, min_size=1, max_size=3).map(tuple)),
        max_leaves=8,
    )


@given(st.lists(trees(), min_size=1, max_size=3))
def test_trees_survive_writing(forest):
    document = parse(RawText.of(text_of(forest)), strip_functions=False, strip_empty=False)
    assert document.trees == forest
    assert document.columns.sequences("word") == [tree.words() for tree in forest]
    assert document.columns.sequences("pos") == [tree.tags() for tree in forest]


def test_words_that_brackets_cannot_hold_are_written_otherwise():
    assert str(Tree("(", ("10 000",))) == "(-LRB- 10_000)"


@given(trees())
def test_stripping_takes_traces_and_functions_and_nothing_else(tree):
    kept = without_empty(tree)
    sounds = [(word, tag) for word, tag in tree.tagged() if tag != EMPTY]
    assert (kept.tagged() if kept else []) == sounds
    plain = without_functions(tree)
    assert plain.tagged() == tree.tagged()
    for before, after in zip(tree.constituents(), plain.constituents(), strict=True):
        cut = before.word is None and not before.label.startswith("-")
        assert after.label == (re.split("(?<=.)[-=]", before.label, flags=re.DOTALL)[0] if cut else before.label)


# ---------------------------------------------------------------------------------------------------- bracket files

PENN = "( (S (NP-SBJ-1 (-NONE- *T*)) \n   (VP (VB Go) (NP=2 (-LRB- -LRB-))) (. .)) )\n\n\n(X (-NONE- *))(FRAG (UH oh))"


def test_bracket_files():
    document = parsed(PENN)
    assert [str(tree) for tree in document.trees] == [
        "( (S (VP (VB Go) (NP (-LRB- -LRB-))) (. .)))",
        "(FRAG (UH oh))",
    ]
    assert document.columns.sequences("word") == [["Go", "-LRB-", "."], ["oh"]]
    assert document.columns.sequences("pos") == [["VB", "-LRB-", "."], ["UH"]]
    assert document.text() == PENN
    assert document.text({"pos": ["A", "B", "C", "D"]}) == "( (S (VP (A Go) (NP (B -LRB-))) (C .)))\n(FRAG (D oh))\n"
    with pytest.raises(DataError, match="only 'pos', the tags, can be replaced"):
        document.text({"word": ["a"] * 4})
    full = parse(RawText.of(PENN), strip_functions=False, strip_empty=False)
    assert str(full.trees[0]).startswith("( (S (NP-SBJ-1 (-NONE- *T*)) (VP (VB Go) (NP=2 ")
    assert len(full.trees) == 3


def test_mistakes_in_bracket_files_are_named_with_file_and_line(tmp_path):
    path = tmp_path / "x.mrg"
    path.write_text("(A b)\n(A\n b c)", encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(f"{path}, line 3: the word 'b' in the bracket of 'A' has no tag")):
        read(path)
    path.write_text("(X (-NONE- *))", encoding="utf-8")
    with pytest.raises(DataError, match="holds no tokens"):
        read(path)


@pytest.mark.parametrize("name", ["x", "x.mrg", "x.ptb", "x.brackets"])
def test_bracket_files_are_guessed(tmp_path, name):
    (tmp_path / name).write_text("\n" + PENN, encoding="utf-8")
    assert read(tmp_path / name).columns["word"].strings()[0] == "Go"


@pytest.mark.parametrize("text", ["( O\na O\n", "(\tO\n", "(\n", "(S O\n"])
def test_brackets_are_tokens_elsewhere(tmp_path, text):
    for name in ("x.tsv",) if text == "(S O\n" else ("x", "x.tsv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert read(tmp_path / name).columns["word"].strings()[0] == text.split()[0]


# ----------------------------------------------------------------------------------------------------- dependencies


def test_one_reader_of_dependencies_for_both_formats(tmp_path):
    (tmp_path / "x.conllx").write_text(CONLLX, encoding="utf-8")
    x, u = read(tmp_path / "x.conllx"), parsed(CONLLX)
    assert x.columns.names[:8] == u.columns.names[:8]
    assert x.columns.names[8:] == ["phead", "pdeprel"]
    for name in ("word", "form", "lemma", "upos", "cpostag", "xpos", "postag", "feats", "head", "deprel"):
        assert x.columns[name].strings() == u.columns[name].strings()
    assert arc_lists(arcs(x), x.columns.indptr) == [[Arc(2, "subj"), Arc(0, "ROOT")], [Arc(0, "ROOT")]]
    changed = x.text(arc_columns([[Arc(0, "a"), Arc(1, "b")], [Arc(0, "c")]]))
    assert changed == CONLLX.replace("2\tsubj", "0\ta").replace("0\tROOT\t0", "1\tb\t0").replace(
        "0\tROOT\t_", "0\tc\t_"
    )


def sentence(*rows):
    """A comment, a full sentence, and one with these heads and relations."""
    tokens = "".join(f"{t}\tw\tw\tX\tX\t_\t{head}\t{label}\t_\t_\n" for t, (head, label) in enumerate(rows, 1))
    return f"# a\n1\tw\tw\tX\tX\t_\t0\troot\t_\t_\n\n{tokens}\n"


MISTAKES = [
    ([("x", "a")], 4, "the head 'x' is not a number"),
    ([("0", "a"), ("-1", "a")], 5, "the head '-1' is not a number"),
    ([("0", "a"), ("²", "a")], 5, "the head '²' is not a number"),
    ([("0", "a"), ("3", "a")], 5, "the head 3 is not one of 0 … 2, the tokens of the sentence"),
    ([("0", "a"), ("9" * 30, "a")], 5, "is not a number"),
    ([("0", "a"), ("2", "a")], 5, "the head of token 2 is this token itself"),
    ([("0", "a"), ("_", "a")], 5, "the token has no head"),
    ([("0", "a"), ("1", "_")], 5, "the relation to the head 1 is missing"),
    ([("0", "a"), ("1", "")], 5, "the relation to the head 1 is missing"),
    (
        [("2", "a"), ("3", "a"), ("4", "a"), ("3", "a"), ("0", "a")],
        6,
        "the head of token 3, 4, leads back to this token",
    ),
]


@pytest.mark.parametrize(("rows", "line", "message"), MISTAKES)
def test_what_is_no_dependency_tree_is_named_with_its_line(rows, line, message):
    document = parsed(sentence(*rows))
    with pytest.raises(DataError, match=f"^input, line {line}: .*{re.escape(message)}"):
        arcs(document)
    with pytest.raises(DataError, match=f"^input, sentence 2, token {line - 3}: .*{re.escape(message)}"):
        arcs(document.columns)


def test_forests_and_unlabelled_trees_are_fine():
    assert arcs(parsed(sentence(("0", "a"), ("0", "a"), ("2", "b")))).heads.tolist() == [0, 0, 0, 2]
    unlabelled = sentence(("0", "_"), ("1", "_")).replace("root", "_")
    assert arcs(parsed(unlabelled)).labels.strings() == ["_"] * 3


def test_files_without_heads_are_refused():
    with pytest.raises(DataError, match="input has no column 'head'; it has 'word', 'column2'"):
        arcs(parsed("a O\n"))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ("ab", "y must be a list of (head, relation) for every sentence, not 'ab'"),
        ([], "X has 1 sentences, but y has 0"),
        ([[(0, "a")]], "y[0] must be a list of 2 arcs, as many as there are tokens, not [(0, 'a')]"),
        ([[(0, "a"), (True, "a")]], "y[0][1] must be (head, relation), a number and a text, not (True, 'a')"),
        ([[(0, "a"), 1]], "y[0][1] must be (head, relation), a number and a text, not 1"),
        ([[(0, "a"), (-1, "a")]], "y, sentence 1, token 2: the head -1 is not one of 0 … 2"),
        ([[(2, "a"), (1, "a")]], "y, sentence 1, token 1: the head of token 1, 2, leads back"),
        ([[(0, "a"), (1, "")]], "y, sentence 1, token 2: the relation to the head 1 is missing"),
    ],
)
def test_lists_of_arcs_are_checked(y, message):
    with pytest.raises(DataError, match=re.escape(message)):
        as_arcs([2], y)


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=5), min_size=1, max_size=4))
def test_trees_are_told_from_what_is_none(heads):
    """A walk from every token to the root says the same as the check."""

    def is_tree(sentence):
        def reaches_root(token):
            for _ in sentence:
                token = 0 if token == 0 else sentence[token - 1]
            return token == 0

        return all(head <= len(sentence) for head in sentence) and all(
            reaches_root(token) for token in range(1, len(sentence) + 1)
        )

    y = [[Arc(head, "a") for head in sentence] for sentence in heads]
    if all(map(is_tree, heads)):
        indptr = np.cumsum([0, *map(len, heads)])
        assert arc_lists(as_arcs(list(map(len, heads)), y), indptr) == y
    else:
        with pytest.raises(DataError):
            as_arcs(list(map(len, heads)), y)


# ------------------------------------------------------------------------------------------------------- treebanks


def is_projective(tree):
    spans = [sorted((token, arc.head)) for token, arc in enumerate(tree, 1)]
    return not any(a < c < b < d for a, b in spans for c, d in spans)


def n_roots(tree):
    return sum(arc.head == 0 for arc in tree)


def test_generated_treebanks_have_what_they_promise():
    plain = treebank(100, seed=1)
    assert all(is_projective(tree) and n_roots(tree) == 1 for tree in plain.arcs)
    crossing, double = treebank(50, non_projective=1.0), treebank(50, several_roots=1.0)
    assert not any(is_projective(tree) for tree in crossing.arcs)
    assert all(n_roots(tree) == 2 for tree in double.arcs)
    mixed = treebank(400, non_projective=0.2, several_roots=0.3)
    assert 0.1 < np.mean([not is_projective(tree) for tree in mixed.arcs]) < 0.3
    assert 0.2 < np.mean([n_roots(tree) == 2 for tree in mixed.arcs]) < 0.4
    assert treebank(5, seed=3).trees == treebank(5, seed=3).trees != treebank(5, seed=4).trees


def test_generated_treebanks_agree_with_their_files():
    bank = treebank(30, non_projective=0.3, several_roots=0.3)
    u, brackets = parsed(bank.conllu()), parsed(bank.brackets())
    assert u.columns.sequences("word") == brackets.columns.sequences("word") == bank.columns.sequences("word")
    assert u.columns.sequences("xpos") == brackets.columns.sequences("pos") == bank.columns.sequences("pos")
    assert arc_lists(arcs(u), u.columns.indptr) == arc_lists(arcs(bank.columns), bank.columns.indptr) == bank.arcs
    assert brackets.trees == bank.trees
    assert columns_of(bank.trees).sequences("word") == bank.columns.sequences("word")


@pytest.mark.parametrize("wrong", [{"n": -1}, {"n": 1, "non_projective": 1.5}, {"n": 1, "several_roots": -0.1}])
def test_wrong_wishes_are_refused(wrong):
    with pytest.raises(WidemarginError, match=r"must be a .*number"):
        treebank(**wrong)


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["cdt-danish/dev.conll", "ud-swedish-talbanken/dev.conllu", "gum-open/dev.conllu"])
def test_corpora_of_dependencies_survive(name):
    document = read(corpus(name))
    found = arc_lists(arcs(document), document.columns.indptr)
    assert document.text(arc_columns(found)) == document.text()


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["genia-treebank/dev.ptb", "gum-open/dev.ptb"])
def test_corpora_of_constituents_survive(name):
    document = read(corpus(name))
    assert parse(RawText.of(text_of(document.trees))).trees == document.trees


def test_columns_without_a_document_are_enough():
    X = Columns({"head": Column.of(["2", "0"]), "deprel": Column.of(["a", "b"])}, np.array([0, 2]), "mine")
    assert arcs(X).heads.dtype == np.int32
