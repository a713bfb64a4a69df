"""Mentions in a text, and their properties from the columns of a treebank.

Only the borders of mentions and the columns word, lemma, upos, feats, head and deprel are read. If a column is missing,
words replace it. Lists of words are English.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from widemargin._types import BoolVector, LongVector
from widemargin.text.coded import Coded

PRONOUNS: dict[str, tuple[str, ...]] = {
    pronoun: tuple(agreement.split(","))
    for agreement, pronouns in {
        "Sing,1,person": "i me my mine myself",
        "Plur,1,person": "we us our ours ourselves",
        ",2,person": "you your yours yourself yourselves",
        "Sing,3,he": "he him his himself",
        "Sing,3,she": "she her hers herself",
        "Sing,3,it": "it its itself this that",
        "Plur,3,": "they them their theirs themselves these those",
        ",3,person": "who whom whose someone everyone",
        ",3,it": "which what one here there then",
    }.items()
    for pronoun in pronouns.split()
}
"""Number, person and gender of English pronouns; "" means any."""
TITLES = {"mr.": "he", "mr": "he", "sir": "he", "mrs.": "she", "mrs": "she", "ms.": "she", "ms": "she", "miss": "she"}
DETERMINERS = {
    **dict.fromkeys(("the",), "definite"),
    **dict.fromkeys(("a", "an", "some", "any", "another"), "indefinite"),
    **dict.fromkeys(("this", "that", "these", "those"), "demonstrative"),
    **dict.fromkeys(("my", "your", "his", "her", "its", "our", "their"), "possessive"),
}
KINDS = {"PRON": "pronoun", "PROPN": "name", "NOUN": "noun", "NUM": "number", "ADJ": "noun"}
XPOS = {"NNP": "PROPN", "NN": "NOUN", "PRP": "PRON", "WP": "PRON", "DT": "DET", "CD": "NUM", "JJ": "ADJ"}
ROLES = ("nsubj", "obj", "iobj", "obl", "nmod", "appos", "conj", "root", "compound")


@dataclass(frozen=True)
class Mentions:
    """A document: its tokens with their columns, and its mentions as spans of tokens [start, end).

    `sentence` is the number of each token's sentence; `columns` has one string per token by name, at least for `word`.
    """

    columns: dict[str, list[str]]
    sentence: LongVector
    spans: list[tuple[int, int]]
    name: str = field(default="", compare=False)

    def __len__(self) -> int:
        return len(self.spans)

    def text(self, number: int) -> str:
        """The words of a mention."""
        start, end = self.spans[number]
        return " ".join(self.columns["word"][start:end])


@dataclass(frozen=True)
class Described:
    """The properties of each mention of a document."""

    start: LongVector
    end: LongVector
    head: LongVector
    sentence: LongVector
    parent: LongVector
    text: Coded
    bare: Coded
    lemma: Coded
    pronoun: Coded
    kind: Coded
    number: Coded
    person: Coded
    gender: Coded
    determiner: Coded
    role: Coded
    initials: Coded
    words: list[frozenset[str]]
    copula: BoolVector


def described(mentions: Mentions) -> Described:
    """The properties of the mentions of a document."""
    columns, spans = mentions.columns, mentions.spans
    lower = [word.lower() for word in columns["word"]]
    n = len(lower)
    lemmas = [lemma.lower() for lemma in columns.get("lemma", lower)]
    upos, feats = parts_of_speech(columns), columns.get("feats") or ["_"] * n
    deprel = [each.partition(":")[0] for each in columns.get("deprel") or ["_"] * n]
    parents = parents_of(columns.get("head"), mentions.sentence)
    heads = [_head(start, end, parents) for start, end in spans]
    pronouns = [lower[head] if upos[head] in ("PRON", "DET") else None for head in heads]
    bare = [_bare(lower[start:end]) for start, end in spans]
    has_copula = np.zeros(n, dtype=bool)
    has_copula[[parent for parent, each in zip(parents, deprel, strict=True) if each == "cop" and parent >= 0]] = True
    agreement = [
        _agreement(start, end, head, lower, upos, feats) for (start, end), head in zip(spans, heads, strict=True)
    ]
    starts = [start for start, _ in spans]
    at = np.array(heads, dtype=np.int64)
    return Described(
        start=np.array(starts, dtype=np.int64),
        end=np.array([end for _, end in spans], dtype=np.int64),
        head=at,
        sentence=mentions.sentence[at],
        parent=np.array(parents, dtype=np.int64)[at],
        text=Coded.of([" ".join(lower[start:end]) for start, end in spans]),
        bare=Coded.of([" ".join(words) or None for words in bare]),
        lemma=Coded.of([lemmas[head] for head in heads]),
        pronoun=Coded.of(pronouns),
        kind=Coded.of(["pronoun" if p else KINDS.get(upos[h], "other") for h, p in zip(heads, pronouns, strict=True)]),
        number=Coded.of([each[0] or None for each in agreement]),
        person=Coded.of([each[1] or None for each in agreement]),
        gender=Coded.of([each[2] or None for each in agreement]),
        determiner=Coded.of([DETERMINERS.get(lower[start], "none") for start in starts]),
        role=Coded.of([deprel[head] if deprel[head] in ROLES else "other" for head in heads]),
        initials=Coded.of([_initials(columns["word"][start:end]) for start, end in spans]),
        words=[frozenset(lemmas[t] for t in range(*span) if upos[t] in KINDS and upos[t] != "PRON") for span in spans],
        copula=has_copula[at],
    )


def parents_of(heads: Sequence[str] | None, sentence: LongVector) -> list[int]:
    """The head of each token, −1 for roots, −2 if unknown; the given heads count from 1 in each sentence."""
    if heads is None:
        return [-2] * len(sentence)
    begins = np.searchsorted(sentence, sentence)
    ends = np.searchsorted(sentence, sentence, "right")
    parents = []
    for head, begin, end in zip(heads, begins.tolist(), ends.tolist(), strict=True):
        number = int(head) if head.isascii() and head.isdecimal() and len(head) < 9 else 0
        parents.append(begin + number - 1 if 0 < number <= end - begin else -1)
    return parents


def _head(start: int, end: int, parents: Sequence[int]) -> int:
    """The first token whose own head is outside the span; without heads, the last token."""
    if parents[start] == -2:
        return end - 1
    return next((t for t in range(start, end) if not start <= parents[t] < end), end - 1)


def parts_of_speech(columns: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Universal tags if the columns have them, else those of English tags, else guesses from the words."""
    words = columns["word"]
    if "upos" in columns:
        return columns["upos"]
    if "xpos" in columns:
        return [next((u for x, u in XPOS.items() if tag.startswith(x)), "X") for tag in columns["xpos"]]
    return [
        "PRON" if word.lower() in PRONOUNS else "DET" if word.lower() in DETERMINERS else _by_case(word)
        for word in words
    ]


