"""Training out of core: the arrays on disk are those in memory, and so are the weights, bit for bit."""

import json
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import widemargin
from helpers.command_line import fail, run, succeed, written
from widemargin import SequenceTagger
from widemargin.core import mapped
from widemargin.core.mapped import Pages, RowsFile
from widemargin.core.model_file import read_model
from widemargin.core.sparse import Rows
from widemargin.data.generators import addresses
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.files import pieces as cutting
from widemargin.structures.chain import _best, _parts
from widemargin.structures.label_rows import _gather, add_label_scores
from widemargin.tasks import estimators, out_of_core
from widemargin.tasks.out_of_core import Stream, compile_stream
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.training import Data

TEMPLATES = "bias word suffix2[-1..1] lower[-1]|lower"
FAST: dict[str, Any] = {"tol": None, "max_epochs": 2, "n_jobs": 1}
X, Y = addresses(40, seed=1)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Pieces of a few sequences, shares of a few entries, and a folder for temporary files."""
    monkeypatch.setattr(out_of_core, "POSITIONS", 60)
    monkeypatch.setattr(cutting, "SIZE", 400)
    monkeypatch.setattr(mapped, "SHARE", 512)
    monkeypatch.setattr(out_of_core.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def records(sequences: list[list[str]], *, weights: bool) -> list[list[dict[str, Any]]]:
    """Ready-made features, some of which do not weigh 1."""
    return [
        [{"word": word, "last": word[-1:], **({"size": len(word) / 4} if weights else {})} for word in each]
        for each in sequences
    ]


def matrices(sequences: list[list[str]]) -> list[Any]:
    return [np.array([[len(word), word[0] == "1", 0.0] for word in each]) for each in sequences]


# ------------------------------------------------------------------------------------------------ the same weights


@pytest.mark.parametrize(
    ("inputs", "options"),
    [
        (X, {"templates": TEMPLATES}),
        (X, {"templates": TEMPLATES + " transition:lower transition:suffix1[-1]|suffix1", "min_count": 3}),
        (X, {"templates": TEMPLATES, "hash_bits": 8, "class_weight": "balanced"}),
        (X, {"templates": "lower lexicon(road)[-1..1]", "lexicons": {"road": ["street", "main street"]}}),
        (records(X, weights=False), {"min_count": 2}),
        (records(X, weights=True), {"costs": {Y[0][0]: 2.0}}),
        (matrices(X), {}),
    ],
    ids=["templates", "transitions", "hashed", "lexicon", "records", "weighted", "matrices"],
)
def test_weights_are_those_of_training_in_memory(inputs: Any, options: Any, small_pieces: Path) -> None:
    tagger = SequenceTagger(**options, **FAST).fit(inputs, Y)
    streamed = clone(tagger).fit_stream(iter(zip(inputs, Y, strict=True)))
    assert streamed.solution_.w.tobytes() == tagger.solution_.w.tobytes()
    assert streamed.get_feature_names_out().tolist() == tagger.get_feature_names_out().tolist()
    assert streamed.model_.labels == tagger.model_.labels
    assert streamed.solution_.primal == tagger.solution_.primal
    assert streamed.predict(inputs) == tagger.predict(inputs)
    assert not list(small_pieces.iterdir())


words = st.sampled_from(["a", "b", "ab", "Ab", "<s>", "1"])
sentences = st.lists(st.lists(st.tuples(words, st.sampled_from("XYZ")), max_size=4), min_size=1, max_size=8)


@given(
    sentences=sentences.filter(any),
    size=st.integers(1, 6),
    min_count=st.integers(1, 3),
    templates=st.lists(
        st.sampled_from(["bias", "word", "suffix1[-1]", "shape[1]", "word|word[1]", "transition:lower"]),
        min_size=1,
        max_size=3,
    ),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.interpreted
def test_arrays_are_those_in_memory_however_data_are_cut(
    sentences: Any, size: int, min_count: int, templates: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rare features are dropped, the others numbered in the same order, and empty sequences kept."""
    monkeypatch.setattr(out_of_core, "POSITIONS", size)
    inputs = [[word for word, _ in each] for each in sentences]
    labels = [[label for _, label in each] for each in sentences]
    parameters = TaggerParameters(templates=templates, min_count=min_count)
    expected = compile_tags(parameters, Data(inputs, labels))
    found = compile_stream(parameters, Data(Stream(zip(inputs, labels, strict=True)), None))
    assert found.labels == expected.labels
    mine, theirs = found.examples, expected.examples
    assert (mine.indptr.tolist(), mine.gold.tolist()) == (theirs.indptr.tolist(), theirs.gold.tolist())
    for name in ("rows", "transition_rows"):
        one, other = (getattr(each.features, name) for each in (mine, theirs))
        assert [each.tolist() for each in one] == [each.tolist() for each in other]


