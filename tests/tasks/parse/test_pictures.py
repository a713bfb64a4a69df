"""Pictures of trees: whatever the sentence, all of it is shown, and nothing covers anything else."""

import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.errors import WidemarginError
from widemargin.report.svg import page, width_of
from widemargin.report.text import cells, encodable, printable
from widemargin.tasks.bracket.pictures import brackets_lines, brackets_picture
from widemargin.tasks.parse.pictures import arc_levels, arcs_lines, arcs_picture
from widemargin.text.trees import Arc, Tree

pytestmark = pytest.mark.interpreted

SVG = "{http://www.w3.org/2000/svg}"
LABELS = ["nsubj", "obj", "acl:relcl", 'a<b & "c"', "関係"]
names = st.text(min_size=1, max_size=12)


@st.composite
def parses(draw, most=12):
    """Words, arcs and tags: any tree, projective or not, with any number of roots."""
    n = draw(st.integers(0, most))
    order = draw(st.permutations(range(n)))
    heads = [0] * n
    for i, m in enumerate(order):
        heads[m] = draw(st.sampled_from([0, *(above + 1 for above in order[:i])]))
    arcs = [Arc(head, draw(st.sampled_from(LABELS))) for head in heads]
    words, tags = ([draw(names) for _ in range(n)] for _ in range(2))
    return words, arcs, draw(st.sampled_from([tags, []]))


trees = st.recursive(
    st.builds(lambda tag, word: Tree(tag, (word,)), names, names),
    lambda children: st.builds(Tree, st.sampled_from(["S", "NP", ""]), st.lists(children, min_size=1).map(tuple)),
    max_leaves=15,
)


def long_parse(n):
    """A sentence of n words whose heads are drawn at random among the words before."""
    rng = np.random.default_rng(0)
    arcs = [Arc(int(rng.integers(max(0, m - 6), m + 1)) if m else 0, "dep") for m in range(n)]
    return [f"word{m}" for m in range(n)], arcs, ["X"] * n


def texts_of(svg):
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def paths_of(svg):
    """All paths but those of the arrows' heads."""
    return [each.get("d") for each in ElementTree.fromstring(svg).iterfind(f".//{SVG}g[@stroke]/{SVG}path")]


def boxes(svg):
    """The rectangle that each text takes."""
    found = []
    for group in ElementTree.fromstring(svg).iterfind(f".//{SVG}g[@font-size]"):
        size = float(group.get("font-size"))
        for each in group.iter(f"{SVG}text"):
            x, y, half = float(each.get("x")), float(each.get("y")), width_of(each.text or "", size) / 2
            found.append((x - half, y - 0.8 * size, x + half, y))
    return found


def meet(one, other, slack=0.3):  # coordinates are rounded to a tenth
    return all(one[k] + slack < other[k + 2] and other[k] + slack < one[k + 2] for k in (0, 1))


@given(parses())
def test_svg_shows_every_word_and_label_and_a_path_per_arc(parse):
    words, arcs, tags = parse
    svg = page([arcs_picture(words, arcs, tags)])
    assert sorted(texts_of(svg)) == sorted(printable(each) for each in [*words, *tags, *(arc.label for arc in arcs)])
    assert len(paths_of(svg)) == len(arcs)


@given(parses())
def test_bars_of_one_level_do_not_meet_and_shorter_arcs_are_lower(parse):
    _, arcs, _ = parse
    levels = arc_levels(arcs)
    spans = [
        (*sorted((arc.head, m)), level) for m, (arc, level) in enumerate(zip(arcs, levels, strict=True), 1) if arc.head
    ]
    for (a, b, level), (c, d, other) in combinations(spans, 2):
        if max(a, c) < min(b, d):
            assert level != other
            assert (level < other) == (b - a < d - c) or b - a == d - c
    assert all(level == max(levels) for arc, level in zip(arcs, levels, strict=True) if arc.head == 0)
    assert sorted(set(levels)) == list(range(1, max(levels, default=0) + 1))


