"""How well predicted dependency trees agree with the gold ones.

As in eval.pl of the CoNLL-X shared task (Buchholz & Marsi 2006), the unlabelled score counts tokens with the right
head, the labelled score those with the right head and relation. A share of nothing is 0.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple
from unicodedata import category

from widemargin.errors import DataError
from widemargin.metrics import Score, quotient, scores_from_counts
from widemargin.report.evaluation import Evaluation, Table, by_support, plain, score_table
from widemargin.report.text import share
from widemargin.text.trees import Arc

ROOT = "root"
ARC_LENGTHS = ((1, "1"), (2, "2"), (6, "3–6"), (inf, "7+"))
SENTENCE_LENGTHS = ((10, "1–10"), (20, "11–20"), (30, "21–30"), (40, "31–40"), (inf, "41+"))
"""Bins: their largest numbers, and their names."""
FUNCTIONS = frozenset({"aux", "case", "cc", "clf", "cop", "det", "mark", "punct"})
SENTENCES, EXACT = "sentences", "exact"
"""The names of counts."""


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
        The words of every sentence, to leave out words that consist of punctuation; None to count all.

    >>> gold, predicted = [[Arc(2, "det"), Arc(0, "root")]], [[Arc(2, "amod"), Arc(0, "root")]]
    >>> attachment_scores(gold, predicted).overall
    Attachment(uas=1.0, las=0.5, labels=0.5, n_tokens=2)
    """
    return scores_of_counts(arc_counts(gold, predicted, words))


class _Token(NamedTuple):
    """The facts about a token that scores use: bins of lengths, relations, whether heads agree, whether it counts."""

    size: str
    gold_length: str
    length: str
    gold: str
    predicted: str
    same_head: bool
    scored: bool

    @property
    def is_right(self) -> bool:
        return self.same_head and self.gold == self.predicted


def arc_counts(
    gold: Sequence[Sequence[Arc]], predicted: Sequence[Sequence[Arc]], words: Sequence[Sequence[str]] | None = None
) -> Counter[Any]:
    """The numbers of sentences, of faultless sentences and of each kind of `_Token`; such counts can be added.

    If `words` are given, those that consist of punctuation are not scored.
    """
    if len(gold) != len(predicted) or (words is not None and len(words) != len(gold)):
        raise DataError(f"there are {len(gold)} gold sentences, but not as many predicted ones or lists of words")
    counts: Counter[Any] = Counter()
    for i, (g, p) in enumerate(zip(gold, predicted, strict=True)):
        forms = [""] * len(g) if words is None else words[i]
        if not len(g) == len(p) == len(forms):
            raise DataError(f"sentence {i + 1} has {len(g)} gold arcs, but not as many predicted ones or words")
        size = _bin(len(g), SENTENCE_LENGTHS)
        tokens = [
            _Token(size, _length(t, a[0]), _length(t, b[0]), a[1], b[1], a[0] == b[0], not _is_punctuation(form))
            for t, (a, b, form) in enumerate(zip(g, p, forms, strict=True), 1)
        ]
        counts.update(tokens)
        counts[SENTENCES] += 1
        counts[EXACT] += all(token.is_right for token in tokens if token.scored)
    return counts


def scores_of_counts(counts: Counter[Any]) -> AttachmentScores:
    """Attachment scores from the counts of `arc_counts`."""
    tokens = {token: n for token, n in _tokens(counts).items() if token.scored}
    lengths = scores_from_counts(
        _sum_by_name((token.gold_length, n) for token, n in tokens.items() if token.same_head),
        _sum_by_name((token.length, n) for token, n in tokens.items()),
        _sum_by_name((token.gold_length, n) for token, n in tokens.items()),
    ).by_label
    by_size = {name: {token: n for token, n in tokens.items() if token.size == name} for _, name in SENTENCE_LENGTHS}
    return AttachmentScores(
        _attachment(tokens),
        quotient(counts[EXACT], counts[SENTENCES]),
        scores_from_counts(
            _sum_by_name((token.gold, n) for token, n in tokens.items() if token.is_right),
            _sum_by_name((token.predicted, n) for token, n in tokens.items()),
            _sum_by_name((token.gold, n) for token, n in tokens.items()),
        ).by_label,
        {name: lengths[name] for name in (ROOT, *(name for _, name in ARC_LENGTHS)) if name in lengths},
        {name: _attachment(each) for name, each in by_size.items() if each},
    )