def test_pages_are_given_back_and_no_kernel_is_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = SequenceTagger(templates=TEMPLATES, **FAST).fit(X, Y)
    compiled = [len(getattr(kernel, "signatures", [])) for kernel in (_best, _parts, add_label_scores, _gather)]
    monkeypatch.setattr(mapped, "MOST_PAGES", -(1 << 60))
    monkeypatch.setattr(mapped, "SECONDS_BETWEEN_LOOKS", 1e-4)
    dropped = []
    monkeypatch.setattr(Pages, "drop", lambda self, portion, drop=Pages.drop: (dropped.append(1), drop(self, portion)))
    streamed = clone(tagger).fit_stream(zip(X, Y, strict=True))
    assert len(dropped) > 2
    assert streamed.solution_.w.tobytes() == tagger.solution_.w.tobytes()
    assert [len(getattr(kernel, "signatures", [])) for kernel in (_best, _parts, add_label_scores, _gather)] == compiled


def test_cuts_are_on_disk_within_their_budget(tmp_path: Path, small_pieces: Path) -> None:
    """The budget is so small that cuts are merged; a run that is saved and resumed is the same."""
    tagger = SequenceTagger(templates=TEMPLATES, cut_memory=0.02, **FAST | {"max_epochs": 4}).fit(X, Y)
    free = clone(tagger).set_params(cut_memory=100).fit(X, Y)
    assert tagger.solution_.w.tobytes() != free.solution_.w.tobytes()
    streamed = clone(tagger).fit_stream(zip(X, Y, strict=True))
    assert streamed.solution_.w.tobytes() == tagger.solution_.w.tobytes()
    for epochs in (2, 4):
        resumed = clone(tagger).set_params(max_epochs=epochs)
        resumed.fit_stream(zip(X, Y, strict=True), checkpoint=tmp_path / "run.wm", resume=True)
    assert resumed.solution_.w.tobytes() == tagger.solution_.w.tobytes()
    assert not list(small_pieces.iterdir())


def test_a_warm_start_keeps_its_cuts_and_can_be_pickled() -> None:
    tagger = SequenceTagger(templates=TEMPLATES, warm_start=True, **FAST).fit_stream(zip(X, Y, strict=True))
    again = pickle.loads(pickle.dumps(tagger)).fit(X, Y)
    assert again.solution_.primal < tagger.solution_.primal


def test_room_on_disk_has_no_name_and_keeps_what_is_written(small_pieces: Path) -> None:
    pages = Pages(small_pieces / "arrays")
    vector = pages.room(5000, np.float64)
    vector[:] = np.arange(5000)
    for portion in range(mapped.PORTIONS):
        pages.drop(portion)
    assert vector.tolist() == list(range(5000))
    assert not list(small_pieces.iterdir())


