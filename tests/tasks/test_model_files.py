"""Model files: whatever was trained comes back as it was, and what is no model is refused in one sentence."""

import copy
import json
import math
import mmap
import os
import pickle
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file
from scipy import sparse

import widemargin
from helpers.models import places, replaced
from widemargin import SequenceTagger, StructuredPredictor, load
from widemargin.core import model_file as model
from widemargin.core.model_file import ENTRY, FORMAT, read_model, write_model
from widemargin.data.generators import addresses
from widemargin.errors import ModelFileError, WidemarginError

TOKENS, LABELS = addresses(25, seed=1)
TOKENS[0][0] = "a \ud800 of half a pair"
UNSEEN = [*addresses(20, seed=2)[0], [], ["Ω", "\ud800"]]
RNG = np.random.default_rng(0)


def records(X):
    return [[{"w": word, "length": len(word), "caps": word[:1].isupper()} for word in x] for x in X]


def columns(X):
    return [[{"word": word, "first": word[:1]} for word in x] for x in X]


PROJECTION: dict[str, np.ndarray] = {}


def matrices(X):
    """A random vector for every word; many columns are never used."""
    rows = [[PROJECTION.setdefault(word, RNG.normal(size=12) * (np.arange(12) % 3 > 0)) for word in x] for x in X]
    return [np.array(row).reshape(-1, 12) for row in rows]


def sparse_matrices(X):
    return [sparse.csr_array(np.maximum(matrix, 0.0)) for matrix in matrices(X)]


NUMBER = {label: 7 * i for i, label in enumerate(sorted({label for y in LABELS for label in y}))}
NUMBERS = [[NUMBER[label] for label in y] for y in LABELS]

CASES = {
    "templates": (list, LABELS, {}),
    "a text of templates": (list, LABELS, {"templates": "word lower[-1..1]  # and\nsuffix3|shape"}),
    "extra columns": (columns, LABELS, {"templates": ["first[-1..1]", "lower"]}),
    "min_count": (list, LABELS, {"min_count": 3}),
    "hashed": (list, LABELS, {"hash_bits": 10}),
    "transitions": (list, LABELS, {"templates": ["lower", "transition:shape", "transition:bias"]}),
    "hashed transitions": (list, LABELS, {"templates": ["lower", "transition:shape"], "hash_bits": 6}),
    "resources": (
        list,
        LABELS,
        {
            "templates": ["shape", "lexicon(towns)[-1..1]", "cluster(brown)", "cluster(brown,2)"],
            "lexicons": {"towns": ["Berlin", "New York", "Köln \ud800"]},
            "clusters": {"brown": {"Street": "0110", "München": "111"}},
        },
    ),
    "records": (records, LABELS, {}),
    "hashed records": (records, LABELS, {"hash_bits": 8}),
    "matrices": (matrices, LABELS, {}),
    "sparse matrices": (sparse_matrices, LABELS, {}),
    "whole numbers": (list, NUMBERS, {"templates": "lower"}),
    "one label": (list, [["\ud800"] * len(y) for y in LABELS], {"templates": "lower"}),
    "one label, matrices": (matrices, [[0] * len(y) for y in LABELS], {}),
}
HASHED = {name for name, (_, _, options) in CASES.items() if "hash_bits" in options}


