"""Files of word clusters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.errors import DataError
from widemargin.files.word_clusters import read_word_clusters, write_word_clusters
from widemargin.text.word_clusters import WordClusters, cluster_words

pytestmark = pytest.mark.interpreted

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n"), min_size=1)


@given(st.dictionaries(words, st.tuples(st.text("01", min_size=1), st.integers(1))))
def test_what_is_written_is_read(tmp_path_factory, clusters):
    path = tmp_path_factory.mktemp("clusters") / "brown.tsv"
    paths, counts = ({word: pair[k] for word, pair in clusters.items()} for k in range(2))
    write_word_clusters(path, WordClusters(paths, counts, 0.0, []))
    assert read_word_clusters(path) == paths


def test_the_usual_format(tmp_path):
    text = ["der Hund bellt", "die Kuh schläft", "der Hund schläft", "die Kuh bellt", "die Kuh"]
    write_word_clusters(tmp_path / "a", cluster_words([line.split() for line in text], 3, min_count=1))
    lines = (tmp_path / "a").read_bytes().decode().split("\n")
    assert lines == ["00\tKuh\t3", "00\tHund\t2", "01\tbellt\t2", "01\tschläft\t2", "1\tdie\t3", "1\tder\t2", ""]


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "a\r", "\ud800"])
def test_a_word_that_is_no_field_is_refused_and_the_file_stays(tmp_path, word):
    (tmp_path / "a").write_text("as it was", encoding="utf-8")
    with pytest.raises(DataError, match=r"the word .* cannot be written"):
        write_word_clusters(tmp_path / "a", WordClusters({"b": "0", word: "1"}, {"b": 2, word: 1}, 0.0, []))
    assert (tmp_path / "a").read_text(encoding="utf-8") == "as it was"


def test_a_malformed_line_is_named(tmp_path):
    (tmp_path / "a").write_text("0\ta\t1\n1\n", encoding="utf-8")
    with pytest.raises(DataError, match="a, line 2: expected 'bits TAB word TAB count' or 'word TAB cluster': '1'"):
        read_word_clusters(tmp_path / "a")