ENDED_AT_ONCE = """
import os, sys, threading, time
from pathlib import Path
from widemargin._temporary import remove_all, temporary_folder

def end():
    remove_all()
    time.sleep(0.2)
    os._exit(3)

with temporary_folder(Path(sys.argv[1])) as folder:
    (folder / "features.indices").write_bytes(b"123")
    threading.Thread(target=end).start()
    while True:
        (folder / "features.indices").read_bytes()
"""


def test_a_program_that_is_ended_on_the_spot_leaves_no_folder(small_pieces: Path) -> None:
    """Nor does the thread that misses its folder complain."""
    command = [sys.executable, "-c", ENDED_AT_ONCE, str(small_pieces)]
    done = subprocess.run(command, check=False, capture_output=True, timeout=600)
    assert (done.returncode, done.stderr) == (3, b"")
    assert not list(small_pieces.iterdir())


def test_a_likelihood_makes_no_copy_of_all_features() -> None:
    """Its sums are formed batch by batch instead, and so differ in their last bits."""
    parameters = TaggerParameters(templates="lower", solver="crf")
    examples = compile_stream(parameters, Data(Stream(zip(X, Y, strict=True)), None)).examples
    assert Plan.of(parameters).problem(examples).summed is None
    assert Plan.of(parameters).problem(compile_tags(parameters, Data(X, Y)).examples).summed is not None


@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_on_disk_are_renumbered_in_place(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Against lists of pairs; pieces with and without values, entries dropped."""
    numbers = np.array(data.draw(st.lists(st.integers(-1, 4), min_size=5, max_size=5)), dtype=np.int32)
    entry = st.tuples(st.integers(0, 4), st.sampled_from([1.0, 2.0]))
    parts = data.draw(st.lists(st.lists(st.lists(entry, max_size=3), max_size=3), max_size=4))
    folder = tmp_path_factory.mktemp("rows")
    file = RowsFile(folder, "features")
    for part in parts:
        flat = [each for row in part for each in row]
        values = np.array([value for _, value in flat])
        indptr = np.cumsum([0, *map(len, part)])
        file.append(
            Rows(
                indptr,
                np.array([index for index, _ in flat], dtype=np.int32),
                values if (values != 1).any() else values[:0],
            )
        )
    file.renumber(numbers)
    file.drop_ones()
    indptr, indices, values = Pages(folder).rows("features")
    expected = [[(int(numbers[k]), v) for k, v in row if numbers[k] >= 0] for part in parts for row in part]
    weights = values if len(values) else np.ones(len(indices))
    found = [list(zip(indices[a:b].tolist(), weights[a:b].tolist(), strict=True)) for a, b in pairwise(indptr)]
    assert found == expected


# ------------------------------------------------------------------------------------------------ files and caches


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three files of addresses."""
    found = [tmp_path / f"{k}.tsv" for k in range(3)]
    for k, path in enumerate(found):
        path.write_text(written("conll", 12, seed=k), encoding="utf-8")
    return found


def in_memory(files: list[Path], **options: Any) -> SequenceTagger:
    columns = [widemargin.data.read(path).columns for path in files]
    sentences = [each for one in columns for each in one.sequences("word")]
    labels = [each for one in columns for each in one.sequences(one.names[-1])]
    return SequenceTagger(templates=TEMPLATES, **FAST, **options).fit(sentences, labels)


def test_files_are_read_in_pieces(files: list[Path]) -> None:
    expected = in_memory(files, min_count=2)
    for source in (files, str(files[0].parent / "*.tsv")):
        found = clone(expected).fit_stream(source)
        assert found.solution_.w.tobytes() == expected.solution_.w.tobytes()
        assert found.model_.about["sequences"] == 36


def test_a_cache_is_used_again_by_the_same_data_and_features_only(files: list[Path], tmp_path: Path) -> None:
    cache, expected = tmp_path / "cache", in_memory(files)
    read: list[int] = []

    class Read(widemargin.Callback):
        def on_read(self, n_examples: int, megabytes: float) -> None:
            read.append(n_examples)

    def entries(**options: Any) -> int:
        data = Data(Stream(files, cache=cache), None, told=[Read()])
        compile_stream(TaggerParameters(templates=TEMPLATES, **options), data)
        return len(list(cache.iterdir()))

    assert entries() == 1
    assert read[-1] == 36
    read.clear()
    assert entries(C=3.0, costs={}) == 1
    assert read == []
    found = clone(expected).fit_stream(files, cache=cache)
    assert found.solution_.w.tobytes() == expected.solution_.w.tobytes()
    assert entries(min_count=2) == 2
    files[1].write_text(files[1].read_text(encoding="utf-8") + "\nnew\t3\tO\n", encoding="utf-8")
    assert entries() == 3


def test_runs_that_share_a_cache_have_their_own_data(files: list[Path], tmp_path: Path) -> None:
    """Both of pairs, which leave no entry, and of files, whose entries are made, found and damaged at the same time."""
    cache, sources = tmp_path / "cache", [list(zip(*addresses(12, seed=k), strict=True)) for k in range(3)]
    everything: list[Any] = [*sources, *([path] for path in files)]
    estimator = SequenceTagger(templates=TEMPLATES, **FAST)
    expected = [clone(estimator).fit_stream(source).solution_.w.tobytes() for source in everything]

    def same(number: int) -> bool:
        if number % 5 == 0:
            for path in cache.glob("[!.]*/gold"):
                with suppress(OSError):
                    path.unlink()
        found = clone(estimator).fit_stream(everything[number % 6], cache=cache)
        return found.solution_.w.tobytes() == expected[number % 6]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(same, range(36)))
    assert len(list(cache.iterdir())) <= 3


