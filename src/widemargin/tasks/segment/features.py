"""Features of segments: those of their tokens, and those that a whole span of tokens has.

| segment feature | a span has it if |
| --- | --- |
| ``string``, ``lower``, ``shape`` | its words as they are, in lower case, or as shapes are those of a known segment |
| ``ends`` | its first and last word, in lower case, are those of a known segment of two words or more |
| ``lexicon`` | it is an entry of a lexicon: a feature for each lexicon |
| ``similarity`` | the entry most like it shares half of the words, three quarters, or all (`text.lexicons`) |

The known segments are those of the training data. A feature of a single segment would only let training memorise that
segment, so a feature needs `min_count` segments, usually two. The 64-bit key of a run of words is extended word by
word; strings are built only for the names of features.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, BoolVector, IntVector, KeyMatrix, KeyVector, LongVector
from widemargin.core.header import many, one_of
from widemargin.core.sparse import Rows, boundaries
from widemargin.core.stored import Stored, packed_strings
from widemargin.errors import WidemarginError
from widemargin.structures.flat import grown
from widemargin.tasks.segment import SEGMENT_FEATURES
from widemargin.tasks.segment.scores import span_boundaries
from widemargin.text.alphabet import Alphabet, FeatureCounts, number_of
from widemargin.text.columns import Columns
from widemargin.text.extractor import Draft, select_names, stored_alphabet
from widemargin.text.hashing import combine, combine_pair, hash_strings, roll_keys
from widemargin.text.lexicons import Lexicon, Words
from widemargin.text.template_extractor import TemplateExtractor
from widemargin.text.templates import Atom, Atoms
from widemargin.text.token_reader import Field, ReadTokens

LEVELS = (0.5, 0.75, 1.0)
"""How similar a span and a lexicon entry must be for each feature of similarity."""

_ATTRIBUTES = {"string": "value", "lower": "lower", "shape": "shape", "ends": "lower"}


class SpanPlan(NamedTuple):
    """Features of spans as arrays: the seed of each, the column of keys that it reads, and whether only ends count."""

    seeds: KeyVector
    places: IntVector
    only_ends: BoolVector


@kernel
def _span_rows(
    tokens: IntVector,
    indptr: LongVector,
    first: int,
    last: int,
    longest: int,
    n_spans: int,
    keys: KeyMatrix,
    seeds: KeyVector,
    places: IntVector,
    only_ends: BoolVector,
    slots: KeyVector,
    numbers: IntVector,
    size: int,
) -> tuple[LongVector, IntVector]:
    """The features of the `n_spans` candidate spans of the sequences first:last, in the order of the plan.

    `keys[tokens[t]]` are the keys of token t. The key of a run of words is that of `text.hashing.roll_keys`.
    """
    n, write, span = len(seeds), indptr[0], indptr[0]
    ends, features = np.zeros(n_spans + 1, dtype=np.int64), np.empty(n_spans + n, dtype=np.int32)
    runs = np.empty(n, dtype=np.uint64)
    for i in range(first, last):
        for t in range(indptr[i], indptr[i + 1]):
            for d in range(min(longest, indptr[i + 1] - t)):
                features = grown(features, write, n)
                # `runs` holds the keys of the words t … t + d − 1, so that one more word extends them. With
                # `only_ends` it stays at the key of word t, and a single word has no feature.
                for k in range(n):
                    key = keys[tokens[t + d], places[k]]
                    if d > 0:
                        key = combine_pair(runs[k], key)
                    if d == 0 or not only_ends[k]:
                        runs[k] = key
                    if d > 0 or not only_ends[k]:
                        features[write] = number_of(combine_pair(seeds[k], key), slots, numbers, size)
                        write += features[write] >= 0  # the next feature overwrites an unknown one
                span += 1
                ends[span] = write
    return ends, features[:write]


class SegmentRows(NamedTuple):
    """Sequences as rows of features: a row per token, and a row per candidate span (`tasks.segment.scores`)."""

    indptr: LongVector
    rows: Rows
    segment_rows: Rows


@dataclass(frozen=True, slots=True)
class ReadSegments:
    """Sequences whose tokens have been looked up; any thread can then compute the features of a share of them."""

    X: Columns
    tokens: ReadTokens
    longest: int
    extractor: "SegmentExtractor"

    @property
    def indptr(self) -> LongVector:
        """Where each sequence begins among the tokens."""
        return self.X.indptr

    def features(self, first: int, last: int) -> SegmentRows:
        """The features of the sequences first:last."""
        indptr, rows, _ = self.tokens.features(first, last)
        words = self.tokens.tokens, self.tokens.keys
        of_spans = self.extractor.segment_rows(*words, self.indptr, first, last, self.longest)
        return SegmentRows(indptr, rows, of_spans)


class SegmentDraft(NamedTuple):
    """A piece of the training data: the features of its tokens, the keys of its words, and its segments."""

    tokens: Draft
    keys: KeyMatrix
    segments: FeatureCounts


class SegmentExtractor:
    """Features of tokens by templates, and features of spans.

    Parameters
    ----------
    tokens : the extractor of the tokens' features; lexicons are those of its resources
    segment_features : some of `SEGMENT_FEATURES`
    min_count : features of fewer segments of the training data are left out
    """

    def __init__(
        self, tokens: TemplateExtractor, segment_features: Sequence[str] = SEGMENT_FEATURES, *, min_count: int = 2
    ) -> None:
        for name in segment_features:
            if name not in SEGMENT_FEATURES:
                raise WidemarginError(f"there is no segment feature {name!r}; there are {', '.join(SEGMENT_FEATURES)}")
        if tokens.transition_templates:
            text = tokens.transition_templates[0].text
            raise WidemarginError(
                f"the template {text!r} describes pairs of labels, but segments have no features of pairs"
            )
        self.tokens, self.segment_features, self.min_count = tokens, tuple(segment_features), min_count
        self.index, self._names = Alphabet(), list[str]()
        self.lexicons = {name: Lexicon(entries) for name, entries in sorted(tokens.resources.lexicons.items())}

    @property
    def n_features(self) -> int:
        """How many features describe a token."""
        return self.tokens.n_features

    @property
    def n_segment_features(self) -> int:
        """How many features describe a span."""
        return self.index.size + len(self._names_of_lexicons())

    def names(self) -> list[str]:
        """The names of the tokens' features, then those of the spans' features."""
        return [*self.tokens.names(), *self._names, *self._names_of_lexicons()]

    def fit(self, X: Columns, lengths: IntVector, longest: int) -> SegmentRows:
        """Number the features of training sequences.

        Parameters
        ----------
        X : the sequences
        lengths : the length of the segment that begins at each token; 0 if none begins, or its features are not wanted
        longest : the most tokens of a span
        """
        rows = self.tokens.fit(X).rows
        keys, segments = self.words(X, np.where(lengths > longest, 0, lengths), self.min_count)
        self.adopt_segments(segments)
        return SegmentRows(X.indptr, rows, self.rows_of_words(X.indptr, keys, longest))

    def draft(self, X: Columns, lengths: IntVector) -> SegmentDraft:
        """A piece of the training data, to be surveyed now and numbered later; parameters as in `fit`."""
        return SegmentDraft(self.tokens.draft(X), *self.words(X, lengths))

    def numbered(self, draft: SegmentDraft, longest: int) -> SegmentRows:
        """The features of a draft, which is used up, as they are numbered now."""
        indptr, rows, _ = self.tokens.numbered(draft.tokens)
        return SegmentRows(indptr, rows, self.rows_of_words(indptr, draft.keys, longest))

    def adopt(self, vocabularies: Sequence[FeatureCounts]) -> None:
        """Number the features by a survey of all data instead of by `fit`."""
        *of_tokens, of_segments = vocabularies
        self.tokens.adopt(of_tokens)
        self.adopt_segments(of_segments)

    def adopt_segments(self, counted: FeatureCounts) -> None:
        """Number the features of these segments."""
        known = counted.numbered(self.min_count)
        self.index, self._names = Alphabet(known.keys), known.names

    def rows_of_words(self, indptr: LongVector, keys: KeyMatrix, longest: int) -> Rows:
        """The features of all candidate spans of sequences, given the keys of their words."""
        words = np.arange(len(keys), dtype=np.int32)
        return self.segment_rows(words, keys, indptr, 0, len(indptr) - 1, longest)

    def transform(self, X: Columns, longest: int) -> SegmentRows:
        """The known features of any sequences."""
        return self.read(X, longest).features(0, X.n_sequences)

    def read(self, X: Columns, longest: int) -> ReadSegments:
        """Look up the tokens of the sequences; except for lexicons, only this step needs the interpreter lock."""
        return ReadSegments(X, self.tokens.read(X, self._fields), longest, self)

    def keep(self, used: BoolVector, used_in_segments: BoolVector) -> "SegmentExtractor":
        """An extractor of the `used` features only; features of tokens are kept if hashed, those of lexicons always."""
        kept = SegmentExtractor(self.tokens.keep(used) or self.tokens, self.segment_features, min_count=self.min_count)
        kept.index = Alphabet(self.index.keys()[used_in_segments[: self.index.size]])
        kept._names = select_names(self._names, used_in_segments[: self.index.size])
        return kept

    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """The whole extractor as JSON and arrays."""
        header, arrays = self.tokens.describe()
        arrays |= {"segment_keys": self.index.keys(), **packed_strings("segment_names", self._names)}
        return {**header, "segment_features": list(self.segment_features)}, arrays

    @classmethod
    def restore(cls, stored: Stored) -> "SegmentExtractor":
        """The inverse of `describe`."""
        header = stored.checked({"segment_features": many(one_of(*SEGMENT_FEATURES))})
        extractor = cls(TemplateExtractor.restore(stored), header["segment_features"])
        extractor.index = stored_alphabet(stored, "segment_keys")
        extractor._names = stored.strings("segment_names", extractor.index.size)()
        return extractor

    def _names_of_lexicons(self) -> list[str]:
        matches = [f"lexicon({name})" for name in self.lexicons] if "lexicon" in self.segment_features else []
        if "similarity" in self.segment_features:
            matches += [f"similarity({name})={level}" for name in self.lexicons for level in LEVELS]
        return matches

    def words(self, X: Columns, lengths: IntVector, least: int = 1) -> tuple[KeyMatrix, FeatureCounts]:
        """The keys of each token's fields, and the features of at least `least` segments with their counts and names.

        `lengths` is as in `fit`.
        """
        atoms, groups = Atoms(X, self.tokens.resources), [(np.empty(0, np.uint64), np.empty(0, np.int64))]
        keys_of = {attribute: _token_keys(atoms, attribute) for _, attribute in self._fields} if X.n_tokens else {}
        names: list[str] = []
        for name in self._word_features if X.n_tokens else ():
            of_two = name == "ends"
            starts = np.flatnonzero(lengths > of_two)
            sizes, tokens = lengths[starts], keys_of[_ATTRIBUTES[name]]
            runs = combine(tokens[starts], tokens[starts + sizes - 1]) if of_two else _run_keys(tokens, starts, sizes)
            keys = combine(np.broadcast_to(hash_strings([_seed(name)]), len(runs)), runs)
            distinct, first, counts = np.unique(keys, return_index=True, return_counts=True)
            frequent = counts >= least
            groups.append((distinct[frequent], counts[frequent]))
            codes, _, values = atoms.part(Atom("word", _ATTRIBUTES[name], 0))
            for at in first[frequent].tolist():
                words = [values[code] or "" for code in codes[starts[at] : starts[at] + sizes[at]].tolist()]
                names.append(f"{name}={' … '.join([words[0], words[-1]]) if of_two else ' '.join(words)}")
        keys, counts = map(np.concatenate, zip(*groups, strict=True))
        of_words: KeyMatrix = np.empty((X.n_tokens, self.n_fields), dtype=np.uint64)
        for k, each in enumerate(keys_of.values()):
            of_words[:, k] = each
        return of_words, FeatureCounts(keys, counts, names)

    @property
    def _word_features(self) -> list[str]:
        """The features of spans that are made of their words."""
        return [name for name in _ATTRIBUTES if name in self.segment_features]

    @cached_property
    def _fields(self) -> tuple[Field, ...]:
        """The fields of tokens whose keys make up the word features, and are looked up in lexicons."""
        names = [_ATTRIBUTES[name] for name in self._word_features]
        if self._names_of_lexicons():
            names.append("lower")
        return tuple(dict.fromkeys(("word", name) for name in names))

    @property
    def n_fields(self) -> int:
        """The number of keys of a word."""
        return len(self._fields)

    @cached_property
    def _plan(self) -> SpanPlan:
        names = self._word_features
        places = [self._fields.index(("word", _ATTRIBUTES[name])) for name in names]
        return SpanPlan(
            hash_strings([_seed(name) for name in names]),
            np.array(places, dtype=np.int32),
            np.array([name == "ends" for name in names], dtype=np.bool_),
        )

    def segment_rows(
        self, words: IntVector, keys: KeyMatrix, indptr: LongVector, first: int, last: int, longest: int
    ) -> Rows:
        """The features of the candidate spans of the sequences first:last; `keys[words[t]]` are those of token t."""
        own = indptr[first : last + 1] - indptr[first]
        spans = span_boundaries(own, longest)
        n_spans = int(spans[-1])
        ends, numbers = _span_rows(words, indptr, first, last, longest, n_spans, keys, *self._plan, *self.index.table)
        if not self._names_of_lexicons() or not n_spans:
            return Rows(ends, numbers, np.empty(0))
        lower = keys[words[indptr[first] : indptr[last]], self._fields.index(("word", "lower"))]
        places = np.repeat(np.arange(n_spans), np.diff(ends))
        pairs = [(places, numbers), *self._found_in_lexicons(Words.of(own, lower), spans, longest)]
        rows, numbers = map(np.concatenate, zip(*pairs, strict=True))
        order = np.argsort(rows, kind="stable")
        return Rows(boundaries(np.bincount(rows, minlength=n_spans)), numbers[order].astype(np.int32), np.empty(0))

    def _found_in_lexicons(
        self, words: Words, spans: LongVector, longest: int
    ) -> Iterator[tuple[LongVector, LongVector]]:
        number = self.index.size
        if "lexicon" in self.segment_features:
            for length, (starts, keys) in enumerate(roll_keys(words.keys, words.indptr, longest), 1):
                for k, lexicon in enumerate(self.lexicons.values(), number):
                    entries = spans[starts[lexicon.holds(keys)]] + length - 1
                    yield entries, np.full(len(entries), k)
            number += len(self.lexicons)
        if "similarity" in self.segment_features:
            for k, lexicon in enumerate(self.lexicons.values()):
                level = np.searchsorted(LEVELS, lexicon.similarities(words, spans), side="right") - 1
                similar = np.flatnonzero(level >= 0)
                yield similar, number + k * len(LEVELS) + level[similar]


def _seed(name: str) -> str:
    return f"segment {name}"


def _token_keys(atoms: Atoms, attribute: str) -> KeyVector:
    codes, keys, _ = atoms.part(Atom("word", attribute, 0))
    return keys[codes]


def _run_keys(keys: KeyVector, starts: LongVector, sizes: IntVector) -> KeyVector:
    """The key of each run of `sizes` tokens from `starts` on, as by `text.hashing.roll_keys`."""
    runs = keys[starts]
    for d in range(1, int(sizes.max(initial=0))):
        longer = np.flatnonzero(sizes > d)
        runs[longer] = combine(runs[longer], keys[starts[longer] + d])
    return runs
