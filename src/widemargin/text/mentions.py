"""Mentions in a text: their properties from the columns of a treebank, questions about two, and how they are detected.

Only the borders of mentions and the columns word, lemma, upos, feats, head and deprel are read. If a column is missing,
words replace it. Lists of words are English. In questions about two mentions, such as `agrees`, these are numbers in
their document, i before j.

Where no mentions are marked, `detect_mentions` finds noun phrases, pronouns and possessives. It uses the first of these
that the text has: ``parse``, trees of constituents as in CoNLL-2012, split over the tokens; ``head`` and ``upos``,
dependencies as in CoNLL-U; tags alone; words alone. Of noun phrases with the same head, it takes the longest. It finds
too many mentions rather than too few, since mentions without links do no harm.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from widemargin._types import AnyArray, BoolVector, FloatVector, LongVector
from widemargin.text.coded import Coded, common_members

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


def describe_mentions(mentions: Mentions) -> Described:
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


def agrees(d: Described, i: AnyArray, j: AnyArray) -> BoolVector:
    """Whether number, person and gender may agree; unknown ones agree with everything."""
    agree = np.ones(len(i), dtype=bool)
    for each in (d.number, d.person, d.gender):
        agree &= (each.codes[i] == each.codes[j]) | (each.codes[i] < 0) | (each.codes[j] < 0)
    return agree


def overlap(d: Described, i: AnyArray, j: AnyArray) -> tuple[FloatVector, FloatVector, FloatVector]:
    """The number of content words that two mentions share, that the shorter has, and that it has besides its head."""
    common, sizes = common_members(d.words)
    fewer = np.minimum(sizes[i], sizes[j])
    return common[i, j], fewer, fewer - 1


def closest(wanted: BoolVector, i: AnyArray, j: AnyArray) -> BoolVector:
    """The wanted pair with the largest i, for each j."""
    latest = np.full(int(j.max(initial=-1)) + 1, -1)
    np.maximum.at(latest, j[wanted], i[wanted])
    return wanted & (latest[j] == i)


def copular(d: Described, i: AnyArray, j: AnyArray) -> BoolVector:
    """Whether a copula joins them: one is the subject of the other's head, which has a copula."""
    subject = d.role.is_one_of("nsubj")
    one, other = (
        subject[i] & (d.parent[i] == d.head[j]) & d.copula[j],
        subject[j] & (d.parent[j] == d.head[i]) & d.copula[i],
    )
    found: BoolVector = one | other
    return found


def initials_match(d: Described, i: AnyArray, j: AnyArray) -> BoolVector:
    """Whether the text of one is the initials of the other's capitalised words."""
    number = {name: code for code, name in enumerate(d.text.names)}
    spelt = np.array([number.get(name, -1) for name in d.initials.names] + [-1])[d.initials.codes]
    texts = d.text.codes
    found: BoolVector = ((spelt[i] == texts[j]) & (spelt[i] >= 0)) | ((spelt[j] == texts[i]) & (spelt[j] >= 0))
    return found


def classes(begins: LongVector) -> list[str]:
    """Names of the classes of distances that begin at these numbers."""
    ends = [*(begins[1:] - 1).tolist(), None]
    named = [
        f"{a}" if a == b else f"{a}+" if b is None else f"{a}–{b}" for a, b in zip(begins.tolist(), ends, strict=True)
    ]
    return ["0" if begins[0] == 1 else f"<{begins[0]}", *named]


Span = tuple[int, int]

PIECE = re.compile(r"\(([^()*\s]+)|(\*)|\)")
POSSESSIVE = ("'s", "’s", "'", "’")
OUTSIDE = ("case", "cc", "punct", "mark", "cop", "aux", "advcl", "parataxis", "discourse", "dislocated", "reparandum")
"""Relations of dependents that do not belong to the noun phrase of their head."""
NO_PHRASE = ("flat", "fixed", "goeswith", "expl")
"""Relations of nouns and pronouns that have no phrase of their own."""
NOMINAL = ("NOUN", "PROPN", "PRON")
BEFORE_NOUN = ("DET", "ADJ", "NUM", "NOUN", "PROPN")


