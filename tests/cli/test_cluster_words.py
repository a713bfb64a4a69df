"""`widemargin cluster-words`: the clusters of the library, from files of any kind, for the tagger."""

import json
from pathlib import Path

import pytest

from helpers.command_line import fail, run, succeed, written
from widemargin.data.generators import addresses
from widemargin.files import pieces
from widemargin.files.word_clusters import read_word_clusters
from widemargin.tasks.base import load_model
from widemargin.text.word_clusters import cluster_words

pytestmark = pytest.mark.interpreted

X = addresses(40, 3)[0]


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.txt"
    path.write_text("".join(" ".join(tokens) + "\n" for tokens in X), encoding="utf-8")
    return path


def test_text_and_token_files_in_pieces_give_what_the_library_gives(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "SIZE", 200)
    expected = cluster_words(X, 4, min_count=2)
    out = tmp_path / "out.tsv"
    for format_ in ("conll", "conllu", "jsonl"):
        (tmp_path / f"data.{format_}").write_text(written(format_, 40, 3), encoding="utf-8")
    for given in ([plain, "--text"], *([tmp_path / f"data.{each}"] for each in ("conll", "conllu", "jsonl"))):
        out.unlink(missing_ok=True)
        shown = succeed("cluster-words", *given, "--clusters", 4, "--min-count", 2, "--out", out)
        assert f"4 of {len(expected.paths)} words" in shown
        assert read_word_clusters(out) == expected.paths
    text = plain.read_text(encoding="utf-8")
    about = json.loads(
        succeed("cluster-words", "-", plain, "--text", "--clusters", 4, "--json", "--out", out, stdin=text)
    )
    assert read_word_clusters(out) == cluster_words([*X, *X], 4).paths
    assert about["tokens"] == 2 * sum(map(len, X))
    assert succeed("cluster-words", plain, "--text", "--clusters", 4, "--quiet", "--out", out) == ""


def test_raw_text_can_be_split(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("Dogs bark. Cats don't!\n\n", encoding="utf-8")
    options = ["--text", "--split", "--clusters", 2, "--min-count", 1, "--out", tmp_path / "out"]
    succeed("cluster-words", tmp_path / "raw", *options)
    assert set(read_word_clusters(tmp_path / "out")) == {"Dogs", "bark", ".", "Cats", "do", "n't", "!"}


def test_a_tagger_learns_with_the_clusters(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "train.conll").write_text(written("conll", 40, 3), encoding="utf-8")
    out, model = tmp_path / "brown.tsv", tmp_path / "m.wm"
    succeed("cluster-words", plain, "--text", "--clusters", 8, "--out", out)
    data = ["--train", tmp_path / "train.conll", "--templates", "word column2 cluster(brown,2)", "--epochs", 2]
    succeed("train", "tag", *data, "--clusters", f"brown={out}", "--out", model)
    assert load_model(model).extractor.resources.clusters == {"brown": read_word_clusters(out)}  # type: ignore[attr-defined]


def test_progress_goes_to_standard_error(plain: Path, tmp_path: Path) -> None:
    told = run("cluster-words", plain, "--text", "--clusters", 4, "--out", tmp_path / "out").stderr
    assert told.splitlines()[-1].startswith("100 % of ")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("", "there are {n} different words that occur at least 3 times, too few for 1000 clusters"),
        ("--min-count 1000", "there are no words that occur at least 1000 times"),
        ("--clusters 1", "1 is not in the range x>=2"),
        ("--format conll", "--text is a format of its own"),
        ("no-such-file", "no-such-file cannot be read: No such file or directory"),
        ("/dev/null", "/dev/null holds no tokens"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(plain: Path, tmp_path: Path, options: str, complaint: str) -> None:
    n = len(cluster_words(X, 2).paths)
    said = fail("cluster-words", plain, "--text", *options.split(), "--out", tmp_path / "out")
    assert complaint.format(n=n) in said
    assert not (tmp_path / "out").exists()


def test_files_that_would_be_lost_and_words_that_cannot_be_written(plain: Path, tmp_path: Path) -> None:
    assert "is read by this command" in fail("cluster-words", plain, "--text", "--out", plain)
    assert "--split is about plain text" in fail("cluster-words", plain, "--split", "--out", tmp_path / "out")
    tab = json.dumps({"tokens": ["a\tb", "c"]})
    (tmp_path / "data.jsonl").write_text(tab + "\n", encoding="utf-8")
    options = ["--clusters", 2, "--min-count", 1, "--out", tmp_path / "out"]
    assert "the word 'a\\tb' cannot be written" in fail("cluster-words", tmp_path / "data.jsonl", *options)
