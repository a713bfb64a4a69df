"""The same data in all forms: lists, files that workers read, bags, pairs of collections, frames."""

from itertools import pairwise

import dask
import dask.bag
import numpy as np
import pandas
import pytest

from helpers.parts import X, Y
from widemargin import Callback, LinearClassifier, load
from widemargin.dask import DaskDependencyParser, DaskLinearClassifier, DaskRanker, Files, Frame, worker
from widemargin.data.treebanks import treebank
from widemargin.errors import DataError
from widemargin.tasks.base import Reading

pytestmark = pytest.mark.filterwarnings("ignore")

QUICK = {"tol": None, "max_epochs": 3}
PARTS = [(X[k::3], Y[k::3]) for k in range(3)]
ROWS = [
    {"sentence": 100 * k + i, "word": word, "tag": label}
    for k, (texts, labels) in enumerate(PARTS)
    for i, pair in enumerate(zip(texts, labels, strict=True))
    for word, label in zip(*pair, strict=True)
]
TABLE = pandas.DataFrame(ROWS)
ENDS = np.cumsum([0, *(sum(map(len, texts)) for texts, _ in PARTS)]).tolist()


class Partitioned:
    """As much of a Dask frame as is needed, made of pandas frames: Dask's own needs pyarrow."""

    def __init__(self, partitions):
        self.columns, self.partitions = partitions[0].columns, partitions

    def to_delayed(self):
        return [dask.delayed(each) for each in self.partitions]


@pytest.fixture(scope="module")
def expected(client):
    from helpers.parts import SETTINGS
    from widemargin.dask import DaskSequenceTagger

    return DaskSequenceTagger(**{**SETTINGS, **QUICK}).fit(X, Y, parts=3)


def same(found, expected):
    np.testing.assert_array_equal(found.solution_.w, expected.solution_.w)


def test_files(tagger, expected, tmp_path):
    for k, (texts, labels) in enumerate(PARTS):
        lines = [
            "".join(f"{pair[0]}\t{pair[1]}\n" for pair in zip(*each, strict=True))
            for each in zip(texts, labels, strict=True)
        ]
        (tmp_path / f"part{k}.tsv").write_text("\n".join(lines), encoding="utf-8")
    pattern = tmp_path / "*.tsv"
    found = tagger(**QUICK).fit(Files(pattern, Reading(format="conll")))
    same(found, expected)
    found.save(tmp_path / "model.wm")
    assert load(tmp_path / "model.wm").model_.about["format"] == "conll"
    assert found.predict(Files(pattern)) == found.predict([text for texts, _ in PARTS for text in texts])
    assert (
        found.evaluate(str(pattern)).results
        == found.to_local()
        .model_.evaluate(
            [text for texts, _ in PARTS for text in texts], [each for _, labels in PARTS for each in labels]
        )
        .results
    )


def lost():
    worker._HOSTS.clear()


class Edited(Callback):
    """After the second round a file is another, and the parts are lost."""

    def __init__(self, client, path, text):
        self.client, self.path, self.text = client, path, text

    def on_epoch(self, epoch):
        if epoch.epoch == 2:
            self.path.write_text(self.text, encoding="utf-8")
            self.client.run(lost)


def test_a_file_that_is_edited_meanwhile_is_a_sentence(client, tagger, tmp_path):
    texts = ["the\tD\ndog\tN\nbarks\tV\n", "a\tD\ncat\tN\nruns\tV\n"]
    first, second = (tmp_path / f"{name}.tsv" for name in "ab")
    files = Files([str(first), str(second)], Reading(format="conll"))
    for changed in (False, True):
        first.write_text(texts[0], encoding="utf-8")
        second.write_text(texts[1], encoding="utf-8")
        edit = Edited(client, second, texts[1].replace("cat\tN", "cat\tD") if changed else texts[1])
        if changed:
            with pytest.raises(DataError, match="part 1 of the data is not what it was when this run began"):
                tagger(**QUICK).fit(files, callbacks=[edit])
        else:
            assert tagger(**QUICK).fit(files, callbacks=[edit]).trained_.rebuilt == 2


def test_a_part_whose_examples_have_no_weight(tagger):
    weight = np.where(np.arange(len(X)) % 3 == 1, 0.0, 1.0)
    found = tagger(max_epochs=200).fit(X, Y, weight, parts=3)
    assert found.solution_.certified
    local = tagger().to_local().fit(X, Y, weight)
    assert found.solution_.dual <= local.solution_.primal
    assert local.solution_.dual <= found.solution_.primal
    with pytest.raises(DataError, match="no example has anything to learn from"):
        tagger().fit(X, Y, 0.0 * weight, parts=2)


