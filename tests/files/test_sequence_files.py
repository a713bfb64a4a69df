"""Files of sequences: tables and FASTA, what they hold, and what is wrong with them."""

import re

import pytest

from widemargin.errors import DataError
from widemargin.files import fasta, sequences
from widemargin.files.raw import RawText
from widemargin.text.sequences import Span

YEAST = (
    "#id\tlabel\tchrom\tstart1\tend1\tacs_sites(0-based start:end:strand within seq)\tsequence\n"
    "ARS1\t1\t1\t642\t653\t2:5:+;6:9:-\tTTGTATAACTG\n"
    "# a comment\n"
    "neg1\t-1\t2\t7\t14\t.\tCAACCTA\r\n"
)
FASTA = "; since 1985\n>ARS1 label=1 sites=2:5 found early\nTTGTAT\nAA CTG\n\n>neg1 class=-1\ncaacN\n"


def table(text, **options):
    return sequences.parse(RawText.of(text, "a.tsv"), **options)


def test_tables_with_a_header():
    X, labels, _ = table(YEAST)
    assert list(X.texts) == ["TTGTATAACTG", "CAACCTA"]
    assert list(X.names) == ["ARS1", "neg1"]
    assert labels == ["1", "-1"]
    assert X.sites == [[Span(2, 5, "+"), Span(6, 9, "-")], []]
    assert X.place(1) == "a.tsv, line 4: the sequence 'neg1'"
    assert table(YEAST, label="chrom").labels == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "names", "labels", "texts"),
    [
        ("+,S10,\t\ttacta\n-,S11,gca\n", ["S10", "S11"], ["+", "-"], ["tacta", "gca"]),
        ("0,t,a,c,+\n1,t,g,-,n,-\n", ["0", "1"], ["+", "-"], ["tac", "tg-n"]),
        ("1 ACGT\n# c\n0  AC\n", ["1", "2"], ["1", "0"], ["ACGT", "AC"]),
        ("ACGT\nAC\n", ["1", "2"], [None, None], ["ACGT", "AC"]),
        ("seq,class\nACGT,yes\n", ["1"], ["yes"], ["ACGT"]),
    ],
)
def test_other_tables(text, names, labels, texts):
    data = table(text)
    assert (list(data.sequences.names), data.labels, list(data.sequences.texts)) == (names, labels, texts)


def test_fasta():
    data = fasta.parse(RawText.of(FASTA, "a.fa"))
    assert list(data.sequences.texts) == ["TTGTATAACTG", "caacN"]
    assert data.classes() == ["1", "-1"]
    assert data.sequences.sites == [[Span(2, 5, "+")], []]
    assert fasta.is_fasta(data.raw)
    assert not fasta.is_fasta(RawText.of(YEAST))
    assert fasta.parse(RawText.of(">a kind=x\nAC\n"), label="kind").labels == ["x"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "a.tsv has no sequences"),
        ("#id\tsequence\n", "a.tsv has no sequences"),
        ("id\tsequence\na\n", "a.tsv, line 2: expected 2 columns, found 1: 'a'"),
        ("id\tsequence\na\t\nb\tAC\n", "a.tsv, line 2: the sequence 'a' has no letters"),
        ("sites\tsequence\n2:9:+\tACGT\n", "line 2: '2:9:+' is not a site start:end:strand within 4 letters"),
        ("sites\tsequence\nx\tACGT\n", "line 2: 'x' is not a site start:end:strand within 4 letters"),
        ("a,b,c,d\n", "a.tsv, line 1: expected label, name and sequence, found 4 columns: 'a,b,c,d'"),
        ("id\tsequence\na\tAC GT\n", "a.tsv, line 2: 'AC GT' is not a sequence of letters"),
    ],
)
def test_faults_of_tables(text, complaint):
    with pytest.raises(DataError, match=re.escape(complaint)):
        table(text)


def test_faults_of_labels_and_headers():
    with pytest.raises(DataError, match=re.escape("line 1: there is no column 'kind'; there are 'id', 'label'")):
        table(YEAST, label="kind")
    with pytest.raises(DataError, match="line 1: there is no header that says which column is 'kind'"):
        table("1 ACGT\n", label="kind")
    with pytest.raises(DataError, match=re.escape("a.tsv, line 2: the sequence has no label")):
        table("1 ACGT\nACGT\n").classes()
    with pytest.raises(DataError, match="input, line 1: expected a header that begins with >: 'ACGT'"):
        fasta.parse(RawText.of("ACGT\n>a\n"))
    with pytest.raises(DataError, match="input, line 1: the sequence 'a' has no letters"):
        fasta.parse(RawText.of(">a\n>b\nAC\n"))