def fitted(name):
    form, y, options = CASES[name]
    return SequenceTagger(**{"max_epochs": 3, "n_jobs": 1, **options}).fit(form(TOKENS), y)


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """The name of a case, its estimator, and sequences to predict."""
    return request.param, fitted(request.param), CASES[request.param][0](UNSEEN)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model file with everything a tagger can have."""
    path = tmp_path_factory.mktemp("model") / "small.model"
    options = CASES["resources"][2]
    templates = ["suffix1", *options["templates"], "transition:bias"]
    X, y = TOKENS[:6], LABELS[:6]
    SequenceTagger(max_epochs=2, n_jobs=1, **{**options, "templates": templates}).fit(X, y).save(path)
    return path


def named_weights(tagger):
    """Every feature that has a weight, by its name, and the weights of the transitions."""
    w, names = tagger.chain.parts(tagger.weights.flat()), tagger.extractor.names()
    emission = {name: row.tolist() for name, row in zip(names, w.emission, strict=False) if row.any()}
    behind = names[len(w.emission) :]
    conditional = {name: part.tolist() for name, part in zip(behind, w.conditional, strict=True) if part.any()}
    return emission, conditional, w.transition.tolist(), w.begin.tolist(), w.end.tolist()


def refusal(path, action=load):
    """The sentence with which a file is refused; nothing but a `ModelFileError` will do."""
    with pytest.raises(ModelFileError) as caught:
        action(path)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert str(path) in sentence or repr(str(path)) in sentence
    return sentence


def test_saved_and_loaded_models_predict_the_same(case, tmp_path):
    name, estimator, X = case
    path = tmp_path / "a.model"
    estimator.save(path)
    loaded = load(path)
    assert loaded.predict(X) == estimator.predict(X)
    assert loaded.classes_.tolist() == estimator.classes_.tolist()
    assert loaded.classes_.dtype == estimator.classes_.dtype
    if name not in HASHED:
        assert named_weights(loaded.tagger_) == named_weights(estimator.tagger_)
    else:
        assert loaded.tagger_.weights.flat().tolist() == estimator.tagger_.weights.flat().tolist()
        assert loaded.tagger_.extractor.n_features == 2 ** CASES[name][2]["hash_bits"]


def test_saving_again_gives_the_same_file(case, tmp_path):
    _, estimator, _ = case
    estimator.save(tmp_path / "a.model")
    load(tmp_path / "a.model").save(tmp_path / "b.model")
    first, second = read_model(tmp_path / "a.model"), read_model(tmp_path / "b.model")
    assert first.header == second.header
    assert {name: each.tolist() for name, each in first.tensors.items()} == {
        name: each.tolist() for name, each in second.tensors.items()
    }


@pytest.mark.parametrize("through", [copy.deepcopy, lambda estimator: pickle.loads(pickle.dumps(estimator))])
def test_pickled_and_copied_estimators_predict_the_same(case, through, tmp_path):
    _, estimator, X = case
    again = through(estimator)
    assert again.predict(X) == estimator.predict(X)
    assert named_weights(again.tagger_) == named_weights(estimator.tagger_)
    estimator.save(tmp_path / "a.model")
    assert through(load(tmp_path / "a.model")).predict(X) == estimator.predict(X)


def test_unused_features_are_dropped(case, tmp_path):
    name, estimator, _ = case
    estimator.save(tmp_path / "a.model")
    tagger, kept = estimator.tagger_, load(tmp_path / "a.model").tagger_
    if name in HASHED:
        assert kept.extractor.names() == tagger.extractor.names()
        return
    emission, conditional, *_ = named_weights(tagger)
    used = {**emission, **conditional}
    assert kept.extractor.names() == [each for each in tagger.extractor.names() if each in used]
    assert kept.extractor.n_features == len(emission)
    if name == "templates":
        assert len(emission) < tagger.extractor.n_features


def test_solution_and_parameters_come_back(tmp_path):
    estimator = SequenceTagger(C=0.5, max_epochs=4, solver="dcd-light", templates=["lower"], random_state=3, n_jobs=1)
    estimator.fit(TOKENS, LABELS, dev=(TOKENS[:5], LABELS[:5])).save(tmp_path / "a.model")
    loaded = load(tmp_path / "a.model")
    assert loaded.get_params() == estimator.get_params()
    before, after = estimator.solution_, loaded.solution_
    assert after.summary() == before.summary()
    assert str(after) == str(before)
    assert len(after.trace) == 4
    assert after.trace == before.trace


def test_solver_objects_are_told_of_in_words(tmp_path):
    from widemargin.solvers import Perceptron

    SequenceTagger(solver=Perceptron(batch_size=2), max_epochs=1).fit(TOKENS, LABELS).save(tmp_path / "a.model")
    assert read_model(tmp_path / "a.model").header["summary"]["solver"] == "Perceptron(batch_size=2)"
    assert load(tmp_path / "a.model").solver == "auto"


def test_loading_a_model_leaves_it_on_the_disk(tmp_path):
    """Tensors are views of the mapped file, not copies."""
    path = tmp_path / "large.model"
    values = np.arange(100_000, dtype=np.float64)
    write_model(path, {"structure": "custom"}, {"weights": values, "more": np.arange(3, dtype=np.int32)})
    tensors = read_model(path).tensors
    for tensor in tensors.values():
        base = tensor
        while isinstance(base.base, np.ndarray):
            base = base.base
        assert isinstance(base.base, memoryview | mmap.mmap)
        assert isinstance(base.base.obj if isinstance(base.base, memoryview) else base.base, mmap.mmap)
    assert tensors["weights"].tolist() == values.tolist()
    loaded = load(saved(tmp_path / "small.model"))
    assert not loaded.tagger_.weights.thin_emission.values.flags.owndata
    assert not loaded.tagger_.weights.transition.flags.owndata


def saved(path):
    fitted("templates").save(path)
    return path


def test_changing_loaded_weights_does_not_change_the_file(tmp_path):
    path = saved(tmp_path / "a.model")
    content = path.read_bytes()
    load(path).tagger_.weights.transition[:] = 1.0
    assert path.read_bytes() == content


def test_saving_over_a_model_in_use(tmp_path):
    path = saved(tmp_path / "a.model")
    loaded = load(path)
    expected = loaded.predict(UNSEEN)
    fitted("records").save(path)
    assert loaded.predict(UNSEEN) == expected
    loaded.save(path)
    assert load(path).predict(UNSEEN) == expected


# What is not a model


def test_truncated_files_are_refused(small, tmp_path):
    content = small.read_bytes()
    size = int.from_bytes(content[:8], "little")
    layout = json.loads(content[8 : 8 + size])
    ends = [
        8 + size + offset
        for name, entry in layout.items()
        if name != "__metadata__"
        for offset in entry["data_offsets"]
    ]
    boundaries = {0, 1, 7, 8, 9, 8 + size // 2, 8 + size, *ends}
    random = np.random.default_rng(0).integers(len(content), size=60).tolist()
    cut = tmp_path / "cut.model"
    for length in sorted({*boundaries, *(end - 1 for end in ends), *random} - {len(content)}):
        cut.write_bytes(content[:length])
        refusal(cut)
    cut.write_bytes(content + b"\0")
    assert "damaged" in refusal(cut)


@settings(max_examples=300)
@given(st.data())
def test_flipped_bytes_of_the_header_are_noticed_or_do_no_harm(small, tmp_path_factory, data):
    content = bytearray(small.read_bytes())
    end = 8 + int.from_bytes(content[:8], "little")
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, end - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "flipped.model"
    path.write_bytes(content)
    with suppress(ModelFileError):
        load(path)


@settings(max_examples=200)
@given(st.data())
def test_changed_headers_are_noticed_or_do_no_harm(small, tmp_path_factory, data):
    """Any value of the header, however deep, replaced by any other."""
    header, tensors = read_model(small)
    place = data.draw(st.sampled_from(list(places(header))))
    changed = replaced(header, place, data.draw(st.sampled_from(ODD)))
    path = tmp_path_factory.getbasetemp() / "changed.model"
    save_file(tensors, path, {ENTRY: json.dumps(changed)})
    with suppress(ModelFileError):
        load(path)


ODD = [None, True, -1, 0, 10**30, 0.5, math.inf, math.nan, "", "x", "prefix1..4", [], [1], ["a"], {}, {"a": 1}]


def test_there_may_be_no_file_at_all(tmp_path):
    assert "cannot be read: No such file or directory" in refusal(tmp_path / "none.model")
    assert "cannot be read: Is a directory" in refusal(tmp_path)
    empty = tmp_path / "empty.model"
    empty.write_bytes(b"")
    assert "is empty" in refusal(empty)
    refusal("a\0b")


@pytest.mark.parametrize(
    "content",
    [
        b"word\tlabel\nthe\tDET\n" * 10,
        b"{}",
        b"\0" * 100,
        b"\xff" * 100,
        b"PK\x03\x04" + bytes(200),
        pickle.dumps({"weights": np.ones(3)}),
        struct.pack("<Q", 2) + b"{]",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 4) + b"{\xff\xfe}",
        struct.pack("<Q", 200_000) + b'{"a":' + b"[" * 199_995,
    ],
)
def test_foreign_files_are_refused(content, tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    assert "is not a widemargin model" in refusal(path)


def test_a_foreign_safetensors_file_is_told_apart(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"weights": np.ones(3)}, path)
    assert "is a safetensors file, but not a widemargin model" in refusal(path)
    save_file({"weights": np.ones(3)}, path, {"other": "{}"})
    assert "is a safetensors file, but not a widemargin model" in refusal(path)


def test_newer_formats_are_refused_with_advice(small, tmp_path):
    header, tensors = read_model(small)
    path = tmp_path / "newer.model"
    newer = {**header, "format": FORMAT + 1, "written_by": "widemargin 99.0"}
    save_file(tensors, path, {ENTRY: json.dumps(newer)})
    sentence = refusal(path)
    assert f"has format {FORMAT + 1}, written by widemargin 99.0" in sentence
    assert "please upgrade" in sentence


@pytest.mark.parametrize(
    "entry", ["", "[]", "7", "null", '"x"', "{}", '{"format": Infinity}', '{"format": "1"}', "[" * 100_000]
)
def test_damaged_headers_are_refused(entry, tmp_path):
    path = tmp_path / "a.model"
    save_file({"weights": np.ones(3)}, path, {ENTRY: entry})
    assert "has a damaged header" in refusal(path)


def rewritten(source, target, change):
    """A copy of a model file whose container's own JSON has been changed."""
    content = source.read_bytes()
    size = int.from_bytes(content[:8], "little")
    layout = json.loads(content[8 : 8 + size])
    change(layout)
    text = json.dumps(layout).encode()
    target.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])
    return target


