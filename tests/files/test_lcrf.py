"""CRFsuite's model files: the same bytes as CRFsuite writes, and a plain sentence about every other file."""

import random
import struct

import numpy as np
import pycrfsuite
import pytest

from widemargin.errors import ModelFileError, WidemarginError
from widemargin.files.lcrf import ChainFile, Weights, lcrf_bytes, read_lcrf, write_lcrf

pytestmark = pytest.mark.interpreted


def trained(path, labels="ABC", **params):
    """The bytes of a small model that CRFsuite has trained."""
    rng, trainer = random.Random(4), pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params({"max_iterations": 20, **params})
    for _ in range(12):
        y = [rng.choice(labels) for _ in range(rng.randint(1, 6))]
        trainer.append([{f"w{rng.randrange(30)}": 1.0, "é": label, "x": rng.random()} for label in y], y)
    trainer.train(str(path))
    return path.read_bytes()


def weights(rows):
    source, target, weight = zip(*rows, strict=True) if rows else ((), (), ())
    return Weights(np.array(source, np.int32), np.array(target, np.int32), np.array(weight, np.float64))


def named(found, sources, targets):
    """Weights by the names of their sources and targets."""
    return {(sources[a], targets[b]): w for a, b, w in zip(*(part.tolist() for part in found), strict=True)}


SMALL = ChainFile(
    ["O", "N"], ["a", "", "b" * 40, "é"], weights([(0, 0, 1.5), (2, 1, -2.0), (3, 0, 0.5)]), weights([(1, 0, 0.25)])
)


@pytest.mark.parametrize(
    ("labels", "params"),
    [
        ("ABC", {"c1": 0.2}),
        ("ABCDE", {"feature.possible_transitions": 1, "feature.possible_states": 1}),
        (["é", "O", "名"], {"feature.minfreq": 2}),
        ("A", {}),
    ],
)
def test_what_crfsuite_writes_comes_out_the_same(tmp_path, labels, params):
    content = trained(tmp_path / "m", labels, **params)
    file = read_lcrf(content)
    assert lcrf_bytes(file) == content
    tagger = pycrfsuite.Tagger()
    with tagger.open_inmemory(content):
        known, info = tagger.labels(), tagger.info()
    assert file.labels == known
    assert list(file.attributes) == list(info.attributes)
    assert named(file.states, file.attributes, file.labels) == pytest.approx(info.state_features, abs=1e-6)
    assert named(file.transitions, file.labels, file.labels) == pytest.approx(info.transitions, abs=1e-6)


def test_crfsuite_reads_what_is_written(tmp_path):
    path = tmp_path / "m"
    write_lcrf(path, SMALL)
    tagger = pycrfsuite.Tagger()
    with tagger.open(str(path)):
        info = tagger.info()
        assert tagger.tag([["a"], ["b" * 40], ["é"]]) == ["O", "O", "O"]
    assert info.state_features == {("a", "O"): 1.5, ("b" * 40, "N"): -2.0, ("é", "O"): 0.5}
    assert info.transitions == {("N", "O"): 0.25}
    assert info.attributes == {"a": "0", "b" * 40: "1", "é": "2"}, "attributes without weights are left out"


def test_thousands_of_names_are_found_again_by_crfsuite():
    rng = random.Random(1)
    names = list(dict.fromkeys("".join(rng.choices("abcdé名", k=rng.randrange(1, 30))) for _ in range(600)))
    each = np.arange(len(names), dtype=np.int32)
    file = ChainFile(names[:2], names, Weights(each, each % 2, each + 1.0), weights([]))
    content, tagger = lcrf_bytes(file), pycrfsuite.Tagger()
    with tagger.open_inmemory(content):
        assert tagger.tag([[name] for name in names]) == [names[k % 2] for k in each]
    assert list(read_lcrf(content).attributes) == names


def test_order_does_not_matter_to_what_is_written():
    shuffled = SMALL._replace(states=Weights(*(part[::-1] for part in SMALL.states)))
    assert lcrf_bytes(shuffled) == lcrf_bytes(SMALL)
    zeros = SMALL._replace(states=weights([(1, 1, 0.0), *zip(*SMALL.states, strict=True)]))
    assert lcrf_bytes(zeros) == lcrf_bytes(SMALL)


def test_bytes_that_are_not_utf8_survive():
    content = lcrf_bytes(SMALL).replace("é".encode(), b"\xff\xfe")
    file = read_lcrf(content)
    assert list(file.attributes) == ["a", "b" * 40, "\udcff\udcfe"]
    assert read_lcrf(lcrf_bytes(file)).attributes == file.attributes


