"""Damaged files of rankers: loading, ranking and inspecting either work or say in one sentence what is wrong."""

import json
import math

import numpy as np
import pytest
from safetensors.numpy import save_file

from helpers.models import exercise, places, replaced, without
from helpers.rankings import random_queries
from widemargin import Ranker
from widemargin.core.model_file import ENTRY, read_model
from widemargin.errors import ModelFileError, WidemarginError
from widemargin.tasks.rank.model import RankingModel

ODD = [None, True, -1, 0, 10**30, 0.5, math.nan, "x", [], ["a"], {}]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    X, _, grades = random_queries(3, [6, 5, 4])
    path = tmp_path_factory.mktemp("model") / "a.wm"
    Ranker(measure="ndcg", k=3, normalize=True).fit(X, grades, group=[6, 5, 4]).save(path)
    header, tensors = read_model(path)
    solution = header["summary"]["solution"]
    solution["trace"], solution["rounds"] = solution["trace"][:1], solution["rounds"][:1]
    header["summary"]["parameters"] = {"C": 0.1, "n_jobs": 1}
    return header, dict(tensors), [X[:6], X[6:]]


def outcome(model, path, header=None, tensors=None):
    """None if a copy with these contents does all that it is asked for, or the sentence that says why not."""
    whole_header, whole_tensors, X = model
    tensors = whole_tensors if tensors is None else tensors
    arrays = {name: np.ascontiguousarray(each) for name, each in tensors.items()}
    save_file(arrays, path, {ENTRY: json.dumps(header or whole_header)})
    try:
        exercise(path, X)
    except WidemarginError as error:
        sentence = str(error)
    else:
        return None
    assert "\n" not in sentence
    return sentence


def test_fields_of_other_types(model, tmp_path):
    assert outcome(model, tmp_path / "a.wm") is None
    own = [place for place in places(model[0]) if place and place[0] != "summary"]  # the rest is as in all files
    for place in own:
        for value in ODD:
            outcome(model, tmp_path / "a.wm", replaced(model[0], place, value))
        outcome(model, tmp_path / "a.wm", without(model[0], place))


@pytest.mark.parametrize(
    ("field", "value"),
    [("measure", "mrr"), ("k", 0), ("relevant_from", 31), ("normalize", 1), ("labels", ["a"]), ("features", {})],
)
def test_wrong_fields_are_named(model, tmp_path, field, value):
    sentence = outcome(model, tmp_path / "a.wm", {**model[0], field: value})
    assert f"the model {tmp_path / 'a.wm'}" in sentence
    assert field in sentence


def test_wrong_tensors_are_named(model, tmp_path):
    tensors = model[1]
    for name, wrong in (
        ("weights", tensors["weights"][1:]),
        ("weights", tensors["weights"].astype(np.int64)),
        ("columns", tensors["columns"] + 1000),
        ("columns", tensors["columns"][::-1]),
    ):
        assert name in outcome(model, tmp_path / "a.wm", tensors={**tensors, name: wrong})
    assert "predicts 'classes', not rankings" in refused(model, tmp_path, {**model[0], "structure": "classes"})


def refused(model, folder, header):
    """The sentence with which the class of rankers refuses a file of another kind."""
    path = folder / "b.wm"
    save_file({name: np.ascontiguousarray(each) for name, each in model[1].items()}, path, {ENTRY: json.dumps(header)})
    with pytest.raises(ModelFileError) as caught:
        RankingModel.load(path)
    return str(caught.value)
