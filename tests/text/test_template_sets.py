"""Sets of templates by name: what a name stands for, and where it still is that of a column."""

import pytest

from widemargin import Segmenter, SequenceTagger
from widemargin.errors import WidemarginError
from widemargin.text.attributes import Resources
from widemargin.text.template_sets import SETS, spelt_out
from widemargin.text.templates import DEFAULT_TEMPLATES, parse_templates

NOTHING = Resources()
X = [[{"word": "Ann", "pos": "N"}, {"word": "ran", "pos": "V"}], [{"word": "he", "pos": "P"}]]
Y = [["B-PER", "O"], ["O"]]


def texts(templates):
    return [template.text for template in parse_templates(templates)]


@pytest.mark.parametrize("name", SETS)
def test_a_name_alone_or_within_other_templates_is_the_set(name):
    assert spelt_out(name, NOTHING) == spelt_out(f" {name} # for names\n", NOTHING) == list(SETS[name])
    assert spelt_out([f"set({name})", "suffix9"], NOTHING) == [*SETS[name], "suffix9"]
    assert len(texts(SETS[name])) == len(set(texts(SETS[name])))


def test_a_column_may_be_called_like_a_set():
    for templates in (["pos"], "pos[0]"):
        assert texts(spelt_out(templates, NOTHING)) == ["pos"]
    assert texts(spelt_out("pos lower", NOTHING)) == ["pos", "lower"]


def test_the_default_set_is_the_default():
    assert spelt_out("default", NOTHING) == list(DEFAULT_TEMPLATES)


def test_sets_read_all_lexicons_and_clusters():
    found = texts(spelt_out("ner", Resources({"cities": ["York"]}, {"brown": {"a": "01"}, "other": {"a": "x"}})))
    assert {"lexicon(cities)[-1]", "cluster(brown)", "cluster(brown,4)", "cluster(other)"} <= set(found)
    assert "cluster(other,4)" not in found


def test_an_unknown_set_is_answered_by_all_names():
    with pytest.raises(WidemarginError, match="there is no set of templates 'nerr'; there are default, pos, chunk"):
        spelt_out("set(nerr)", NOTHING)


def test_a_word_that_is_neither_set_nor_column_is_answered_by_both():
    with pytest.raises(WidemarginError, match=r"no column 'nerr'; it has 'word', 'pos'.*default, pos, chunk"):
        SequenceTagger(templates="nerr").fit(X, Y)


@pytest.mark.parametrize("estimator", [SequenceTagger, Segmenter])
def test_estimators_take_sets(estimator):
    model = estimator(templates="chunk", max_epochs=1).fit(X, Y).model_
    assert model.columns_read == ["pos", "word"]
    assert model.templates[""] == texts(SETS["chunk"])
