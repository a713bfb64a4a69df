"""Detects mentions in texts where none are marked: noun phrases, pronouns and possessives.

Detection uses the first of these that the text has: ``parse``, trees of constituents as in CoNLL-2012, split over the
tokens; ``head`` and ``upos``, dependencies as in CoNLL-U; tags alone; words alone. Of noun phrases with the same head,
the longest is taken. Detection rather finds too many mentions, since mentions without links do no harm.
"""

import re
from collections.abc import Iterator, Sequence

from widemargin.text.mentions import DETERMINERS, PRONOUNS, Mentions, parents_of, parts_of_speech

Span = tuple[int, int]

PIECE = re.compile(r"\(([^()*\s]+)|(\*)|\)")
POSSESSIVE = ("'s", "’s", "'", "’")
OUTSIDE = ("case", "cc", "punct", "mark", "cop", "aux", "advcl", "parataxis", "discourse", "dislocated", "reparandum")
"""Relations of dependents that do not belong to the noun phrase of their head."""
NO_PHRASE = ("flat", "fixed", "goeswith", "expl")
"""Relations of nouns and pronouns that have no phrase of their own."""
NOMINAL = ("NOUN", "PROPN", "PRON")
BEFORE_NOUN = ("DET", "ADJ", "NUM", "NOUN", "PROPN")


def detected(document: Mentions) -> list[Span]:
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
