"""The segmenter: what it learns, what it remembers, and what it refuses."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from widemargin import Segmenter, load
from widemargin.core.model_file import read_model, write_model
from widemargin.data.generators import addresses
from widemargin.errors import DataError, ModelFileError, WidemarginError
from widemargin.metrics import span_scores
from widemargin.tasks.segment.model import SegmentModel
from widemargin.text.columns import Column
from widemargin.text.inputs import as_columns
from widemargin.text.spans import Span, bio, spans

TOKENS, LABELS = addresses(60, seed=1)
SPANS = [spans(labels) for labels in LABELS]
UNSEEN, GOLD = addresses(40, seed=2)
OPTIONS = {"max_epochs": 10, "n_jobs": 1, "templates": ["lower", "shape", "suffix2", "lower[-1]", "lower[1]"]}
CASES = {
    "plain": {},
    "hashed": {"hash_bits": 9},
    "no segment features": {"segment_features": []},
    "lexicons": {"lexicons": {"streets": ["Main Street", "Park Avenue"]}, "clusters": {"c": {"Main": "01"}}},
    "longer": {"max_length": {"street": 9}, "confusion": {("city", "street"): 0.5}, "recall": {"city": 2.0}},
}


@pytest.fixture(scope="module", params=CASES)
def fitted(request):
    return Segmenter(**OPTIONS | CASES[request.param]).fit(TOKENS, SPANS)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A model file with everything a segmenter can have."""
    path = tmp_path_factory.mktemp("segmenter") / "a.wm"
    Segmenter(**OPTIONS | CASES["lexicons"]).fit(TOKENS[:20], SPANS[:20]).save(path)
    return path


def test_segments_are_found(fitted):
    assert fitted.score(UNSEEN, GOLD) > 0.6
    assert fitted.score(UNSEEN, [spans(labels) for labels in GOLD]) == fitted.score(UNSEEN, GOLD)
    found = fitted.predict(UNSEEN)
    assert all(isinstance(span, Span) for each in found for span in each)
    predicted = [bio(each, len(x)) for each, x in zip(found, UNSEEN, strict=True)]
    assert fitted.score(UNSEEN, GOLD) == span_scores(GOLD, predicted).micro.f1
    assert fitted.solution_.certified
    assert "O" in fitted.classes_


def test_no_segment_is_longer_than_any_of_its_label_in_training():
    model = Segmenter(**OPTIONS).fit(TOKENS, SPANS)
    longest = {}
    for span in (span for each in SPANS for span in each):
        longest[span.type] = max(longest.get(span.type, 0), span.end - span.start)
    assert all(span.end - span.start <= longest[span.type] for each in model.predict(UNSEEN) for span in each)


def test_spans_labels_and_columns_train_the_same():
    options = OPTIONS | {"max_epochs": 3}
    w = Segmenter(**options).fit(TOKENS, SPANS).solution_.w
    assert np.array_equal(w, Segmenter(**options).fit(TOKENS, LABELS).solution_.w)
    column = Column.of([label for labels in LABELS for label in labels])
    assert np.array_equal(w, Segmenter(**options).fit(as_columns(TOKENS), column).solution_.w)


def test_saved_and_loaded_models_predict_the_same(fitted, tmp_path):
    path = tmp_path / "a.wm"
    fitted.save(path)
    loaded = load(path)
    X = [*UNSEEN, [], ["Ω"]]
    assert isinstance(loaded, Segmenter)
    assert loaded.predict(X) == fitted.predict(X)
    assert loaded.predict([]) == []
    assert loaded.classes_.tolist() == fitted.classes_.tolist()
    assert loaded.solution_.primal == fitted.solution_.primal
    assert loaded.C == fitted.C
    again = tmp_path / "b.wm"
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_features_without_weight_are_not_saved(fitted):
    compact, model = fitted.model_.compact(), fitted.model_
    assert compact.predict(UNSEEN) == model.predict(UNSEEN)
    if fitted.hash_bits is None:
        used = np.diff(compact.weights.thin_roles.indptr) > 0
        assert used.all()
        assert compact.extractor.n_features == len(used) <= model.extractor.n_features


def test_development_data_choose_the_epoch():
    model = Segmenter(**OPTIONS).fit(TOKENS, SPANS, dev=(UNSEEN, GOLD))
    scores = [row.score for row in model.solution_.trace]
    assert model.score(UNSEEN, GOLD) == max(scores)
    exact = Segmenter(**OPTIONS | {"dev_metric": "sequence_accuracy"}).fit(TOKENS, SPANS, dev=(UNSEEN, GOLD))
    predicted = [bio(each, len(x)) for each, x in zip(exact.predict(UNSEEN), UNSEEN, strict=True)]
    right = np.mean([p == g for p, g in zip(predicted, GOLD, strict=True)])
    assert max(row.score for row in exact.solution_.trace) == pytest.approx(right)