def detect_mentions(document: Mentions) -> list[Span]:
    """The spans of the detected mentions of a document, in order."""
    columns = document.columns
    if "parse" in columns and any("(" in piece for piece in columns["parse"]):
        found = set(_in_trees(columns["parse"], [word.lower() for word in columns["word"]]))
    elif "head" in columns and "upos" in columns and any(head not in ("_", "0") for head in columns["head"]):
        found = set(_in_dependencies(document))
    else:
        found = set(_in_tags(document))
    return sorted(found, key=lambda span: (span[0], -span[1]))


def _in_trees(pieces: Sequence[str], lower: Sequence[str]) -> Iterator[Span]:
    """Noun phrases of trees in a parse column, the longest of those with the same first token, and pronouns.

    A shorter phrase with the same first token counts, too, if it is a possessor or a member of a list.
    """
    begun: list[tuple[str, int]] = []
    longest: dict[int, int] = {}
    phrases = []
    for token, piece in enumerate(pieces):
        for label, star in PIECE.findall(piece):
            if label:
                begun.append((label, token))
            elif not star and begun:
                name, start = begun.pop()
                if re.split("[-=|]", name)[0] == "NP":
                    phrases.append((start, token + 1))
                    longest[start] = max(longest.get(start, 0), token + 1)
        if lower[token] in PRONOUNS and lower[token] not in DETERMINERS.keys() - _possessives():
            yield token, token + 1
    for start, end in phrases:
        listed = end < len(lower) and lower[end] in (",", "and", "or")
        if end == longest[start] or lower[end - 1] in POSSESSIVE or listed:
            yield start, end


def _possessives() -> set[str]:
    return {word for word, kind in DETERMINERS.items() if kind == "possessive"}


def _in_dependencies(document: Mentions) -> Iterator[Span]:
    """The phrases of nouns, names and pronouns: their dependents, except those that link them to the sentence."""
    columns = document.columns
    parents = parents_of(columns["head"], document.sentence)
    relation = [each.partition(":")[0] for each in columns.get("deprel") or [""] * len(parents)]
    feats = columns.get("feats") or [""] * len(parents)
    children: list[list[int]] = [[] for _ in parents]
    for token, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(token)
    for token, tag in enumerate(columns["upos"]):
        if tag in NOMINAL and relation[token] not in NO_PHRASE and "PronType=Rel" not in feats[token]:
            without = {child for child in children[token] if relation[child] in OUTSIDE}
            listed = [child for child in children[token] if relation[child] == "conj"]
            yield _phrase(token, children, {*without, *listed})
            if listed:
                yield _phrase(token, children, without)


def _phrase(head: int, children: Sequence[Sequence[int]], without: set[int]) -> Span:
    """The gapless span of a head and its descendants, leaving out the tokens `without` and their descendants."""
    inside, waiting = {head}, [child for child in children[head] if child not in without]
    while waiting:
        token = waiting.pop()
        if token not in inside:
            inside.add(token)
            waiting.extend(children[token])
    start = end = head
    while start - 1 in inside:
        start -= 1
    while end + 1 in inside:
        end += 1
    return start, end + 1


def _in_tags(document: Mentions) -> Iterator[Span]:
    """Runs of determiners, adjectives and nouns that end with a noun, and pronouns."""
    words, sentence = document.columns["word"], document.sentence
    tags = list(parts_of_speech(document.columns))
    if "upos" not in document.columns and "xpos" not in document.columns:
        tags = ["X" if tag == "NOUN" else tag for tag in tags]  # words alone make any unknown word a noun
    start: int | None = None
    for token, tag in enumerate(tags):
        if start is not None and (tag not in BEFORE_NOUN or sentence[token] != sentence[token - 1]):
            start = None
        if tag == "PRON" or words[token].lower() in _possessives():
            yield token, token + 1
        elif tag in BEFORE_NOUN:
            start = token if start is None else start
            ends = (
                token + 1 == len(tags) or tags[token + 1] not in BEFORE_NOUN or sentence[token + 1] != sentence[token]
            )
            if ends and tag in ("NOUN", "PROPN"):
                yield start, token + 1