def test_files_with_faults(tagger, tmp_path):
    with pytest.raises(DataError, match=r"no file is named like .*none'.*neither here nor on a worker"):
        tagger().fit(str(tmp_path / "*.none"))
    (tmp_path / "a.conllu").write_text(treebank(2, seed=0).conllu(), encoding="utf-8")
    (tmp_path / "b.conllu").write_text("1\tdogs\tdog\tN\tN\t_\t0\troot\t_\t_\n2\tbark\tV\n\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"b\.conllu, line 2: ") as caught:
        tagger().fit(Files(tmp_path / "*.conllu", Reading(label="upos")))
    assert "distributed" not in "".join(str(entry.path) for entry in caught.traceback[1:])


def test_bags(tagger, expected):
    pairs = [pair for each in PARTS for pair in zip(*each, strict=True)]
    same(tagger(**QUICK).fit(dask.bag.from_sequence(pairs, npartitions=3)), expected)
    texts, labels = (dask.bag.from_sequence([pair[k] for pair in pairs], npartitions=3) for k in range(2))
    same(tagger(**QUICK).fit(texts, labels), expected)
    gaps = (
        dask.bag.concat([texts.filter(lambda _: False), texts]),
        dask.bag.concat([labels.filter(lambda _: False), labels]),
    )
    same(tagger(**QUICK).fit(*gaps), expected)  # partitions without examples do not count
    with pytest.raises(DataError, match="must have the same partitions; there are 3, 2"):
        tagger().fit(texts, dask.bag.from_sequence(Y, npartitions=2))
    with pytest.raises(DataError, match="must all be Dask collections"):
        tagger().fit(texts, Y)
    with pytest.raises(DataError, match=r"part 0 of the data: .* must hold pairs"):
        tagger().fit(texts)


def test_frames_with_a_row_per_token(tagger, expected):
    """Sentences may begin in one partition and end in another, or fill several."""
    for cuts in (ENDS, [0, ENDS[1] + 2, ENDS[1] + 3, ENDS[1] + 4, ENDS[2], ENDS[3]]):
        partitions = [TABLE.iloc[a:b] for a, b in pairwise(cuts)]
        frame = Frame(Partitioned(partitions), sequence="sentence", label="tag")
        found = tagger(**QUICK).fit(frame)
        if cuts is ENDS:
            same(found, expected)
        local = found.to_local()
        sentences = [text for texts, _ in PARTS for text in texts]
        assert found.predict(frame) == [label for labels in local.predict(sentences) for label in labels]
        gold = [each for _, labels in PARTS for each in labels]
        assert found.evaluate(frame).results == local.model_.evaluate(sentences, gold).results
    with pytest.raises(DataError, match="the frame has no column 'y'; it has 'sentence', 'word', 'tag'"):
        tagger().fit(Frame(frame.frame, sequence="sentence"))
    blank = TABLE.copy()
    blank.loc[5, "word"] = None
    with pytest.raises(DataError, match="row 5 of the frame has no value in the column 'word'"):
        tagger().fit(Frame(Partitioned([blank]), sequence="sentence", label="tag"))


def test_frames_with_a_row_per_example(client, tagger, expected):
    partitions = [pandas.DataFrame({"X": texts, "y": labels}) for texts, labels in PARTS]
    same(tagger(**QUICK).fit(Partitioned(partitions)), expected)
    texts = Partitioned([each.map(str) for each in partitions])
    with pytest.raises(DataError, match=r"holds texts such as .*not lists; Dask turns lists in frames into texts"):
        tagger().fit(texts)
    rng = np.random.default_rng(0)
    matrix, classes = rng.normal(size=(40, 3)), np.arange(40) % 2
    matrix[:, 0] += 4 * classes
    table = pandas.DataFrame({**{name: matrix[:, k] for k, name in enumerate("abc")}, "kind": classes})
    frame = Partitioned([table.iloc[0::2], table.iloc[1::2]])
    given = {
        "a frame": (Frame(frame, label="kind", columns=["a", "b", "c"]), None),
        "two collections": (Partitioned([each[["a", "b", "c"]] for each in frame.partitions]), Series(frame, "kind")),
        "arrays": (matrix, classes),
    }
    found = {}
    for name, (inputs, outputs) in given.items():
        classifier = DaskLinearClassifier(max_epochs=100, tol=0.02, class_weight="balanced")
        classifier.client = client
        found[name] = classifier.fit(inputs, outputs, parts=2)
    local = LinearClassifier(class_weight="balanced").fit(matrix, classes)
    for classifier in found.values():
        same(classifier, found["arrays"])
        assert classifier.predict(matrix).tolist() == local.predict(matrix).tolist()
    assert found["arrays"].solution_.primal == pytest.approx(local.solution_.primal, rel=0.03)
    assert found["arrays"].evaluate(matrix, classes).results == local.model_.evaluate(matrix, classes).results


class Series:
    """A column of a frame in partitions."""

    def __init__(self, frame, name):
        self.frame, self.name = frame, name

    def to_delayed(self):
        return [dask.delayed(each[self.name]) for each in self.frame.partitions]


def test_frames_of_dask(tagger, expected):
    frames = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    frame = frames.from_pandas(TABLE, npartitions=4, sort=False)
    found = tagger(**QUICK).fit(Frame(frame, sequence="sentence", label="tag"))
    copy = Partitioned([frame.partitions[k].compute() for k in range(frame.npartitions)])
    same(found, tagger(**QUICK).fit(Frame(copy, sequence="sentence", label="tag")))
    with dask.config.set({"dataframe.convert-string": False}):
        parts = [frames.from_pandas(pandas.DataFrame({"X": x, "y": y}), npartitions=1) for x, y in PARTS]
        same(tagger(**QUICK).fit(frames.concat(parts)), expected)


def test_queries_and_columns_are_split(client):
    rng = np.random.default_rng(0)
    matrix, grades = rng.normal(size=(24, 3)), np.tile([1, 0, 0, 2], 6)
    ranker = DaskRanker(measure="pairs", max_epochs=200, tol=0.05)
    ranker.client = client
    ranker.fit(matrix, grades, group=[4] * 6, parts=2)
    local = ranker.to_local()
    assert ranker.predict(matrix, group=[4] * 6).tolist() == local.predict(matrix, group=[4] * 6).tolist()
    queries = np.split(matrix, 6)
    assert [each.tolist() for each in ranker.predict(queries)] == [each.tolist() for each in local.predict(queries)]
    bank = treebank(8, seed=1)
    parser = DaskDependencyParser(hash_bits=12, max_epochs=10, tags="given", n_jobs=1)
    parser.client = client
    parser.fit(bank.columns, bank.arcs, parts=2)
    assert parser.predict(bank.columns) == parser.to_local().predict(bank.columns)