PLACES = ["weights.transition", "weights.emission.indptr", "weights.emission.indices", "keys", "names.lengths"]


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "F16"},
        {"dtype": "BF16"},
        {"dtype": ["F64"]},
        {"dtype": None},
        {"shape": [1, 2, 3]},
        {"shape": [-1]},
        {"shape": [1]},
        {"shape": "x"},
        {"shape": [10**30]},
        {"shape": [2.0]},
        {"data_offsets": [0, 10**30]},
        {"data_offsets": [-8, 0]},
        {"data_offsets": [8, 0]},
        {"data_offsets": [0]},
        {"data_offsets": [0.0, 8.0]},
        {"data_offsets": [10**12, 10**12 + 8]},
        {"data_offsets": None},
    ],
)
def test_tensors_out_of_place_are_refused(small, tmp_path, name, change):
    path = rewritten(small, tmp_path / "a.model", lambda layout: layout[name].update(change))
    assert "damaged" in refusal(path, read_model)


@pytest.mark.parametrize("entry", [None, 3, "x", [], {}])
def test_tensors_that_are_none_are_refused(small, tmp_path, entry):
    assert "damaged" in refusal(rewritten(small, tmp_path / "a.model", lambda layout: layout.update(keys=entry)))


def test_tensors_that_overlap_are_refused(small, tmp_path):
    """Two tensors of one shape and kind in the same place, even if the rest is in order."""

    def overlap(layout):
        layout["weights.begin"]["data_offsets"] = layout["weights.end"]["data_offsets"]

    assert "one after the other" in refusal(rewritten(small, tmp_path / "a.model", overlap))


