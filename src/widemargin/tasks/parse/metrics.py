"""How well predicted dependency trees agree with the gold ones.

As in eval.pl of the CoNLL-X shared task (Buchholz & Marsi 2006), the unlabelled score counts tokens with the right
head, the labelled score those with the right head and relation. A share of nothing is 0.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from unicodedata import category

from widemargin.errors import DataError
from widemargin.metrics import Score, counted, quotient
from widemargin.report.evaluation import Evaluation, Table, by_support, plain, score_table
from widemargin.report.numbers import share
from widemargin.text.trees import Arc

ROOT = "root"
ARC_LENGTHS = ((1, "1"), (2, "2"), (6, "3–6"))
FUNCTIONS = frozenset({"aux", "case", "cc", "clf", "cop", "det", "mark", "punct"})
TOKENS, SENTENCES, EXACT, CONTENT = "tokens", "sentences", "exact", ("content right", "content found", "content wanted")
"""The names of counts."""
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
        The words of every sentence, to leave out words that consist of punctuation; None to count all.

    >>> gold, predicted = [[Arc(2, "det"), Arc(0, "root")]], [[Arc(2, "amod"), Arc(0, "root")]]
    >>> attachment_scores(gold, predicted).overall
    Attachment(uas=1.0, las=0.5, labels=0.5, n_tokens=2)
    """
    return scores_of_counts(arc_counts(gold, predicted, words))


def arc_counts(
    gold: Sequence[Sequence[Arc]], predicted: Sequence[Sequence[Arc]], words: Sequence[Sequence[str]] | None = None
) -> Counter[Any]:
    """The numbers of sentences, of faultless sentences and of each kind of `_Token`; such counts can be added."""
    counts: Counter[Any] = Counter()
    for arcs, pairs in zip(gold, _pairs(gold, predicted, words), strict=True):
        counts[SENTENCES] += 1
        counts[EXACT] += all(g == p for _, g, p in pairs)
        size = _bin(len(arcs), SENTENCE_LENGTHS)
        counts.update(
            _Token(size, _length(t, g.head), _length(t, p.head), g.label, p.label, g.head == p.head)
            for t, g, p in pairs
        )
    return counts


def scores_of_counts(counts: Counter[Any]) -> AttachmentScores:
    """Attachment scores from the counts of `arc_counts`."""
    tokens = {token: n for token, n in counts.items() if isinstance(token, _Token)}
    lengths = counted(
        _summed((token.gold_length, n) for token, n in tokens.items() if token.same_head),
        _summed((token.length, n) for token, n in tokens.items()),
        _summed((token.gold_length, n) for token, n in tokens.items()),
    ).by_label
    by_size = {
        name: {token: n for token, n in tokens.items() if token.size == name} for name in _names(SENTENCE_LENGTHS)
    }
    return AttachmentScores(
        _attachment(tokens),
        quotient(counts[EXACT], counts[SENTENCES]),
        counted(
            _summed((token.gold, n) for token, n in tokens.items() if token.is_right),
            _summed((token.predicted, n) for token, n in tokens.items()),
            _summed((token.gold, n) for token, n in tokens.items()),
        ).by_label,
        {name: lengths[name] for name in (ROOT, *_names(ARC_LENGTHS)) if name in lengths},
        {name: _attachment(each) for name, each in by_size.items() if each},
    )


def content_score(gold: Sequence[Sequence[Arc]], predicted: Sequence[Sequence[Arc]]) -> Score:
    """CLAS (Nivre & Fang 2017): right heads with relations of content words, whose relation is not in `FUNCTIONS`.

    >>> gold, predicted = [[Arc(2, "det"), Arc(0, "root")]], [[Arc(1, "amod"), Arc(0, "root")]]
    >>> content_score(gold, predicted)
    Score(precision=0.5, recall=1.0, f1=0.6666666666666666, support=1)
    """
    return content_score_of(content_counts(gold, predicted))


