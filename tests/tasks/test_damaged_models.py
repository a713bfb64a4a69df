"""Damaged models of every kind: loading, predicting and inspecting either work or say in one sentence what is wrong."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from safetensors.numpy import save_file

from helpers.models import EXPECTED, FIXTURES, exercise, given_for, inputs_of, places, replaced, value_at, without
from widemargin import SequenceTagger, load
from widemargin.core.header import DEEPEST
from widemargin.core.model_file import ENTRY, read_model
from widemargin.errors import ModelFileError, WidemarginError
from widemargin.tasks.base import load_model

ODD = [None, True, -1, 0, 10**30, 0.5, math.nan, "", "x", "\ud800", [], [1], ["a"], [[]], {}, {"a": 1}]


class Damaged:
    """A fixture, and a file for damaged copies of it."""

    def __init__(self, name, folder):
        self.name, self.path = name, folder / "damaged.wm"
        self.header, self.tensors = read_model(FIXTURES / f"{name}.wm")
        # One row of the trace, and the parameters that prediction reads, say as much as all of them.
        summaries = [each["summary"] for each in (self.header, *self.header.get("taggers", {}).values())]
        for summary in summaries:
            summary["solution"]["trace"] = summary["solution"]["trace"][:1]
            summary["parameters"] = {key: summary["parameters"][key] for key in ("C", "n_jobs")}
        summary = self.header["summary"]
        summary["data"] = {"label": "y", "format": "conll", "columns": ["word", "y"], "tokens": 7}
        if self.header["structure"] in ("chain", "segment", "classes"):
            kinds = {"chain": ["labels", "spans"], "segment": ["spans"], "classes": ["labels"]}
            self.header["calibration"] = {kind: [1.0, 0.5] for kind in kinds[self.header["structure"]]}
        if self.name == "tag-matrix":
            del self.header["calibration"]["spans"]  # its labels are numbers

    def outcome(self, header=None, tensors=None):
        """None if a copy with these contents does all that it is asked for, or the sentence that says why not."""
        header, tensors = header or self.header, self.tensors if tensors is None else tensors
        save_file(
            {key: np.ascontiguousarray(each) for key, each in tensors.items()}, self.path, {ENTRY: json.dumps(header)}
        )
        try:
            exercise(self.path, inputs_of(self.name), **given_for(self.name))
        except WidemarginError as error:
            sentence = str(error)
        else:
            return None
        assert "\n" not in sentence
        assert len(sentence) < 400
        return sentence


@pytest.fixture(params=EXPECTED)
def damaged(request, tmp_path):
    return Damaged(request.param, tmp_path)


def test_a_whole_file_does_all_that_it_is_asked_for(damaged):
    assert damaged.outcome() is None


def worth_damaging(damaged, tmp_path):
    """All fields, but of lists two entries, and of what all models tell about their training one model of a kind."""
    kind = damaged.header["structure"]
    first = next(name for name in EXPECTED if read_model(FIXTURES / f"{name}.wm").header["structure"] == kind)
    common = set() if first == damaged.name else {*places(Damaged(first, tmp_path).header)}
    for place in list(places(damaged.header))[1:]:
        if max((key for key in place if isinstance(key, int)), default=0) < 2 and not (
            place[0] == "summary" and place in common
        ):
            yield place


def test_every_field_of_every_other_type(damaged, tmp_path):
    for place in worth_damaging(damaged, tmp_path):
        for value in ODD:
            damaged.outcome(replaced(damaged.header, place, value))
        damaged.outcome(replaced(damaged.header, place, {"nested": value_at(damaged.header, place)}))
        damaged.outcome(without(damaged.header, place))


def test_fields_that_must_be_there_are_named(damaged):
    wanted = set(damaged.header) - {"format", "written_by", "calibration", "taggers"}
    for name in wanted:
        sentence = damaged.outcome(without(damaged.header, (name,)))
        assert sentence == f"the model {damaged.path} is damaged: it has no {name}"
    sentence = damaged.outcome(replaced(damaged.header, ("summary", "solution", "gap"), "x"))
    assert sentence.endswith("summary.solution.gap is 'x', not a finite number of at least 0")


def others(tensor):
    """The same numbers in other sizes, shapes and kinds, and other numbers."""
    flat = tensor.ravel()
    yield from (flat[:-1], flat[: len(flat) // 2], flat[:0], np.append(flat, flat), tensor[None], tensor.T)
    yield from (tensor.astype(kind) for kind in (np.float64, np.uint64, np.int64, np.int32, np.uint8))
    largest = np.inf if tensor.dtype.kind == "f" else np.iinfo(tensor.dtype).max
    for value in (0, 1, largest, np.nan if tensor.dtype.kind == "f" else np.iinfo(tensor.dtype).min):
        yield np.full_like(tensor, value)
        some = tensor.copy()
        some.reshape(-1)[len(flat) // 2 :][:1] = value
        yield some


def test_every_tensor_of_other_kinds_sizes_and_numbers(damaged):
    for name, tensor in damaged.tensors.items():
        for other in others(tensor):
            damaged.outcome(tensors={**damaged.tensors, name: other})
        kept = {key: each for key, each in damaged.tensors.items() if key != name}
        assert damaged.outcome(tensors=kept).endswith(f"it has no tensor {name}")


def test_tensors_that_changed_places(damaged):
    for one, other in pairwise(damaged.tensors):
        swapped = {one: damaged.tensors[other], other: damaged.tensors[one]}
        damaged.outcome(tensors=damaged.tensors | swapped)


@pytest.mark.parametrize("solver", ["adagrad", "pegasos"])
def test_what_pieces_go_on_from_may_be_damaged_too(solver, tmp_path):
    X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    path, outcomes = tmp_path / "model.wm", set()
    SequenceTagger(solver=solver, templates="lower", n_jobs=1).partial_fit(X, y).save(path)
    header, tensors = read_model(path)

    def learns(header, tensors):
        arrays = {key: np.ascontiguousarray(each) for key, each in tensors.items()}
        save_file(arrays, tmp_path / "damaged.wm", {ENTRY: json.dumps(header)})
        with np.errstate(all="ignore"):
            try:
                load(tmp_path / "damaged.wm").partial_fit(X, y)
            except WidemarginError:
                return False
        return True

    assert learns(header, tensors)
    for place in places(header["online"]):
        for value in (None, True, -1, 10**30, 10**400, math.nan, "x", [1]):
            outcomes.add(learns(replaced(header, ("online", *place), value), tensors))
        if place:
            outcomes.add(learns(without(header, ("online", *place)), tensors))
    for name in [name for name in tensors if name.startswith("online.")]:
        for other in others(tensors[name]):
            outcomes.add(learns(header, {**tensors, name: other}))
        assert not learns(header, {key: each for key, each in tensors.items() if key != name})
    assert outcomes == {True, False}


def test_names_that_are_not_utf8_are_an_error_where_they_are_read(tmp_path):
    damaged = Damaged("tag", tmp_path)
    text = damaged.tensors["names.text"].copy()
    text[3] = 0xFF
    assert "tensor names.text holds" in damaged.outcome(tensors=damaged.tensors | {"names.text": text})
    assert load(damaged.path).predict(inputs_of("tag")) == EXPECTED["tag"]["outputs"]


@pytest.mark.parametrize(
    ("name", "place", "template"),
    [
        ("tag", ("features", "templates"), "lower[-50..49]|word[-50..49]|shape[-50..49]|suffix3[-50..49]"),
        ("tag", ("features", "templates"), "lower[999999999999999999999]"),
        ("tag", ("features", "templates"), "1" * 10**5),
        ("tag", ("features", "templates"), "lower|" * 10**4 + "lower"),
        ("tag", ("features", "templates"), "lexicon(none)"),
        ("segment", ("features", "templates"), "prefix1..99[-50..49]|prefix1..99[-50..49]"),
        ("parse", ("templates", "arc"), "head:word[-50..49]|modifier:word[-50..49]|head:upos[-50..49]"),
        ("bracket", ("templates",), "first:word[-50..49]|last:word[-50..49]|first:pos[-50..49]"),
    ],
)
def test_templates_can_neither_hang_nor_ask_for_all_memory(name, place, template, tmp_path):
    damaged = Damaged(name, tmp_path)
    for templates in ([template], [f"{template}{k}" for k in range(20_000)][: 10**7 // len(template)]):
        sentence = damaged.outcome(replaced(damaged.header, place, templates))
        assert str(damaged.path) in sentence


@pytest.mark.parametrize("name", ["classes", "multilabel"])
def test_the_widest_matrix_costs_nothing(name, tmp_path):
    damaged = Damaged(name, tmp_path)
    assert "rows of 2 features" in damaged.outcome(replaced(damaged.header, ("features", "width"), 2**31 - 1))
    load_model(damaged.path).reporter.warm_up()


def test_own_structures_need_the_number_of_weights_that_they_were_trained_with(tmp_path):
    load(FIXTURES / "custom.wm", **given_for("custom")).save(tmp_path / "a.wm")
    header = read_model(tmp_path / "a.wm").header
    assert header["n_weights"] == 1
    save_file({"weights": np.zeros(0)}, tmp_path / "b.wm", {ENTRY: json.dumps(header)})
    with pytest.raises(ModelFileError, match=r"its tensor weights is float64 of shape \(0,\), not float64 of \(1\)"):
        load_model(tmp_path / "b.wm")
    del header["n_weights"]
    save_file({"weights": np.zeros(0)}, tmp_path / "b.wm", {ENTRY: json.dumps(header)})
    with pytest.raises(ModelFileError, match="has 0 weights, but the structure needs 1"):
        load(tmp_path / "b.wm", **given_for("custom"))


def test_deep_headers_are_refused(tmp_path):
    damaged = Damaged("tag", tmp_path)
    deep = 7
    for _ in range(DEEPEST):
        deep = {"a": deep}
    assert "nests deeper" in damaged.outcome(damaged.header | {"unknown": deep})


def test_tensors_may_begin_anywhere(tmp_path):
    """A writer need not fill up its header, but kernels are compiled for aligned numbers."""
    content = (FIXTURES / "tag.wm").read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    path = tmp_path / "shifted.wm"
    path.write_bytes((end - 8 + 1).to_bytes(8, "little") + content[8:end] + b" " + content[end:])
    assert all(each.flags.aligned for each in read_model(path).tensors.values())
    assert load(path).predict(inputs_of("tag")) == EXPECTED["tag"]["outputs"]