KINDS = [np.float64, np.uint64, np.int64, np.int32, np.uint8]


def test_tensors_of_other_kinds_and_shapes_are_refused(small, tmp_path):
    """Files that are sound as containers, but whose tensors are not those of a tagger."""
    header, tensors = read_model(small)
    path = tmp_path / "a.model"
    for name, tensor in tensors.items():
        others = {kind: tensor.astype(kind) for kind in KINDS if kind != tensor.dtype}
        changes = [*others.values(), tensor[None], tensor.reshape(-1, 1), np.append(tensor.ravel(), tensor.ravel()[:1])]
        for changed in [*changes, None]:
            kept = {key: each for key, each in tensors.items() if key != name}
            write_model(path, header, kept if changed is None else {**kept, name: changed})
            if changed is None or changed.shape != tensor.shape or changed.dtype != tensor.dtype:
                assert "damaged" in refusal(path)


def test_indices_out_of_bounds_are_refused(small, tmp_path):
    """Kernels do not look: they would read beyond the arrays."""
    header, tensors = read_model(small)
    path = tmp_path / "a.model"
    n_labels = len(header["labels"])
    for name, value in [
        ("weights.emission.indices", n_labels),
        ("weights.emission.indices", -1),
        ("weights.emission.indptr", -1),
        ("weights.emission.indptr", 10**9),
        ("keys", 0),
    ]:
        changed = tensors[name].copy()
        changed[len(changed) // 2] = value
        write_model(path, header, {**tensors, name: changed})
        assert "damaged" in refusal(path)
    fitted("matrices").save(path)
    header, tensors = read_model(path)
    for value in (-1, 12, 2**31 - 1):
        columns = tensors["columns"].copy()
        columns[0] = value
        write_model(path, header, {**tensors, "columns": columns})
        assert "damaged" in refusal(path)


def test_other_structures_are_refused(tmp_path):
    path = tmp_path / "a.model"
    write_model(path, {"structure": "maze"}, {"weights": np.ones(3)})
    assert "predicts 'maze', which is none of chain" in refusal(path)
    assert "predicts 'maze'" in refusal(path, lambda path: StructuredPredictor.load(path, object()))


def test_nothing_in_a_model_file_is_executed(small, tmp_path):
    """Not even unpickled: the modules that read models know no pickle, and a pickle is not a model."""
    package = Path(widemargin.__file__).parent
    readers = [Path(model.__file__), *package.glob("tasks/**/*.py"), *package.glob("text/*.py")]
    assert len(readers) > 50
    for path in readers:
        text = path.read_text(encoding="utf-8")
        for danger in ("pickle", "eval(", "exec(", "marshal", "np.load", "allow_pickle", "__import__"):
            assert danger not in text, path
    witness = tmp_path / "witness"
    payload = pickle.dumps(Payload(str(witness)))
    path = tmp_path / "a.model"
    path.write_bytes(payload)
    refusal(path)
    header, tensors = read_model(small)
    write_model(path, header, {**tensors, "keys": np.frombuffer(payload, dtype=np.uint8)})
    refusal(path)
    assert not witness.exists()
    with pytest.raises(FileNotFoundError):  # it would have worked
        pickle.loads(pickle.dumps(Payload("/nonexistent/folder/x")))


class Payload:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_reading_a_model_imports_neither_pickle_readers_nor_scikit_learn(small):
    code = (
        "import sys; from widemargin.tasks.tag.model import Tagger; Tagger.load(sys.argv[1]); "
        "print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, small], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "False\n"


# Writing


@pytest.mark.parametrize("place", ["missing/a.model", "file/a.model", "."])
def test_models_that_cannot_be_written(place, tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    estimator = fitted("matrices")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(WidemarginError, match="cannot be written") as caught:
        estimator.save(tmp_path / place)
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("stage", ["write", "sync", "interrupt"])
def test_a_failure_half_way_leaves_the_old_file_alone(stage, tmp_path, monkeypatch):
    from widemargin import _temporary

    path = saved(tmp_path / "a.model")
    content = path.read_bytes()

    def full(*arguments):
        raise KeyboardInterrupt if stage == "interrupt" else OSError(28, "No space left on device")

    if stage == "write":
        opened = _temporary.open_file

        def half_open(*arguments):
            stream = opened(*arguments)
            stream.write(b"half of it")
            stream.close()
            return type("Stream", (), {"write": full, "__enter__": lambda self: self, "__exit__": lambda *_: None})()

        monkeypatch.setattr(_temporary, "open_file", half_open)
    else:
        monkeypatch.setattr(_temporary.os, "fsync", full)
    with pytest.raises(KeyboardInterrupt if stage == "interrupt" else WidemarginError):
        fitted("records").save(path)
    monkeypatch.undo()
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_model_written_to_a_pipe(tmp_path):
    """Whoever reads the other end gets the file; the pipe is not replaced by one."""
    pipe, path = tmp_path / "pipe", tmp_path / "a.model"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: path.write_bytes(pipe.read_bytes()))
    reader.start()
    estimator = fitted("matrices")
    estimator.save(pipe)
    reader.join()
    assert pipe.is_fifo()
    X = matrices(UNSEEN)
    assert load(path).predict(X) == estimator.predict(X)