def content_counts(gold: Sequence[Sequence[Arc]], predicted: Sequence[Sequence[Arc]]) -> Counter[Any]:
    """The numbers of content words with the right arc, of predicted ones, and of gold ones."""
    pairs = [(g, p) for sentence in zip(gold, predicted, strict=True) for g, p in zip(*sentence, strict=True)]
    right = sum(g == p and _is_content(g) for g, p in pairs)
    found, wanted = (sum(_is_content(pair[side]) for pair in pairs) for side in (1, 0))
    return Counter(dict(zip(CONTENT, (right, found, wanted), strict=True)))


def content_score_of(counts: Counter[Any]) -> Score:
    """CLAS from the counts of `content_counts`."""
    return counted(*({"content": counts[each]} for each in CONTENT)).micro


def _is_content(arc: Arc) -> bool:
    return arc.label.partition(":")[0] not in FUNCTIONS


def _pairs(
    gold: Sequence[Sequence[Arc]], predicted: Sequence[Sequence[Arc]], words: Sequence[Sequence[str]] | None
) -> Iterator[list[tuple[int, Arc, Arc]]]:
    """For each sentence, its scored tokens: number, gold arc and predicted arc."""
    if len(gold) != len(predicted) or (words is not None and len(words) != len(gold)):
        raise DataError(f"there are {len(gold)} gold sentences, but not as many predicted ones or lists of words")
    for i, (g, p) in enumerate(zip(gold, predicted, strict=True)):
        forms = [""] * len(g) if words is None else words[i]
        if not len(g) == len(p) == len(forms):
            raise DataError(f"sentence {i + 1} has {len(g)} gold arcs, but not as many predicted ones or words")
        arcs = zip(g, p, forms, strict=True)
        yield [(t, Arc(*a), Arc(*b)) for t, (a, b, form) in enumerate(arcs, 1) if not _is_punctuation(form)]


class _Token(NamedTuple):
    """The facts about a token that scores use: bins of lengths, both relations, and whether the heads agree."""

    size: str
    gold_length: str
    length: str
    gold: str
    predicted: str
    same_head: bool

    @property
    def is_right(self) -> bool:
        return self.same_head and self.gold == self.predicted


def _summed(counts: Iterable[tuple[str, int]]) -> Counter[str]:
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


def _bin(number: int, bins: Sequence[tuple[int, str]]) -> str:
    return next((name for most, name in bins if number <= most), f"{bins[-1][0] + 1}+")


def _names(bins: Sequence[tuple[int, str]]) -> Iterable[str]:
    return [*(name for _, name in bins), f"{bins[-1][0] + 1}+"]


def tree_counts(
    gold: Sequence[Sequence[Arc]],
    predicted: Sequence[Sequence[Arc]],
    words: Sequence[Sequence[str]],
    *,
    punctuation: bool = True,
) -> Counter[Any]:
    """The counts that `counted_evaluation` needs; counts of several pieces of data can be added."""
    counts = arc_counts(gold, predicted, None if punctuation else words) + content_counts(gold, predicted)
    counts[TOKENS] = sum(map(len, words))
    return counts


def counted_evaluation(counts: Counter[Any], seconds: dict[str, float]) -> Evaluation:
    """The evaluation that belongs to the counts of `tree_counts`."""
    scores = scores_of_counts(counts)
    of, n_tokens, content = scores.overall, scores.overall.n_tokens, content_score_of(counts)
    results = {
        **_shares(of),
        "clas": content.f1,
        "exact": scores.exact,
        "by_relation": plain(scores.by_relation),
        "by_length": plain(scores.by_length),
        "by_sentence_length": {length: _shares(each) for length, each in scores.by_sentence_length.items()},
    }
    facts = [
        *([("scored", f"{n_tokens:,} tokens, all but punctuation")] if n_tokens < counts[TOKENS] else []),
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