@pytest.mark.parametrize("damage", ["bit", "missing", "header", "version"])
def test_a_damaged_cache_is_told_and_made_anew(
    damage: str, files: list[Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache, expected = tmp_path / "cache", in_memory(files)
    clone(expected).fit_stream(files, cache=cache)
    (entry,) = cache.iterdir()
    path = entry / ("arrays.wm" if damage in ("header", "version") else "features.indices")
    content = path.read_bytes()
    if damage == "bit":
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "missing":
        path.unlink()
    elif damage == "header":
        path.write_bytes(content[:-5])
    else:
        path.write_bytes(content.replace(b'\\"version\\": 2', b'\\"version\\": 9'))
    found = clone(expected).fit_stream(files, cache=cache)
    assert re.search(r"(damaged|another version).*; it is made anew", caplog.text)
    assert found.solution_.w.tobytes() == expected.solution_.w.tobytes()
    assert list(cache.iterdir()) == [entry]
    assert path.read_bytes() == content


def test_errors_name_file_and_line_and_leave_nothing(files: list[Path], tmp_path: Path, small_pieces: Path) -> None:
    lines = files[2].read_text(encoding="utf-8").splitlines()
    place = max(k for k, line in enumerate(lines) if line)
    lines[place] = "only-one-column"
    files[2].write_text("\n".join(lines) + "\n", encoding="utf-8")
    for cache in (None, tmp_path / "cache"):
        with pytest.raises(DataError, match=re.escape(f"{files[2]}, line {place + 1}")):
            SequenceTagger(**FAST).fit_stream(files, cache=cache)
    assert not list(small_pieces.iterdir())
    assert not list((tmp_path / "cache").iterdir())


def stops(error: BaseException) -> Any:
    yield from zip(X, Y, strict=True)
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("gone"), ValueError("bad")])
def test_errors_while_reading_pass_and_leave_nothing(error: BaseException, small_pieces: Path) -> None:
    with pytest.raises(type(error)):
        SequenceTagger(**FAST).fit_stream(stops(error), cache=small_pieces / "cache")
    assert not list((small_pieces / "cache").iterdir())


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        (
            [(["a"], ["X"])] * 61 + [(["a", "b"], ["X"])],
            "in the examples from number 60 on: sequence 1 has 2 positions",
        ),
        ([(["a"], ["X"]), "ab"], "example 1 must be a pair"),
        ([(["a"], ["X"])] * 60 + [(["a"], [1])], "labels must be all strings or all whole numbers"),
        ([([], [])], "there is no labelled position"),
        ([], "there is no labelled position"),
        ("missing.tsv", "missing.tsv cannot be read: there is no such file"),
        (7, "files, or an iterable of pairs"),
    ],
)
def test_bad_data_are_refused(pairs: Any, complaint: str, small_pieces: Path) -> None:
    with pytest.raises(DataError, match=re.escape(complaint)):
        SequenceTagger(templates="word", **FAST).fit_stream(pairs)
    assert not list(small_pieces.iterdir())


