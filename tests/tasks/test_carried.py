"""Parsers that carry taggers: words alone are enough, tags to learn from are jack-knifed, blank columns are errors."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import widemargin
from helpers.command_line import LOADED, fail, python, run, succeed
from helpers.models import FIXTURES
from widemargin import ConstituencyParser, DependencyParser
from widemargin.core.model_file import read_model, write_model
from widemargin.core.sparse import boundaries
from widemargin.data.treebanks import treebank
from widemargin.errors import DataError, ModelFileError, WidemarginError
from widemargin.files import pieces
from widemargin.files.brackets import columns_of
from widemargin.files.formats import read
from widemargin.tasks.parameters import TreeParameters
from widemargin.tasks.stacking import fold_numbers, learn_tags
from widemargin.text.columns import Column, Columns
from widemargin.text.inputs import as_columns
from widemargin.text.trees import Tree

QUICK = {"solver": "perceptron", "max_epochs": 3, "hash_bits": 14, "tag_folds": 2}
BANK, OTHER = treebank(60, seed=1), treebank(30, seed=2)
WORDS = OTHER.columns.sequences("word")


@pytest.fixture(scope="module")
def parser():
    return DependencyParser(**QUICK).fit(BANK.columns, BANK.arcs)


@pytest.fixture(scope="module")
def bracketer():
    return ConstituencyParser(**QUICK).fit(columns_of(BANK.trees), BANK.trees)


def with_column(X, name, strings):
    return Columns({**{each: X[each] for each in X.names}, name: Column.of(strings)}, X.indptr, X.source)


# Jack-knifing


@pytest.mark.interpreted
@given(st.lists(st.integers(0, 3), min_size=2, max_size=40), st.integers(2, 12))
def test_parts_are_blocks_of_sentences_that_share_out_the_words(sizes, n_parts):
    n = sum(size > 0 for size in sizes)
    if n < 2:
        with pytest.raises(DataError, match="two sentences or more"):
            fold_numbers(boundaries(sizes), n_parts)
        return
    found = fold_numbers(boundaries(sizes), n_parts)
    counts = np.bincount(found[np.array(sizes) > 0])
    assert len(counts) == min(n_parts, n)
    assert counts.max() - counts.min() <= 1
    assert (np.diff(found) >= 0).all()


def told_apart(n=12):
    """Sentences in which a word gives away a tag that no other sentence has."""
    return as_columns(
        [
            [{"word": f"x{i}", "xpos": f"T{i}"}, {"word": "the", "xpos": "DT"}, {"word": "dog", "xpos": "NN"}]
            for i in range(n)
        ]
    )


def test_no_sentence_is_tagged_by_a_tagger_that_learnt_from_it():
    X = told_apart()
    own = X.strings("xpos")[::3]
    for folds in (2, 5, 50):
        tagger, column = learn_tags(TreeParameters(tag_folds=folds), X, "xpos")
        found = column.strings()[::3]
        assert all(tag != mine for tag, mine in zip(found, own, strict=True))
        part = fold_numbers(X.indptr, folds)
        for tag, mine in zip(found, part.tolist(), strict=True):
            assert tag in {"DT", "NN"} or part[own.index(tag)] != mine
        assert [tags[0] for tags in tagger.predict(X)] == own  # a tagger that has seen them would give them away
        assert column.strings()[1::3] == ["DT"] * len(own)


def test_the_seed_fixes_tags_and_parsers_whatever_the_threads():
    columns = [learn_tags(TreeParameters(n_jobs=n, tag_folds=3), BANK.columns, "upos")[1] for n in (1, 1, 2)]
    assert len({tuple(column.strings()) for column in columns}) == 1
    one, two = (DependencyParser(n_jobs=n, **QUICK).fit(BANK.columns, BANK.arcs) for n in (1, 2))
    assert np.array_equal(one.model_.w, two.model_.w)


def test_a_parser_learns_from_jackknifed_tags(parser):
    X = BANK.columns
    tags = {name: learn_tags(TreeParameters(tag_folds=2), X, name)[1] for name in ("upos", "xpos")}
    as_given = Columns({"word": X["word"], **tags}, X.indptr)
    templates = {f"{part}_templates": getattr(parser.model_.extractor, part) for part in ("arc", "label")}
    same = DependencyParser(**QUICK, **templates, tags="given").fit(as_given, BANK.arcs)
    assert np.array_equal(same.model_.w, parser.model_.w)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tags": "gold"}, "tags must be 'predicted' or 'given', not 'gold'"),
        ({"tag_folds": 1}, "tag_folds must be a whole number of at least 2"),
        ({"tag_folds": None}, "tag_folds must be a whole number of at least 2, not None"),
    ],
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(WidemarginError, match=message):
        DependencyParser(**QUICK | options).fit(BANK.columns, BANK.arcs)
    with pytest.raises(WidemarginError, match=message):
        ConstituencyParser(**QUICK | options).fit(columns_of(BANK.trees), BANK.trees)


def test_what_taggers_cannot_learn_is_refused():
    X = with_column(BANK.columns, "lemma", [str(t) for t in range(BANK.columns.n_tokens)])
    with pytest.raises(WidemarginError, match=r"the column lemma of input has \d+ values, and taggers learn at most"):
        DependencyParser(**QUICK, arc_templates="head:lemma|modifier:word").fit(X, BANK.arcs)
    with pytest.raises(DataError, match="need two sentences or more"):
        DependencyParser(**QUICK).fit([[{"word": "a", "upos": "X"}]], [[(0, "root")]])


# Prediction


def test_words_alone_are_enough(parser, tmp_path):
    assert list(parser.taggers_) == ["upos", "xpos"]
    assert parser.model_.columns_read == ["upos", "word", "xpos"]
    found = parser.predict(WORDS)
    assert parser.predict(OTHER.columns) == found  # given tags are not read
    assert parser.predict(with_column(OTHER.columns, "upos", ["X"] * OTHER.columns.n_tokens)) == found
    assert parser.score(WORDS, OTHER.arcs) > 0.8
    parser.save(tmp_path / "a.wm")
    again = widemargin.load(tmp_path / "a.wm")
    assert again.predict(WORDS) == found
    assert again.tags == "predicted"
    for name, tagger in parser.taggers_.items():
        assert again.taggers_[name].predict(WORDS) == tagger.predict(WORDS)
    again.save(tmp_path / "b.wm")
    assert (tmp_path / "b.wm").read_bytes() == (tmp_path / "a.wm").read_bytes()


def test_copies_carry_their_taggers(parser):
    for again in (pickle.loads(pickle.dumps(parser)), copy.deepcopy(parser)):
        assert again.predict(WORDS) == parser.predict(WORDS)


def test_given_tags_are_read_if_wanted(parser, tmp_path):
    wrong = with_column(OTHER.columns, "xpos", ["X"] * OTHER.columns.n_tokens)
    parser.save(tmp_path / "a.wm")
    given = widemargin.load(tmp_path / "a.wm", tags="given")
    assert given.predict(wrong) != given.predict(OTHER.columns)
    with pytest.raises(DataError, match="has no column 'upos'"):
        given.predict(WORDS)


def test_the_development_score_is_that_of_predicted_tags():
    dev = (OTHER.columns, OTHER.arcs)
    fitted = DependencyParser(**QUICK).fit(BANK.columns, BANK.arcs, dev=dev)
    assert max(epoch.score for epoch in fitted.solution_.trace) == pytest.approx(fitted.score(WORDS, OTHER.arcs))
    trees = (columns_of(OTHER.trees), OTHER.trees)
    fitted = ConstituencyParser(**QUICK).fit(columns_of(BANK.trees), BANK.trees, dev=trees)
    assert max(epoch.score for epoch in fitted.solution_.trace) == pytest.approx(fitted.score(WORDS, OTHER.trees))


def test_constituents_of_words_alone(bracketer, tmp_path):
    assert list(bracketer.taggers_) == ["pos"]
    found = bracketer.predict(WORDS)
    assert bracketer.predict(columns_of(OTHER.trees)) == found
    assert [tree.tags() for tree in found] == bracketer.taggers_["pos"].predict(WORDS)
    assert bracketer.score(WORDS, OTHER.trees) > 0.9
    assert bracketer.predict_best(WORDS[:2], 2)[0][0].output == found[0]
    assert bracketer.predict([("They", "sleep")])[0].words() == ["They", "sleep"]
    bracketer.save(tmp_path / "a.wm")
    assert widemargin.load(tmp_path / "a.wm").predict(WORDS) == found


def test_wrong_tags_do_not_change_what_counts_as_punctuation(bracketer):
    """A comma that is tagged as a noun is still taken out before brackets are compared."""
    tree = Tree.parse("(TOP (S (NP (NN dogs)) (, ,) (VP (VBP bark))))")
    retagged = Tree.parse("(TOP (S (NP (NN dogs)) (NN ,) (VP (VBP bark))))")
    from widemargin.tasks.bracket.metrics import scores_of

    assert scores_of([tree], [retagged]).exact == 1.0


def test_models_of_words_carry_nothing(tmp_path):
    plain = DependencyParser(**QUICK).fit(BANK.columns.sequences("word"), BANK.arcs)
    assert plain.taggers_ == {}
    plain.save(tmp_path / "a.wm")
    assert "taggers" not in read_model(tmp_path / "a.wm").header
    assert widemargin.load(FIXTURES / "parse.wm").taggers_ == {}


# Blank columns


def test_default_templates_leave_out_blank_columns():
    X = with_column(BANK.columns, "xpos", ["_"] * BANK.columns.n_tokens)
    fitted = DependencyParser(**QUICK).fit(X, BANK.arcs)
    assert fitted.model_.columns_read == ["upos", "word"]
    assert list(fitted.taggers_) == ["upos"]
    given = DependencyParser(**QUICK, tags="given").fit(X, BANK.arcs)
    assert given.model_.columns_read == ["feats", "lemma", "upos", "word"]


@pytest.mark.parametrize("tags", ["predicted", "given"])
def test_blank_columns_that_templates_read_are_an_error_in_training(tags):
    X = with_column(BANK.columns, "xpos", ["_"] * BANK.columns.n_tokens)
    with pytest.raises(DataError, match="the column xpos of input is blank, and the model reads it"):
        DependencyParser(**QUICK, tags=tags, arc_templates="head:xpos|modifier:word").fit(X, BANK.arcs)
    Y = with_column(columns_of(BANK.trees), "pos", ["_"] * BANK.columns.n_tokens)
    with pytest.raises(DataError, match="the column pos of input is blank, and the model reads it"):
        ConstituencyParser(**QUICK, tags=tags).fit(Y, BANK.trees)


def test_blanks_where_the_training_data_had_none_are_an_error():
    reader = DependencyParser(**QUICK, tags="given").fit(BANK.columns, BANK.arcs)
    tags = OTHER.columns.strings("upos")
    with pytest.raises(DataError, match="the column upos of input is blank, and the model reads it; fill it in, or"):
        reader.predict(with_column(OTHER.columns, "upos", ["_"] * len(tags)))
    size = int(OTHER.columns.indptr[1])
    tags[size] = "_"
    with pytest.raises(DataError, match="input, sentence 2, token 1: the column upos is blank"):
        reader.predict(with_column(OTHER.columns, "upos", tags))
    reader.predict(with_column(OTHER.columns, "feats", ["_"] * len(tags)))  # tokens without features
    dev = with_column(OTHER.columns, "upos", tags), OTHER.arcs
    with pytest.raises(DataError, match="sentence 2, token 1: the column upos is blank"):
        reader.fit(BANK.columns, BANK.arcs, dev=dev)


def test_an_underscore_is_its_own_lemma():
    X = [[{"word": "_", "lemma": "_", "upos": "SYM"}, {"word": "a", "lemma": "a", "upos": "X"}]]
    fitted = DependencyParser(hash_bits=8, max_epochs=1, tags="given").fit(X, [[(2, "x"), (0, "root")]])
    assert "lemma" in fitted.model_.filled
    assert len(fitted.predict([X[0][:1]])[0]) == 1


# The command line


@pytest.fixture(scope="module")
def folder(tmp_path_factory, bracketer):
    folder = tmp_path_factory.mktemp("raw")
    (folder / "train.conllu").write_text(BANK.conllu(), encoding="utf-8")
    (folder / "test.conllu").write_text(OTHER.conllu(), encoding="utf-8")
    (folder / "test.mrg").write_text(OTHER.brackets(), encoding="utf-8")
    blank = ["\t".join([*fields[:3], "_", "_", *fields[5:]]) if len(fields) > 1 else "" for fields in
             (line.split("\t") for line in OTHER.conllu().split("\n"))]  # fmt: skip
    (folder / "blank.conllu").write_text("\n".join(blank), encoding="utf-8")
    (folder / "raw.txt").write_text("".join(" ".join(words) + "\n" for words in WORDS), encoding="utf-8")
    options = ["--solver", "perceptron", "--epochs", "3", "--hash-bits", "14", "--tag-folds", "2"]
    files = ["--train", folder / "train.conllu", "--dev", folder / "test.conllu"]
    printed = succeed("train", "parse", *files, "--out", folder / "own.wm", *options)
    assert "upos (11 tags), xpos (14 tags)" in printed
    succeed("train", "parse", *files, "--out", folder / "given.wm", *options, "--tags", "given", "--quiet")
    bracketer.save(folder / "brackets.wm")
    return folder


def columns_in(text, *numbers):
    return [[line.split("\t")[k] for k in numbers] for line in text.splitlines() if "\t" in line]


def test_from_raw_text_to_trees(folder):
    own = folder / "own.wm"
    found = succeed("predict", own, folder / "raw.txt", "--text")
    parser = widemargin.load(own)
    arcs = [[str(arc.head), arc.label] for tree in parser.predict(WORDS) for arc in tree]
    assert columns_in(found, 6, 7) == arcs
    for column, name in ((3, "upos"), (4, "xpos")):
        tags = [[tag] for tags in parser.taggers_[name].predict(WORDS) for tag in tags]
        assert columns_in(found, column) == tags
    # Blank columns are filled in, and the rest of the file is untouched.
    filled = succeed("predict", own, folder / "blank.conllu")
    assert columns_in(filled, 1, 3, 4, 6, 7) == columns_in(found, 1, 3, 4, 6, 7)
    assert columns_in(filled, 0, 1, 2, 5, 8, 9) == columns_in(
        (folder / "test.conllu").read_text(encoding="utf-8"), 0, 1, 2, 5, 8, 9
    )
    kept = succeed("predict", own, folder / "test.conllu", "--tags", "given")
    assert columns_in(kept, 3, 4) == columns_in((folder / "test.conllu").read_text(encoding="utf-8"), 3, 4)


def test_training_tells_of_each_tagger_once_and_of_each_epoch_of_the_parser(folder, tmp_path):
    options = ["--epochs", "2", "--solver", "perceptron", "--hash-bits", "12", "--tag-folds", "2"]
    train = ["train", "parse", "--train", folder / "train.conllu", "--out", tmp_path / "a.wm", *options]
    told = [line for line in run(*train).stderr.splitlines() if not line.startswith("compil")]
    taggers = [f"a tagger for {name}{part}" for name in ("upos", "xpos") for part in ("", ", part 1/2", ", part 2/2")]
    assert told[:7] == [*taggers, "the parser"]
    assert [line.partition("  ")[0] for line in told[7:]] == [
        "the parser, epoch 1/2",
        "the parser, epoch 2/2",
        "the parser, stopped by epochs after 2 epochs",
    ]
    assert run(*train, "--quiet").stderr == ""


def test_predicting_with_taggers_loads_nothing_of_training(folder):
    code = LOADED.replace('.partition(".")[0]', "")
    *_, modules = python(code, "predict", folder / "own.wm", folder / "raw.txt", "--text").splitlines()
    assert "widemargin.tasks.tag.model" in modules.split()
    others = {"sklearn", "matplotlib", "rich", "widemargin.tasks.training", "widemargin.tasks.stacking"}
    assert others.isdisjoint(modules.split())


def test_raw_text_is_drawn_with_its_tags(folder):
    drawn = succeed("predict", folder / "own.wm", "-", "--text", "--draw", "-", stdin="They like some lawyers .\n")
    assert "PRON" in drawn
    assert "nsubj" in drawn


def test_raw_text_is_split_as_treebanks_are(folder):
    own = folder / "own.wm"
    split = succeed("predict", own, "-", "--text", stdin="They don't like lawyers.\n")
    assert [form for (form,) in columns_in(split, 1)] == ["They", "do", "n't", "like", "lawyers", "."]
    assert split == succeed("predict", own, "-", "--text", "--no-split", stdin="They do n't like lawyers .\n")
    whole = succeed("predict", own, "-", "--text", "--no-split", stdin="They don't like lawyers.\n")
    assert [form for (form,) in columns_in(whole, 1)] == ["They", "don't", "like", "lawyers."]
    tagged = succeed("predict", FIXTURES / "tag.wm", "-", "--text", stdin="They don't.\n")
    assert [line.split()[0] for line in tagged.splitlines() if line] == ["They", "don't."]
    assert "give --text" in fail("predict", own, folder / "test.conllu", "--split")


def test_raw_text_to_constituents(folder):
    found = succeed("predict", folder / "brackets.wm", folder / "raw.txt", "--text")
    assert found == "".join(f"{tree}\n" for tree in widemargin.load(folder / "brackets.wm").predict(WORDS))
    assert succeed("predict", folder / "brackets.wm", folder / "blank.conllu") == found
    results = json.loads(succeed("evaluate", folder / "brackets.wm", folder / "test.mrg", "--json"))
    assert results["tags"]["pos"]["accuracy"] > 0.9
    assert results["f1"] == widemargin.load(folder / "brackets.wm").score(columns_of(OTHER.trees), OTHER.trees)


def test_evaluate_says_which_tags_were_used(folder):
    own, given_, test = folder / "own.wm", folder / "given.wm", folder / "test.conllu"
    assert "% right, predicted by the model" in succeed("evaluate", own, test)
    results = json.loads(succeed("evaluate", own, test, "--json"))
    tagger = widemargin.load(own).taggers_["upos"]
    gold = read(test).columns.sequences("upos")
    pairs = [pair for both in zip(tagger.predict(WORDS), gold, strict=True) for pair in zip(*both, strict=True)]
    right = sum(a == b for a, b in pairs) / len(pairs)
    assert results["tags"]["upos"] == {"predicted": True, "accuracy": pytest.approx(right)}
    blank = json.loads(succeed("evaluate", own, folder / "blank.conllu", "--json"))
    assert blank["las"] == results["las"]
    assert blank["tags"]["upos"] == {"predicted": True, "accuracy": None}
    assert "upos, xpos, as given in the data" in succeed("evaluate", own, test, "--tags", "given")
    told = json.loads(succeed("evaluate", given_, test, "--json"))["tags"]
    assert told["xpos"] == {"predicted": False, "accuracy": None}


def test_inspect_shows_the_taggers(folder):
    assert "upos (11 tags), xpos (14 tags)" in succeed("inspect", folder / "own.wm")
    assert "taggers" in json.loads(succeed("inspect", folder / "own.wm", "--json"))["remarks"]
    assert "taggers" not in succeed("inspect", folder / "given.wm")


def test_blank_columns_are_answered_with_one_sentence(folder, tmp_path):
    own, given_, blank = folder / "own.wm", folder / "given.wm", folder / "blank.conllu"
    message = f"the column upos of {blank} is blank, and the model reads it; "
    for command in ("predict", "evaluate"):
        assert fail(command, given_, blank) == message + (
            "fill it in, or train a parser with --tags predicted, which does that itself"
        )
        assert fail(command, own, blank, "--tags", "given") == message + (
            "leave out --tags given, and the model fills it in"
        )
        assert "carries no taggers" in fail(command, given_, blank, "--tags", "predicted")
    train = ["train", "parse", "--train", blank, "--out", tmp_path / "a.wm", "--templates", "head:upos|modifier:upos"]
    for tags in ("predicted", "given"):
        assert fail(*train, "--tags", tags).startswith(message)
    assert fail("predict", given_, folder / "raw.txt", "--text").startswith(f"{folder / 'raw.txt'} has no column")
    assert "--tags is about parsers" in fail("predict", FIXTURES / "tag.wm", blank, "--tags", "given")
    assert not (tmp_path / "a.wm").exists()


def test_only_a_file_without_any_value_is_blank_not_a_piece_of_it(folder, tmp_path, monkeypatch):
    """Where training had blanks, a sentence may be all blank, wherever the file is cut."""
    lines = (folder / "train.conllu").read_text(encoding="utf-8").split("\n\n")
    tagged, blank = lines[:2]
    blank = "\n".join("\t".join([*f[:4], "_", *f[5:]]) for f in (line.split("\t") for line in blank.split("\n")))
    data, model = tmp_path / "some.conllu", tmp_path / "a.wm"
    data.write_text(f"{tagged}\n\n" + 8 * f"{blank}\n\n" + f"{tagged}\n\n", encoding="utf-8")
    options = ["--templates", "head:xpos|modifier:xpos", "--hash-bits", "10", "--epochs", "1", "--quiet"]
    succeed("train", "parse", "--train", data, "--out", model, "--tags", "given", *options)
    whole = succeed("predict", model, data)
    monkeypatch.setattr(pieces, "SIZE", 64)
    assert succeed("predict", model, data) == whole
    data.write_text(f"{blank}\n\n{blank}\n\n", encoding="utf-8")
    assert "the column xpos" in fail("predict", model, data)


# Damaged files; tests/tasks/test_damaged_models.py asks for more


def test_damaged_taggers_are_refused(parser, tmp_path):
    path = tmp_path / "a.wm"
    parser.save(path)
    header, tensors = read_model(path)
    inside = header["taggers"]["upos"]

    def refusal(header=header, tensors=tensors):
        write_model(tmp_path / "b.wm", header, dict(tensors))
        with pytest.raises(ModelFileError) as caught:
            widemargin.load(tmp_path / "b.wm")
        return str(caught.value)

    def with_upos(**changes):
        return {**header, "taggers": {**header["taggers"], "upos": {**inside, **changes}}}

    for name in (each for each in tensors if each.startswith("taggers.")):
        kept = {key: each for key, each in tensors.items() if key != name}
        assert refusal(tensors=kept).endswith(f"it has no tensor {name}")
        if tensors[name].size:
            assert "damaged" in refusal(tensors={**kept, name: tensors[name][:-1]})
    for name in inside:
        missing = {**header, "taggers": {"upos": {key: each for key, each in inside.items() if key != name}}}
        assert refusal(missing).endswith(f"it has no taggers.upos.{name}")
    assert "predicts 'tree', not label sequences" in refusal(with_upos(structure="tree"))
    assert "taggers.upos.labels" in refusal(with_upos(labels=list(range(len(inside["labels"])))))
    assert "which the model does not read" in refusal({**header, "taggers": {"word": inside}})
    assert "which the model does not read" in refusal({**header, "taggers": {"ner": inside}})
    assert "taggers is [], not an object" in refusal({**header, "taggers": []})
    assert "filled" in refusal({**header, "filled": "upos"})