@given(parses())
def test_texts_of_arcs_do_not_meet(parse):
    words, arcs, tags = parse
    for one, other in combinations(boxes(page([arcs_picture(words, arcs, tags)])), 2):
        assert not meet(one, other)


@given(trees)
def test_texts_of_trees_do_not_meet_and_all_are_there(tree):
    svg = page([brackets_picture(tree)])
    labels = [each.label or "()" for each in tree.constituents()]
    assert sorted(texts_of(svg)) == sorted(printable(each) for each in [*labels, *tree.words()])
    assert len(paths_of(svg)) == len(labels)
    for one, other in combinations(boxes(svg), 2):
        assert not meet(one, other)


@given(parses())
def test_terminal_lines_give_back_the_tree(parse):
    words, arcs, tags = parse
    rows = arcs_lines(words, arcs, tags)
    assert len(rows) == len(words)
    assert [head_of(rows, m) for m in range(len(rows))] == [arc.head for arc in arcs]
    assert len({cells(row) - cells(printable(arc.label)) for row, arc in zip(rows, arcs, strict=True)}) <= 1


def head_of(rows, m):
    """The head of word m + 1 as a reader finds it: left to where the line begins, then up and down."""
    begin = re.match(r"[ │]*", rows[m]).end()
    if begin == 0:
        return 0
    reached = []
    for step, ends in ((-1, "╭┬"), (1, "╰┴")):
        row = m
        while rows[row][begin] not in ends:
            row += step
            reached.append(row)
    found = [row for row in reached if rows[row][begin] in "┬┴┼"]
    assert len(found) == 1
    return found[0] + 1


@given(trees)
def test_terminal_lines_of_trees_show_every_word_and_label(tree):
    joined = "\n".join(brackets_lines(tree))
    for each in tree.constituents():
        assert printable(each.label) in joined
        assert each.word is None or f"{printable(each.label)} {printable(each.word)}" in joined
    assert all(line.isprintable() or printable(line) == line for line in joined.split("\n"))


@pytest.mark.parametrize("n", [0, 1, 100])
def test_sentences_of_any_length(n):
    words, arcs, tags = long_parse(n)
    assert len(paths_of(page([arcs_picture(words, arcs, tags)]))) == len(arcs_lines(words, arcs, tags)) == n


def test_a_deep_tree():
    tree = Tree("X", ("x",))
    for _ in range(2000):
        tree = Tree("S", (tree, Tree("Y", ("y",))))
    assert len(brackets_lines(tree)) == 4001
    assert len(texts_of(page([brackets_picture(tree)]))) == 3 * 2000 + 2


def test_pictures_on_a_page_do_not_overlap():
    pictures = [arcs_picture(*long_parse(n)) for n in (3, 0, 7)]
    root = ElementTree.fromstring(page(pictures))
    tops = [float(re.search(r" ([\d.]+)\)", group.get("transform"))[1]) for group in root.iterfind(f"{SVG}g")]
    for picture, top, below in zip(pictures, tops, [*tops[1:], float(root.get("height"))], strict=True):
        assert top + picture.height < below
        assert picture.width < float(root.get("width"))
    assert root.find(f"{SVG}rect").get("fill") == "#ffffff"
    assert pictures[0]._repr_svg_() == page(pictures[:1])


def test_what_is_no_tree_is_refused():
    with pytest.raises(WidemarginError, match="2 words need as many arcs"):
        arcs_lines(["a", "b"], [Arc(0, "root")])
    with pytest.raises(WidemarginError, match="the head of word 1 is 3, but there are 2 words"):
        arcs_picture(["a", "b"], [Arc(3, "x"), Arc(0, "root")])
    with pytest.raises(WidemarginError, match="word 2 does not hang on the root"):
        arcs_picture(["a", "b", "c"], [Arc(0, "root"), Arc(3, "x"), Arc(2, "y")])


@given(parses(), st.sampled_from(["ascii", "latin-1", "cp437", "utf-8", None]))
def test_lines_for_every_encoding_keep_their_width(parse, encoding):
    for line in arcs_lines(*parse):
        shorter = encodable(line, encoding)
        shorter.encode(encoding or "ascii")
        assert len(shorter) == len(line)