def test_what_needs_all_data_in_memory_says_so(tmp_path: Path) -> None:
    for name, kind in estimators().items():
        if not kind.arrays:
            made = kind.estimator()
            estimator = made(structure=None) if "structure" in made._get_param_names() else made()
            able = "SequenceTagger, Segmenter, LinearClassifier, MultilabelClassifier, Ranker"
            with pytest.raises(UnsupportedError, match=f"{name} needs all data in memory; only {able} can learn"):
                estimator.fit_stream("any.tsv")
    with pytest.raises(UnsupportedError, match="known in part only, need all data in memory"):
        SequenceTagger(**FAST).fit_stream([(["a", "b"], ["X", None])])
    path = tmp_path / "a.xml"
    path.write_text("<dataset>" + "<sequence><a>b</a></sequence>\n" * 100 + "</dataset>", encoding="utf-8")
    with pytest.raises(UnsupportedError, match="xml, which cannot be read in pieces"):
        SequenceTagger(**FAST).fit_stream(path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(WidemarginError, match="file/cache cannot be made"):
        SequenceTagger(**FAST).fit_stream([(["a"], ["X"])], cache=tmp_path / "file" / "cache")


# ------------------------------------------------------------------------------------------------ the command line


def test_the_command_line_trains_out_of_core(files: list[Path], tmp_path: Path, small_pieces: Path) -> None:
    options = ["train", "tag", "--templates", TEMPLATES + " column2", "--epochs", "2", "--dev", files[1]]
    whole, streamed = tmp_path / "whole.wm", tmp_path / "streamed.wm"
    succeed(*options, "--train", files[0], "--out", whole)
    for more in (["--out-of-core"], ["--cache", tmp_path / "cache"], ["--cache", tmp_path / "cache"]):
        shown = succeed(*options, "--train", files[0], "--out", streamed, *more)
        assert re.search(r"arrays +\S+ [kMG]?B?.* in .*, (kept|removed)", shown)
        (mine, tensors), (theirs, others) = read_model(streamed), read_model(whole)
        assert mine["summary"]["data"] == theirs["summary"]["data"]
        assert {name: each.tobytes() for name, each in tensors.items()} == {
            name: each.tobytes() for name, each in others.items()
        }
    assert not list(small_pieces.iterdir())
    pattern = files[0].parent / "*.tsv"
    found = json.loads(succeed(*options, "--train", pattern, "--out", streamed, "--out-of-core", "--json"))
    assert (found["sequences"], found["arrays"]["kept"]) == (36, False)
    piped = run(*options, "--train", "-", "--out", streamed, "--out-of-core", stdin=files[0].read_bytes())
    assert piped.exit_code == 0
    assert read_model(streamed).header["summary"]["data"]["sequences"] == 12


def test_the_command_line_refuses_other_tasks(files: list[Path], tmp_path: Path) -> None:
    complaint = fail("train", "parse", "--train", files[0], "--out", tmp_path / "a.wm", "--out-of-core")
    assert "needs all data in memory; only SequenceTagger" in complaint
