"""How well predicted dependency trees agree with the gold ones.

As in eval.pl of the CoNLL-X shared task (Buchholz & Marsi 2006), a token counts for the unlabelled score if its head is
right, for the labelled one if its relation is as well. A share of nothing is 0.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category

from widemargin.errors import DataError
from widemargin.metrics import Score, counted, quotient
from widemargin.text.trees import Arc

ROOT = "root"
ARC_LENGTHS = ((1, "1"), (2, "2"), (6, "3–6"))
FUNCTIONS = frozenset({"aux", "case", "cc", "clf", "cop", "det", "mark", "punct"})
SENTENCE_LENGTHS = ((10, "1–10"), (20, "11–20"), (30, "21–30"), (40, "31–40"))


class Attachment(NamedTuple):
    """Shares of `n_tokens`: of right heads, of right heads with right relations, and of right relations."""

    uas: float
    las: float
    labels: float
    n_tokens: int


class AttachmentScores(NamedTuple):
    """How well heads and relations were found.

    `overall` is over all tokens, `exact` the share of sentences without any mistake. `by_relation` counts an arc as
    found if head and relation are right, `by_length` if the head is; arcs from the root are of the length "root".
    """

    overall: Attachment
    exact: float
    by_relation: dict[str, Score]
    by_length: dict[str, Score]
    by_sentence_length: dict[str, Attachment]


def attachment_scores(
    gold: Sequence[Sequence[Arc]], predicted: Sequence[Sequence[Arc]], words: Sequence[Sequence[str]] | None = None
) -> AttachmentScores:
    """Attachment scores of dependency trees.

    Parameters
    ----------
    gold, predicted
        The arcs of every sentence, one per token.
    words
        The words of every sentence, to leave out those that are punctuation from first to last character; None to
        count all.

    >>> gold, predicted = [[Arc(2, "det"), Arc(0, "root")]], [[Arc(2, "amod"), Arc(0, "root")]]
    >>> attachment_scores(gold, predicted).overall
    Attachment(uas=1.0, las=0.5, labels=0.5, n_tokens=2)
    """
    sentences = list(_pairs(gold, predicted, words))
    pairs = [pair for sentence in sentences for pair in sentence]
    by_size: dict[str, list[_Pair]] = {name: [] for name in _names(SENTENCE_LENGTHS)}
    for arcs, sentence in zip(gold, sentences, strict=True):
        by_size[_bin(len(arcs), SENTENCE_LENGTHS)] += sentence
    lengths = counted(
        Counter(pair.gold_length for pair in pairs if pair.gold.head == pair.predicted.head),
        Counter(pair.length for pair in pairs),
        Counter(pair.gold_length for pair in pairs),
    ).by_label
    return AttachmentScores(
        _attachment(pairs),
        quotient(sum(all(g == p for _, g, p in sentence) for sentence in sentences), len(sentences)),
        counted(
            Counter(g.label for _, g, p in pairs if g == p),
            Counter(p.label for _, _, p in pairs),
            Counter(g.label for _, g, _ in pairs),
        ).by_label,
        {name: lengths[name] for name in (ROOT, *_names(ARC_LENGTHS)) if name in lengths},
        {name: _attachment(each) for name, each in by_size.items() if each},
    )


def content_score(gold: Sequence[Sequence[Arc]], predicted: Sequence[Sequence[Arc]]) -> Score:
    """CLAS (Nivre & Fang 2017): heads with relations of content words, which are all but those in `FUNCTIONS`.

    >>> gold, predicted = [[Arc(2, "det"), Arc(0, "root")]], [[Arc(1, "amod"), Arc(0, "root")]]
    >>> content_score(gold, predicted)
    Score(precision=0.5, recall=1.0, f1=0.6666666666666666, support=1)
    """
    pairs = [(g, p) for sentence in zip(gold, predicted, strict=True) for g, p in zip(*sentence, strict=True)]
    return counted(
        Counter("content" for g, p in pairs if g == p and _is_content(g)),
        Counter("content" for _, p in pairs if _is_content(p)),
        Counter("content" for g, _ in pairs if _is_content(g)),
    ).micro


def _is_content(arc: Arc) -> bool:
    return arc.label.partition(":")[0] not in FUNCTIONS


class _Pair(NamedTuple):
    """The gold and the predicted arc of a token, and its number in the sentence."""

    token: int
    gold: Arc
    predicted: Arc

    @property
    def gold_length(self) -> str:
        return _length(self.token, self.gold.head)

    @property
    def length(self) -> str:
        return _length(self.token, self.predicted.head)


def _pairs(
    gold: Sequence[Sequence[Arc]], predicted: Sequence[Sequence[Arc]], words: Sequence[Sequence[str]] | None
) -> Iterator[list[_Pair]]:
    """The arcs of every sentence that count."""
    if len(gold) != len(predicted) or (words is not None and len(words) != len(gold)):
        raise DataError(f"there are {len(gold)} gold sentences, but not as many predicted ones or lists of words")
    for i, (g, p) in enumerate(zip(gold, predicted, strict=True)):
        forms = [""] * len(g) if words is None else words[i]
        if not len(g) == len(p) == len(forms):
            raise DataError(f"sentence {i + 1} has {len(g)} gold arcs, but not as many predicted ones or words")
        arcs = zip(g, p, forms, strict=True)
        yield [_Pair(t, Arc(*a), Arc(*b)) for t, (a, b, form) in enumerate(arcs, 1) if not _is_punctuation(form)]


def _attachment(pairs: Sequence[_Pair]) -> Attachment:
    n = len(pairs)
    return Attachment(
        quotient(sum(g.head == p.head for _, g, p in pairs), n),
        quotient(sum(g == p for _, g, p in pairs), n),
        quotient(sum(g.label == p.label for _, g, p in pairs), n),
        n,
    )


@lru_cache(maxsize=4096)
def _is_punctuation(word: str) -> bool:
    return bool(word) and all(category(character).startswith("P") for character in word)


def _length(token: int, head: int) -> str:
    return ROOT if head == 0 else _bin(abs(token - head), ARC_LENGTHS)


def _bin(number: int, bins: Sequence[tuple[int, str]]) -> str:
    return next((name for most, name in bins if number <= most), f"{bins[-1][0] + 1}+")


def _names(bins: Sequence[tuple[int, str]]) -> Iterable[str]:
    return [*(name for _, name in bins), f"{bins[-1][0] + 1}+"]
