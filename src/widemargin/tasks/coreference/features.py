"""Features of links by templates, hashed (`text.roles`), after the surface features of Durrett & Klein (2013).

The roles are ``mention`` and ``antecedent``, and their columns are attributes of mentions:

    head, word          the lemma of the head, and the head as it is written
    string, bare        all words in lower case, and those without a determiner
    first, last         the first and the last word; before, after: the words around the mention
    length              how many words it has: 1 … 5, 6+
    kind                pronoun, name, noun, number or other; type: the pronoun itself, or else the kind
    determiner, role    definite, indefinite, …; the grammatical role of the head
    number, person, gender, animacy    from the columns of the text, or from English pronouns

Measures compare a mention with its antecedent; each has a short list of values:

    sentences, mentions     how far apart they are
    string, bare, head      whether the words, the words without determiner, the lemmas of the heads are the same
    words                   whether the shorter one shares no, some or all of its content words with the other
    number, person, gender  the same, different, or unknown
    agreement               whether none of these three is different
    relation                nested, in apposition, or joined by a copula
    initials                whether one is the initials of the other
    closest                 whether no closer mention has the same head, or agrees with a pronoun

As in the paper, features count alone, with the type of the mention, and with the types of both. A template of the
mention alone scores whether it has any antecedent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from widemargin._types import AnyArray, IntMatrix, IntVector, LongVector
from widemargin.core.checks import check_memory
from widemargin.core.sparse import boundaries
from widemargin.errors import DataError, UnsupportedError
from widemargin.tasks.clusters import check_list
from widemargin.tasks.coreference.examples import LinkKeys, Links, link_boundaries
from widemargin.text import KEY_BITS
from widemargin.text.coded import Coded, same
from widemargin.text.columns import Column, Columns
from widemargin.text.mentions import (
    Described,
    Mentions,
    agrees,
    classes,
    closest,
    copular,
    describe_mentions,
    initials_match,
    overlap,
)
from widemargin.text.roles import RoleHasher, RoleTemplate, measure_keys, parse_role_templates

ROLES = ("mention", "antecedent")
TYPED = ("", "|mention:type", "|mention:type|antecedent:type")
LONGEST = 6
PER_PAIR = 150
"""The approximate number of bytes to measure a pair of mentions."""

OF_MENTION = ("bias", "type", "head", "string", "first", "last", "before", "after", "length", "determiner", "role")
OF_ANTECEDENT = ("head", "first", "last", "before", "after", "length", "determiner", "role", "number", "gender")
TOGETHER = (
    *("sentences", "mentions", "string", "bare", "head", "words", "number", "person", "gender", "agreement"),
    *("relation", "initials", "closest"),
    *("bare|sentences", "head|sentences", "head|words", "agreement|sentences", "agreement|mentions"),
)
OF_BOTH = ("head", "string", "first", "role", "determiner", "length", "number", "gender", "animacy")

SENTENCES, MENTIONS = np.array([1, 2, 3, 4, 5, 9, 17]), np.array([2, 3, 4, 5, 9, 17, 33, 65, 129])
"""The bins of distances: each begins with one of these numbers; the first bin is 0 sentences, or 1 mention."""
SAME, KNOWN, YES = ("other", "same"), ("unknown", "other", "same"), ("no", "yes")

MEASURES: dict[str, tuple[str, ...]] = {
    "sentences": tuple(classes(SENTENCES)),
    "mentions": ("1", *classes(MENTIONS)[1:]),
    "string": SAME,
    "bare": SAME,
    "head": SAME,
    "words": ("none", "some", "all"),
    "number": KNOWN,
    "person": KNOWN,
    "gender": KNOWN,
    "agreement": YES,
    "relation": ("none", "inside", "apposition", "copula"),
    "initials": YES,
    "closest": ("no", "head", "agreement"),
}
"""The values of each measure."""

MOST_COMBINATIONS = np.iinfo(np.int16).max
"""Rows of combinations are numbered by int16, because there are many pairs."""

DEFAULT_TEMPLATES: tuple[str, ...] = (
    *(f"mention:{each}" for each in OF_MENTION),
    *(f"mention:{each}|mention:type" for each in OF_MENTION[2:]),
    *(f"antecedent:{each}{typed}" for each in OF_ANTECEDENT for typed in TYPED[1:]),
    *(f"{each}{typed}" for each in TOGETHER for typed in TYPED),
    *(f"mention:{each}|antecedent:{each}" for each in OF_BOTH),
    "mention:type|antecedent:type",
    "mention:type|antecedent:head|head",
    "mention:head|antecedent:type|sentences",
)
"""The default templates of links."""


def parse_link_templates(templates: str | Sequence[str]) -> tuple[RoleTemplate, ...]:
    """Templates from their texts."""
    return parse_role_templates(templates, ROLES, list(MEASURES))


@dataclass(frozen=True)
class LinkExtractor:
    """Turns documents of mentions into links.

    Parameters
    ----------
    templates : texts of templates
    hash_bits : features share a table of 2^hash_bits weights
    max_antecedents : the number of mentions before each, the closest ones, that may be its antecedent; None for all
    """

    templates: tuple[str, ...] = DEFAULT_TEMPLATES
    hash_bits: int = 20
    max_antecedents: int | None = None

    @cached_property
    def alone(self) -> tuple[RoleTemplate, ...]:
        """The templates of the mention alone."""
        return tuple(each for each in self._templates if set(each.roles) == {"mention"} and not each.measures)

    @cached_property
    def groups(self) -> dict[tuple[str, ...], list[RoleTemplate]]:
        """All other templates by their measures."""
        found: dict[tuple[str, ...], list[RoleTemplate]] = {}
        for each in self._templates:
            if each not in self.alone:
                found.setdefault(each.measures, []).append(each)
        return found

    @cached_property
    def in_order(self) -> list[RoleTemplate]:
        """All templates in the order of the features of a link: those of the mention first."""
        return [*self.alone, *(template for group in self.groups.values() for template in group)]

    @cached_property
    def _templates(self) -> tuple[RoleTemplate, ...]:
        return parse_link_templates(self.templates)

    def links(self, X: Sequence[Any]) -> Links:
        """The links of all documents."""
        check_documents(X)
        looked_at = [describe_mentions(document) for document in X]
        sizes = boundaries(map(len, X))
        pairs = link_boundaries(np.diff(sizes), self.max_antecedents)
        self._check_memory(np.diff(sizes), np.diff(pairs[sizes]))
        columns = mention_columns(X, looked_at)
        templates = self.in_order[len(self.alone) :]
        mask = (1 << self.hash_bits) - 1
        mention, antecedent = RoleHasher(templates, dict.fromkeys(ROLES, "")).keys(columns)
        (alone,) = RoleHasher(self.alone, {"mention": ""}).keys(columns)
        measure, first_rows = self._measure_keys(templates)
        return Links(
            LinkKeys(
                mention[1:],
                antecedent[1:],
                measure,
                alone[1:] & mask,
                self._rows(looked_at, sizes, pairs, first_rows),
                boundaries(len(group) for group in self.groups.values()),
                sizes,
                pairs,
                mask,
            )
        )

    def _check_memory(self, n_mentions: LongVector, n_pairs: LongVector) -> None:
        """Raise if the pairs of a document, or the square matrix that compares its words, take too much memory."""
        needed = (PER_PAIR + 2.0 * len(self.groups)) * n_pairs + 8.0 * n_mentions**2
        check_memory(needed, "comparing mentions", "Cut it, or set max_antecedents.", "document")

    def _measure_keys(self, templates: Sequence[RoleTemplate]) -> tuple[IntMatrix, list[int]]:
        """For each group a row of keys for every combination of values of its measures; and where groups begin."""
        combinations = 1 + sum(prod(len(MEASURES[name]) for name in measures) for measures in self.groups)
        if combinations > MOST_COMBINATIONS:
            raise UnsupportedError(
                f"the measures that templates combine have {combinations:,} combinations of values, and at most "
                f"{MOST_COMBINATIONS:,} are possible: combine fewer measures"
            )
        by_name = {name: measure_keys(templates, name, values) for name, values in MEASURES.items()}
        parts: list[AnyArray] = [np.zeros((1, len(templates)), dtype=np.int32)]
        first = []
        for measures in self.groups:
            first.append(sum(map(len, parts)))
            values = product(*(range(len(MEASURES[name])) for name in measures))
            totals = [sum(by_name[name][value] for name, value in zip(measures, each, strict=True)) for each in values]
            cut = np.array(totals, dtype=np.int64).reshape(len(totals), -1) % (1 << KEY_BITS)
            parts.append(np.broadcast_to(cut, (len(cut), len(templates))))
        return np.concatenate(parts).astype(np.int32), first

    def _rows(
        self, looked_at: Sequence[Described], sizes: LongVector, pairs: LongVector, first_rows: Sequence[int]
    ) -> AnyArray:
        """For each pair and group its row of `measure`."""
        rows: AnyArray = np.empty((int(pairs[-1]), len(self.groups)), dtype=np.int16)
        for n, each in enumerate(looked_at):
            begin, end = pairs[sizes[n]], pairs[sizes[n + 1]]
            counts = np.diff(pairs[sizes[n] : sizes[n + 1] + 1])
            second = np.repeat(np.arange(len(counts)), counts)
            ends = np.repeat(pairs[sizes[n] + 1 : sizes[n + 1] + 1], counts)
            values = measures_of(each, second - (ends - np.arange(begin, end)), second)
            for g, measures in enumerate(self.groups):
                code = np.zeros(end - begin, dtype=np.int64)
                for name in measures:
                    code = code * len(MEASURES[name]) + values[name]
                rows[begin:end, g] = first_rows[g] + code
        return rows


def check_documents(X: Any) -> None:
    """Raise unless `X` is a list of `Mentions` whose columns and spans fit together."""
    check_list(X)
    for i, document in enumerate(X):
        if not isinstance(document, Mentions):
            raise DataError(f"document {i} must be Mentions(…), not {document!r:.60}")
        n = len(document.sentence)
        for name, values in {"word": [], **document.columns}.items():
            if len(values) != n:
                raise DataError(f"document {i} has {n} tokens, but {len(values)} values in its column {name!r}")
        for span in document.spans:
            if not 0 <= span[0] < span[1] <= n:
                raise DataError(f"document {i}: {span} is not a span of its {n} tokens")


def mention_columns(X: Sequence[Mentions], looked_at: Sequence[Described]) -> Columns:
    """The attributes of all mentions as columns: a row per mention, a sequence per document."""
    found: dict[str, list[str]] = {}
    for document, each in zip(X, looked_at, strict=True):
        for name, values in _attributes(document, each).items():
            found.setdefault(name, []).extend(values)
    return Columns({name: Column.of(values) for name, values in found.items()}, boundaries(map(len, X)), "mentions")


def _attributes(document: Mentions, d: Described) -> dict[str, list[str]]:
    words, spans, sentence = document.columns["word"], document.spans, document.sentence
    lower = [word.lower() for word in words]

    def around(token: int, inside: int) -> str:
        within = 0 <= token < len(words) and sentence[token] == sentence[inside]
        return lower[token] if within else "<s>"

    kinds, pronouns = _answers(d.kind), _answers(d.pronoun)
    genders = _answers(d.gender)
    return {
        "word": [words[head] for head in d.head.tolist()],
        "head": _answers(d.lemma),
        "string": _answers(d.text),
        "bare": _answers(d.bare),
        "first": [lower[start] for start, _ in spans],
        "last": [lower[end - 1] for _, end in spans],
        "before": [around(start - 1, start) for start, _ in spans],
        "after": [around(end, end - 1) for _, end in spans],
        "length": [str(end - start) if end - start < LONGEST else f"{LONGEST}+" for start, end in spans],
        "kind": kinds,
        "type": [pronoun or kind for pronoun, kind in zip(pronouns, kinds, strict=True)],
        "determiner": _answers(d.determiner),
        "role": _answers(d.role),
        "number": _answers(d.number),
        "person": _answers(d.person),
        "gender": genders,
        "animacy": _animacy(document, d, genders),
    }


def _answers(coded: Any) -> list[str]:
    """The values as strings, "" for none."""
    names = [*coded.names, ""]
    return [names[code] for code in coded.codes.tolist()]


def _animacy(document: Mentions, d: Described, genders: Sequence[str]) -> list[str]:
    """The animacy in the column `feats` of the head, or else the one that follows from the gender."""
    feats = document.columns.get("feats")
    given = [dict(part.partition("=")[::2] for part in feats[t].split("|")) if feats else {} for t in d.head.tolist()]
    known = {"he": "Anim", "she": "Anim", "person": "Anim", "Masc": "Anim", "Fem": "Anim", "it": "Inan", "Neut": "Inan"}
    return [each.get("Animacy", known.get(gender, "")) for each, gender in zip(given, genders, strict=True)]


def measures_of(d: Described, i: AnyArray, j: AnyArray) -> dict[str, IntVector]:
    """For each measure, the number of its value for each pair of mentions, i before j."""
    pronoun = d.kind.is_one_of("pronoun")
    neither = ~pronoun[i] & ~pronoun[j]
    shared, fewer, _ = overlap(d, i, j)
    agreeing, inside = agrees(d, i, j), d.end[i] >= d.end[j]
    heads = same(d.lemma, i, j)
    relation = np.where(inside, 1, 0)
    relation[(d.parent[j] == d.head[i]) & d.role.is_one_of("appos")[j]] = 2
    relation[copular(d, i, j) & ~inside] = 3
    close = np.where(closest(heads & neither, i, j), 1, 0)
    close[closest(agreeing & pronoun[j] & ~inside, i, j)] = 2
    found: dict[str, Any] = {
        "sentences": np.searchsorted(SENTENCES, d.sentence[j] - d.sentence[i], "right"),
        "mentions": np.searchsorted(MENTIONS, j - i, "right"),
        "string": same(d.text, i, j),
        "bare": same(d.bare, i, j),
        "head": heads,
        "words": np.where(shared == 0, 0, np.where(shared == fewer, 2, 1)),
        "number": _comparison(d.number, i, j),
        "person": _comparison(d.person, i, j),
        "gender": _comparison(d.gender, i, j),
        "agreement": agreeing,
        "relation": relation,
        "initials": initials_match(d, i, j),
        "closest": close,
    }
    return {name: np.asarray(values, dtype=np.int32) for name, values in found.items()}


def _comparison(answers: Coded, i: AnyArray, j: AnyArray) -> AnyArray:
    unknown = (answers.codes[i] < 0) | (answers.codes[j] < 0)
    return np.where(unknown, 0, np.where(answers.codes[i] == answers.codes[j], 2, 1))