def content_score(gold: Sequence[Sequence[Arc]], predicted: Sequence[Sequence[Arc]]) -> Score:
    """CLAS (Nivre & Fang 2017): right heads with relations of content words, whose relation is not in `FUNCTIONS`.

    >>> gold, predicted = [[Arc(2, "det"), Arc(0, "root")]], [[Arc(1, "amod"), Arc(0, "root")]]
    >>> content_score(gold, predicted)
    Score(precision=0.5, recall=1.0, f1=0.6666666666666666, support=1)
    """
    return content_score_of_counts(arc_counts(gold, predicted))


def content_score_of_counts(counts: Counter[Any]) -> Score:
    """CLAS from the counts of `arc_counts`."""
    tokens = _tokens(counts).items()
    right = sum(n for token, n in tokens if token.is_right and _is_content(token.gold))
    found = sum(n for token, n in tokens if _is_content(token.predicted))
    wanted = sum(n for token, n in tokens if _is_content(token.gold))
    return scores_from_counts(*({"content": each} for each in (right, found, wanted))).micro


def _tokens(counts: Counter[Any]) -> dict[_Token, int]:
    return {token: n for token, n in counts.items() if isinstance(token, _Token)}


def _is_content(relation: str) -> bool:
    return relation.partition(":")[0] not in FUNCTIONS


def _sum_by_name(counts: Iterable[tuple[str, int]]) -> Counter[str]:
    total = Counter[str]()
    for name, n in counts:
        total[name] += n
    return total


def _attachment(tokens: Mapping[_Token, int]) -> Attachment:
    n = sum(tokens.values())
    return Attachment(
        quotient(sum(count for token, count in tokens.items() if token.same_head), n),
        quotient(sum(count for token, count in tokens.items() if token.is_right), n),
        quotient(sum(count for token, count in tokens.items() if token.gold == token.predicted), n),
        n,
    )


@lru_cache(maxsize=4096)
def _is_punctuation(word: str) -> bool:
    return bool(word) and all(category(character).startswith("P") for character in word)


def _length(token: int, head: int) -> str:
    return ROOT if head == 0 else _bin(abs(token - head), ARC_LENGTHS)


def _bin(number: int, bins: Sequence[tuple[float, str]]) -> str:
    return next(name for most, name in bins if number <= most)


def counted_evaluation(counts: Counter[Any], seconds: dict[str, float]) -> Evaluation:
    """The evaluation that belongs to the counts of `arc_counts`."""
    scores = scores_of_counts(counts)
    of, n_tokens, n_all = scores.overall, scores.overall.n_tokens, sum(_tokens(counts).values())
    content = content_score_of_counts(counts)
    results = {
        **_shares(of),
        "clas": content.f1,
        "exact": scores.exact,
        "by_relation": plain(scores.by_relation),
        "by_length": plain(scores.by_length),
        "by_sentence_length": {length: _shares(each) for length, each in scores.by_sentence_length.items()},
    }
    facts = [
        *([("scored", f"{n_tokens:,} tokens, all but punctuation")] if n_tokens < n_all else []),
        ("UAS", f"{share(of.uas)} of the heads are right"),
        ("LAS", f"{share(of.las)} of the heads with their relation"),
        ("CLAS", f"{share(content.f1)}, the same of content words"),
        ("relations", share(of.labels)),
        ("trees", f"{share(scores.exact)} all right"),
    ]
    rows = [
        [length, share(each.uas), share(each.las), f"{each.n_tokens:,}"]
        for length, each in scores.by_sentence_length.items()
    ]
    tables = [
        score_table("By relation, with the right head", "relation", by_support(scores.by_relation)),
        score_table("Heads by the length of arcs", "length", scores.by_length),
        Table("By the length of sentences", ["tokens", "UAS", "LAS", "number"], rows),
    ]
    return Evaluation(results, "las", facts, tables, seconds)


def _shares(scores: Attachment) -> dict[str, Any]:
    return {"uas": scores.uas, "las": scores.las, "label_accuracy": scores.labels, "scored_tokens": scores.n_tokens}