def test_paths_of_c():
    path = Segmenter(**OPTIONS | {"max_epochs": 3}).fit_path(TOKENS, SPANS, C=[0.01, 0.1])
    assert [each.C for each in path] == [0.01, 0.1]
    assert all(each.predict(TOKENS[:1]) for each in path)


@pytest.mark.parametrize("objective", ["approximate-slack", "slack", "positions"])
def test_other_objectives_train_segmenters(objective):
    model = Segmenter(**OPTIONS | {"objective": objective, "max_epochs": 4}).fit(TOKENS[:20], SPANS[:20])
    assert model.score(TOKENS[:20], SPANS[:20]) > 0.5


def test_an_estimator_as_scikit_learn_wants_it():
    model = Segmenter(C=2.0, max_length={"city": 3})
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.predict(UNSEEN)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"max_length": 1}, "max_length allows segments of 1 tokens"),
        ({"segment_features": ["sting"]}, "no segment feature 'sting'"),
        ({"precision": {"moon": 1.0}}, "precision names the label 'moon'"),
        ({"templates": ["transition:lower"]}, "'transition:lower' describes pairs of labels"),
        ({"dev_metric": "bleu"}, "dev_metric must be 'f1', 'accuracy' or 'sequence_accuracy', not 'bleu'"),
    ],
)
def test_wrong_parameters_are_named(options, complaint):
    with pytest.raises(WidemarginError, match=complaint):
        Segmenter(**OPTIONS | options).fit(TOKENS, SPANS, dev=(TOKENS, SPANS))


def test_wrong_data_are_named():
    with pytest.raises(DataError, match="X has 60 sequences, but y has 59"):
        Segmenter().fit(TOKENS, SPANS[:-1])
    with pytest.raises(DataError, match="no token"):
        Segmenter().fit([[]], [[]])


# ------------------------------------------------------------------------------------------------------ model files


def test_models_load_without_scikit_learn(file):
    code = (
        "import sys; from widemargin.tasks.base import load_model; "
        "load_model(sys.argv[1]); print('sklearn' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code, file], encoding="utf-8") == "False\n"


def refused(path):
    with pytest.raises(ModelFileError, match=r"damaged|truncated"):
        load(path)


def test_headers_that_do_not_fit_are_refused(file, tmp_path):
    header, tensors = read_model(file)
    features = header["features"]
    for change in (
        {"labels": header["labels"][:-1]},
        {"labels": list(range(len(header["labels"])))},
        {"max_lengths": header["max_lengths"][:-1]},
        {"max_lengths": [each + 1 for each in header["max_lengths"]]},
        {"max_lengths": [str(each) for each in header["max_lengths"]]},
        {"max_lengths": None},
        {"features": {}},
        {"features": {**features, "segment_features": ["sting"]}},
        {"features": {**features, "segment_features": ["string"]}},
        {"features": {**features, "templates": ["lower", "transition:lower"]}},
        {"summary": {}},
    ):
        write_model(tmp_path / "a.wm", {**header, **change}, tensors)
        refused(tmp_path / "a.wm")


def test_tensors_that_do_not_fit_are_refused(file, tmp_path):
    header, tensors = read_model(file)
    for name, tensor in tensors.items():
        changes = [tensor[:-1], tensor.astype(np.uint8), np.append(tensor, tensor.ravel()[:1])] if len(tensor) else []
        if name.endswith(("indices", "indptr", "lengths")):
            changes.append(tensor + 10**6)
        for changed in changes:
            if changed.dtype == tensor.dtype and np.array_equal(changed, tensor):
                continue
            write_model(tmp_path / "a.wm", header, {**tensors, name: changed})
            if not (name.startswith(("names", "resources")) and changed.dtype == tensor.dtype):
                refused(tmp_path / "a.wm")
        write_model(tmp_path / "a.wm", header, {key: each for key, each in tensors.items() if key != name})
        refused(tmp_path / "a.wm")


def test_truncated_files_are_refused(file, tmp_path):
    content = file.read_bytes()
    for size in (9, len(content) // 2, len(content) - 1):
        (tmp_path / "a.wm").write_bytes(content[:size])
        refused(tmp_path / "a.wm")


def test_models_of_other_structures_are_refused(tmp_path):
    write_model(tmp_path / "a.wm", {"structure": "chain"}, {"weights": np.ones(3)})
    with pytest.raises(ModelFileError, match="predicts 'chain', not segments"):
        SegmentModel.load(tmp_path / "a.wm")