def _by_case(word: str) -> str:
    return "PROPN" if word[:1].isupper() else "NUM" if word.isdecimal() else "NOUN" if word.isalpha() else "X"


def _bare(words: list[str]) -> list[str]:
    """The words without a determiner at the beginning and an 's at the end."""
    begin = 1 if len(words) > 1 and words[0] in DETERMINERS else 0
    return words[begin : -1 if len(words) > 1 and words[-1] in ("'s", "’s") else None]


def _agreement(
    start: int, end: int, head: int, lower: Sequence[str], upos: Sequence[str], feats: Sequence[str]
) -> tuple[str, ...]:
    """Number, person and gender, "" if unknown."""
    if lower[head] in PRONOUNS and upos[head] in ("PRON", "DET"):
        return PRONOUNS[lower[head]]
    known = dict(each.partition("=")[::2] for each in feats[head].split("|"))
    number = "Plur" if "and" in lower[start:end] and known.get("Number") == "Sing" else known.get("Number", "")
    gender = next((TITLES[word] for word in lower[start:end] if word in TITLES), known.get("Gender", ""))
    return number, known.get("Person", "3"), gender


def _initials(words: Sequence[str]) -> str | None:
    capitals = [word[0] for word in words if word[:1].isupper()]
    return "".join(capitals).lower() if len(capitals) > 1 else None