@pytest.mark.parametrize("empty", [ChainFile([], [], weights([]), weights([])), SMALL._replace(states=weights([]))])
def test_nothing_is_a_file_too(empty):
    file = read_lcrf(lcrf_bytes(empty))
    assert file.labels == empty.labels
    assert list(file.attributes) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ["O", "O"]}, "the labels of a model must be distinct"),
        ({"attributes": ["a", "", "b", "a"]}, "the attributes of a model must be distinct"),
        ({"attributes": ["a", "", "b\0", "c"]}, "has a zero byte"),
        ({"attributes": ["a", "", "\ud800", "c"]}, "has a lone surrogate"),
        ({"states": weights([(4, 0, 1.0)])}, "the states have numbers from 4 to 4, not below 4"),
        ({"transitions": weights([(0, -1, 1.0)])}, "the transitions have numbers from -1 to -1, not below 2"),
        ({"states": weights([(0, 0, np.nan)])}, "the states have weights that are not numbers"),
        ({"states": SMALL.states._replace(weight=np.ones(2))}, "the states have 3 sources, 3 targets and 2 weights"),
    ],
)
def test_what_no_file_can_hold_is_named(change, message):
    with pytest.raises(WidemarginError, match=message):
        lcrf_bytes(SMALL._replace(**change))


def changed(content, at, form, *values):
    """The file with other numbers at a place."""
    mutable = bytearray(content)
    struct.pack_into(form, mutable, at, *values)
    return bytes(mutable)


CONTENT = lcrf_bytes(SMALL)
LABELS = struct.unpack_from("<I", CONTENT, 32)[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not one of CRFsuite's"),
        (b"lCRF", "is truncated: it ends within its header"),
        (b"PK\3\4" + CONTENT[4:], "is not one of CRFsuite's"),
        (CONTENT[:-1], "is truncated: it has"),
        (changed(CONTENT, 12, "<I", 101), "version 101; only b'FOMC' and 100"),
        (changed(CONTENT, 8, "<4s", b"SOMC"), "type b'SOMC'"),
        (changed(CONTENT, 20, "<I", 3), "are not a database of 3 strings"),
        (changed(CONTENT, 28, "<I", 2**32 - 1), "it ends before the features"),
        (changed(CONTENT, 56, "<I", 2**32 - 1), "is not a list of 4,294,967,295 features"),
        (changed(CONTENT, 60, "<I", 7), "features of the kind 7"),
        (changed(CONTENT, 64, "<I", 3), "weights of labels or attributes that it does not have"),
        (changed(CONTENT, 72, "<d", np.inf), "not numbers, or infinite"),
        (changed(CONTENT, LABELS + 20, "<I", 2**32 - 1), "it ends before the 2 numbers"),
        (changed(CONTENT, LABELS + 24 + 2048, "<I", 1), "string 0 of those that begin at byte 140"),
        (changed(CONTENT, LABELS + 28 + 2048, "<I", 2**31), "string 0 of those that begin at byte 140"),
        (changed(CONTENT, LABELS + 32 + 2048, "<B", 0xFF), "are not UTF-8"),
        (changed(CONTENT, LABELS + 32 + 2048, "<B", 0), "string 0 of those that begin at byte 140"),
        (changed(CONTENT, LABELS + 32 + 2048, "<B", ord("N")), "its labels are not distinct"),
    ],
)
def test_damage_is_named(tmp_path, content, message):
    with pytest.raises(ModelFileError, match=message):
        read_lcrf(content)
    (tmp_path / "damaged").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"damaged"):
        read_lcrf(tmp_path / "damaged")


def test_files_that_cannot_be_read_are_named(tmp_path):
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(ModelFileError, match="cannot be read"):
            read_lcrf(path)


def test_any_damage_is_either_harmless_or_named(tmp_path):
    content, rng, refused = trained(tmp_path / "m"), random.Random(0), 0
    for _ in range(400):
        mutable = bytearray(content)
        for _ in range(rng.choice([1, 1, 4, 40])):
            # Bytes of the header and of the first records decide most, so they are changed more often.
            at = rng.randrange(rng.choice([48, 120, len(mutable)]))
            mutable[at] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        if rng.random() < 0.2:
            del mutable[rng.randrange(len(mutable)) :]
        try:
            file = read_lcrf(bytes(mutable))
        except ModelFileError:
            refused += 1
            continue
        if len(set(file.attributes)) == len(file.attributes):
            assert read_lcrf(lcrf_bytes(file)).labels == file.labels
    assert 100 < refused < 400
