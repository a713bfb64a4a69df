"""The benchmark after Sarawagi & Gupta (2008): splits, a tagger without edges, and the rules of its claims."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from widemargin.data.generators import addresses

FOLDER = Path(__file__).parents[1] / "benchmarks" / "papers"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def test_splits_share_no_sequence_and_c_is_chosen_without_test_data(module):
    fields = module("fields")
    data = fields.Sequences([[str(i)] for i in range(40)], [["O"]] * 40)
    corpus = fields.random_splits(data, 0.25, 4)
    assert len(corpus.choice) == 3
    for k, (train, test) in enumerate(corpus.splits):
        assert len(train.X) == 10
        assert sorted(train.X + test.X) == sorted(data.X)
        if k < 3:
            inner = corpus.choice[k]
            assert sorted(inner.train.X + inner.test.X) == sorted(train.X)
    assert corpus.splits[0].train.X != corpus.splits[1].train.X


def test_runs_of_fields_are_spans_again(module):
    fields = module("fields")
    labels = ["B-a", "I-a", "B-b", "O", "B-a"]
    assert fields.runs(fields.fields([labels])[0]) == labels


def test_without_edges_labels_do_not_depend_on_their_neighbours(module):
    fields = module("fields")
    X, y = addresses(30)
    options = {"n_jobs": 1, "templates": ["word"], "loss": "hinge", "max_epochs": 3, "tol": None}
    for objective in ("margin", "positions"):
        tagger = fields.EdgelessTagger(objective=objective, **options).fit(X, y)
        assert not any(tagger.transition_features_.values())
        with_edges = fields.SequenceTagger(objective=objective, **options).fit(X, y)
        assert any(with_edges.transition_features_.values())
        assert tagger.solution_.w.any()


def measured(**errors):
    return {
        "runs": [
            {"objective": name, "C": 0.1, "error": error, "f1": 100 - error, "seconds": error, "oracle_calls": 9}
            for name, values in errors.items()
            for error in values
        ]
    }


def test_p_values_are_over_splits_or_over_sequences(module):
    report = module("slacks_report")
    found = measured(margin=[12.0, 11.0, 13.0], slack=[10.0, 9.1, 11.0], positions=[12.0, 11.0, 13.0])
    assert report.p_value(found, "margin", "positions") == 1.0
    assert report.below(found, "slack", "margin", 0.001)
    assert not report.below(found, "margin", "slack", 0.001)
    assert report.reduction(found, "slack", "margin") == pytest.approx(100 * (1 - 30.1 / 36))
    one = {
        "runs": [
            {"objective": name, "error": 1.0, "wrong": wrong}
            for name, wrong in (("a", [1, 2, 3, 4]), ("b", [0, 1, 2, 2]))
        ]
    }
    assert report.p_value(one, "a", "b") == pytest.approx(0.0153, abs=1e-4)


def test_claims_are_computed_from_the_numbers(module):
    paper, report = module("sarawagi_gupta").PAPER, module("slacks_report")
    noise = np.random.default_rng(0).normal(0, 0.1, (4, 10))
    levels = dict(zip(("margin", "slack", "golden-slack", "positions"), (12.0, 10.0, 9.99, 9.0), strict=True))
    found = {}
    for experiment in paper.experiments:
        values = {name: list(level + noise[k]) for k, (name, level) in enumerate(levels.items())}
        values["approximate-slack"] = values["golden-slack"]
        if experiment.name.startswith(("heads", "no-edges")):
            values = {"margin": values["margin"], "positions": values["margin"]}
        found[experiment.name] = measured(**values)
    found["oracle"] = {"labels": {name: k + 1.0 for k, name in enumerate((*report.NAMES, "max-marginals"))}}
    claims = {
        block.says: block.holds
        for section in paper.sections
        for block in section.write({name: found[name] for name in section.needs})
        if hasattr(block, "holds")
    }
    assert len(claims) > 12
    assert claims["PosLearn is better than Margin in sequence labelling, with p < 0.001."]
    assert claims["In dependency parsing PosLearn and Margin hardly differ."]
    assert claims["Without edge features PosLearn is little or no better than Margin."]
    assert not claims["PosLearn trains up to five times as fast as Margin."]
    assert not claims["PosLearn's violators are found faster than Slack's."]
