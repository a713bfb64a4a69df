"""Motifs: a sequence is positive if it contains one, at an unknown place (Yu & Joachims 2009, §5.1).

    φ(x, +1, h) = Σ_{j < l} M_j(x_{h+j}) + Σ_{i outside the window} B(x_i)      φ(x, −1) = Σ_i B(x_i)

M_j counts letters at place j of the motif, B counts letters in their contexts. Terms that both classes
share cancel out, so here φ(x, −1) = 0 and φ(x, +1, h) = Σ_j M_j(x_{h+j}) − Σ_{i in the window} B(x_i). An error is a
wrong class, whatever h is. There is no bias: a constant added to all weights of M acts as one.

The weights are those of M (l × letters), then those of B. With two strands, h also names the strand of the motif: for
the other strand, M reads the reverse complement of the window, while B always reads the given strand.

An output is −1 for negative, otherwise 2h + strand.

The context of a letter is the letter itself with the `order` letters before it, as in a Markov model. A letter outside
the alphabet, such as N in DNA, has no number and belongs to no context. The first `order` letters of a sequence have
no context. Letters and contexts without a number have no features.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.sparse import NO_ROWS, Rows, boundaries, coalesce, new_table, stack
from widemargin.decoders.windows import CodedLetters, Windows, best_windows, group_numbers, window_scores, windows_of
from widemargin.errors import DataError, WidemarginError
from widemargin.structures.part_rows import distinct, runs
from widemargin.tasks.motif.seeds import seed_windows
from widemargin.text.sequences import Sequences

ALPHABETS = {"dna": "ACGT", "rna": "ACGU", "protein": "ACDEFGHIKLMNPQRSTVWY"}
"""The alphabets with names."""

COMPLEMENTS = {"ACGT": "TGCA", "ACGU": "UGCA"}
MOST_LETTERS, MOST_CONTEXTS = 100, 1 << 24


def letters_of(alphabet: str) -> str:
    """The letters of an alphabet, given by its name or as the letters themselves.

    >>> letters_of("dna"), letters_of("HP")
    ('ACGT', 'HP')
    """
    letters = ALPHABETS.get(alphabet.lower(), alphabet) if isinstance(alphabet, str) else ""
    if not 2 <= len(letters) <= MOST_LETTERS or len(set(letters)) < len(letters) or not letters.isprintable():
        names = ", ".join(map(repr, ALPHABETS))
        raise WidemarginError(f"the alphabet must be {names} or 2 to {MOST_LETTERS} distinct letters: {alphabet!r:.60}")
    return letters


def complement_of(letters: str) -> LongVector:
    """The number of every letter's complement; the last entry is for unknown letters, which stay unknown."""
    if sorted(letters) not in (sorted(known) for known in COMPLEMENTS):
        raise WidemarginError(f"only DNA and RNA have two strands; the letters are {letters!r:.60}")
    known = next(each for each in COMPLEMENTS if sorted(each) == sorted(letters))
    other = dict(zip(known, COMPLEMENTS[known], strict=True))
    return np.array([*(letters.index(other[letter]) for letter in letters), len(letters)], dtype=np.int64)


def n_contexts(n_letters: int, order: int) -> int:
    """The number of contexts; raises an error if there are too many."""
    if not (isinstance(order, int) and order >= 0):
        raise WidemarginError(f"order must be a whole number of at least 0, not {order!r}")
    count = n_letters ** (order + 1) if order < 64 else MOST_CONTEXTS + 1
    if count > MOST_CONTEXTS:
        raise WidemarginError(
            f"a background of order {order} over {n_letters} letters has more than {MOST_CONTEXTS:,} weights; lower "
            "the order"
        )
    return count


def code(texts: Sequence[str], letters: str, order: int) -> CodedLetters:
    """Sequences as numbers; small letters count as capitals unless the alphabet has small letters."""
    n = len(letters)
    numbers = np.full(256, n, dtype=np.int8)
    if not any(letter.islower() for letter in letters):
        numbers[[ord(letter.lower()) for letter in letters if letter.isascii()]] = [
            k for k, letter in enumerate(letters) if letter.isascii()
        ]
    joined = "".join(texts)
    if letters.isascii():
        raw = np.frombuffer(joined.encode("ascii", "replace"), dtype=np.uint8)
        numbers[[ord(letter) for letter in letters]] = np.arange(n)
        codes = numbers[raw]
    else:
        known = {letter: k for k, letter in enumerate(letters)}
        codes = np.array([known.get(letter, n) for letter in joined], dtype=np.int8)
    indptr = boundaries(map(len, texts))
    count = n_contexts(n, order)
    contexts = np.zeros(len(codes), dtype=np.int64)
    whole = np.ones(len(codes), dtype=bool)
    for back in range(order, -1, -1):
        shifted = np.concatenate([np.full(min(back, len(codes)), n, dtype=np.int8), codes[: max(len(codes) - back, 0)]])
        contexts = contexts * n + shifted
        whole &= shifted < n
    for back in range(order):
        starts = indptr[:-1] + back
        whole[starts[starts < indptr[1:]]] = False
    return CodedLetters(codes, group_numbers(codes, n), np.where(whole, contexts, count).astype(np.int32), indptr)


def checked_letters(X: Sequences, letters: str) -> Sequences:
    """Return `X`, or raise an error about the first sequence that does not fit the alphabet.

    Other letters and * - . ? count as unknown letters; every sequence needs at least one known letter.
    """
    known = {*letters} if any(letter.islower() for letter in letters) else {*letters, *letters.lower()}
    for i, text in enumerate(X.texts):
        others = {*text} - known
        if others and len(others) == len({*text}):
            raise DataError(f"{X.place(i)} has none of the letters {letters}: {text[:40]!r}; choose another alphabet")
        for each in sorted(others):
            if not (each.isalpha() or each in "*-.?"):
                raise DataError(f"{X.place(i)} has {each!r} in it, which is no letter")
    return X


def reverse_complement(text: str, letters: str) -> str:
    """The letters of the other strand in its own reading order; unknown letters stay.

    >>> reverse_complement("AACN", "ACGT")
    'NGTT'
    """
    other = dict(zip(letters, (letters[k] for k in complement_of(letters)[:-1]), strict=True))
    return "".join(other.get(letter.upper(), letter) for letter in reversed(text))


class Shape(NamedTuple):
    """The layout of the weights: l × letters, then contexts.

    `complement` gives the number of each letter's complement; it is empty if only one strand is read.
    """

    length: int
    n_letters: int
    n_contexts: int
    complement: LongVector

    @property
    def n_matrix(self) -> int:
        """The number of weights of M."""
        return self.length * self.n_letters

    @property
    def n_weights(self) -> int:
        """The number of all weights."""
        return self.n_matrix + self.n_contexts

    @property
    def n_strands(self) -> int:
        """How many strands are read."""
        return 2 if len(self.complement) else 1

    def windows(self, w: FloatVector) -> Windows:
        """The weights as the decoder takes them."""
        matrix = np.zeros((self.length, self.n_letters + 1))
        matrix[:, :-1] = w[: self.n_matrix].reshape(self.length, self.n_letters)
        strands = [matrix, matrix[::-1, self.complement]] if self.n_strands == 2 else [matrix]
        return windows_of(np.stack(strands), np.append(w[self.n_matrix :], 0.0))


@kernel
def _append_window(
    coded: CodedLetters, begin: int, strand: int, value: float, shape: Shape, psi: Rows, write: int
) -> int:
    """Append value · φ of the window at `begin`, letter by letter; return where the entries end."""
    length, n = shape.length, shape.n_letters
    for j in range(length):
        letter = coded.letters[begin + j]
        if letter < n:
            at = j * n + letter if strand == 0 else (length - 1 - j) * n + shape.complement[letter]
            psi.indices[write], psi.values[write] = at, value
            write += 1
        if coded.contexts[begin + j] < shape.n_contexts:
            psi.indices[write] = length * n + coded.contexts[begin + j]
            psi.values[write] = -value
            write += 1
    return write


@kernel
def _differences(coded: CodedLetters, batch: IntVector, gold: LongVector, outputs: LongVector, shape: Shape) -> Rows:
    """φ(gold) − φ(output) for every example of the batch."""
    room = len(batch) * 4 * shape.length
    psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
    table = new_table(4 * shape.length)
    write = 0
    for position in range(len(batch)):
        i, right, other = batch[position], gold[position], outputs[position]
        first = write
        if right != other:
            begin = coded.indptr[i]
            if right >= 0:
                write = _append_window(coded, begin + right // 2, right % 2, 1.0, shape, psi, write)
            if other >= 0:
                write = _append_window(coded, begin + other // 2, other % 2, -1.0, shape, psi, write)
            write = coalesce(psi.indices, psi.values, first, write, first, table)
        psi.indptr[position + 1] = write
    return Rows(psi.indptr, psi.indices[:write].copy(), psi.values[:write].copy())


@kernel
def _weighted_sum(coded: CodedLetters, i: int, weights: FloatMatrix, shape: Shape, sums: FloatVector) -> None:
    """Write sums = Σ weights[h, strand] φ(window) over the windows of sequence i, an entry per weight."""
    begin, n_matrix = coded.indptr[i], shape.length * shape.n_letters
    sums[:] = 0.0
    for h in range(weights.shape[0]):
        for strand in range(weights.shape[1]):
            value = weights[h, strand]
            for j in range(shape.length):
                letter, context = coded.letters[begin + h + j], coded.contexts[begin + h + j]
                if letter < shape.n_letters:
                    place = j if strand == 0 else shape.length - 1 - j
                    sums[place * shape.n_letters + (letter if strand == 0 else shape.complement[letter])] += value
                if context < shape.n_contexts:
                    sums[n_matrix + context] -= value


class MotifExamples:
    """Sequences with their classes (or without, for prediction only), compiled to arrays.

    A window could be a choice of `structures.classes`, but that would store the scores of all windows;
    `decoders.windows` searches a sequence in one pass. Models also need the best window of negative sequences.

    Parameters
    ----------
    coded : the sequences
    shape : the layout of the weights
    positive : which sequences are positive; None for prediction only
    """

    exact = True

    def __init__(self, coded: CodedLetters, shape: Shape, positive: BoolVector | None = None) -> None:
        self.coded, self.n_examples = coded, len(coded.indptr) - 1
        self.n_windows = np.maximum(np.diff(coded.indptr) - shape.length + 1, 0)
        self.shape, self.n_weights = shape, shape.n_weights
        self.positive = np.zeros(self.n_examples, dtype=bool) if positive is None else positive
        self.gold = np.where(self.positive, 0, -1).astype(np.int64)
        # Measured: two nanoseconds per letter of each window.
        self.work = 0.002 * self.n_windows * shape.length * shape.n_strands
        self._check(coded)

    def _check(self, coded: CodedLetters) -> None:
        if self.shape.length < 1:
            raise DataError(f"a motif has at least one letter, not {self.shape.length}")
        for numbers, most in ((coded.letters, self.shape.n_letters), (coded.contexts, self.shape.n_contexts)):
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() <= most:
                raise DataError(f"a letter or context has a number outside 0 … {most}")
        if len(self.positive) != self.n_examples:
            raise DataError(f"there are {self.n_examples} sequences, but {len(self.positive)} classes")
        for i in np.flatnonzero(self.positive & (self.n_windows == 0)).tolist():
            raise DataError(f"sequence {i + 1} is positive, but shorter than a motif of {self.shape.length} letters")

    def best(self, w: FloatVector, batch: IntVector) -> tuple[LongVector, FloatVector]:
        """The best window of each sequence, and its score; the negative class scores 0."""
        return best_windows(self.coded, batch, self.shape.windows(w))

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> LongVector:
        """The best window of each sequence, or −1 if it scores no more than the negative class."""
        places, scores = self.best(w, batch)
        scales = per_example(error_scale, batch)
        return np.where(scores + np.where(self.positive[batch], -scales, scales) > 0.0, places, -1)

    def difference(self, batch: IntVector, outputs: LongVector) -> Differences:
        """Errors and feature differences of `outputs`."""
        errors = ((outputs >= 0) != self.positive[batch]).astype(np.float64)
        gold = self.gold[batch]
        return Differences(errors, _differences(self.coded, batch, gold, outputs, self.shape))

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log p of the gold window or the negative class, and φ(gold) − E[φ] (`core.examples.Marginals`)."""
        return self._expectation(w, batch, error_scale, any_window=False)

    def expectation_over_completions(
        self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0
    ) -> Differences:
        """−log p of the gold class, and E[φ | class] − E[φ] (`core.examples.LatentMarginals`)."""
        return self._expectation(w, batch, error_scale, any_window=True)

    def _expectation(self, w: FloatVector, batch: IntVector, error_scale: float, *, any_window: bool) -> Differences:
        """Losses and feature differences, by sums over all windows and the negative class, which scores 0."""
        windows, losses, rows = self.shape.windows(w), np.empty(len(batch)), [NO_ROWS]
        for k, i in enumerate(batch.tolist()):
            positive, gold, sums = self.positive[i], int(self.gold[i]), np.empty(self.n_weights)
            scores = window_scores(self.coded, i, windows) + (0.0 if positive else error_scale)
            negative = error_scale if positive else 0.0
            top = max(float(scores.max(initial=-np.inf)), negative)
            p = np.exp(scores - top)
            total = float(p.sum()) + np.exp(negative - top)
            residual, right = -p / total, negative
            if positive and any_window:
                right = float(scores.max() + np.log(np.exp(scores - scores.max()).sum()))
                residual += np.exp(scores - right)
            elif positive:
                right = float(scores[gold // 2, gold % 2])
                residual[gold // 2, gold % 2] += 1.0
            losses[k] = max(top + np.log(total) - right, 0.0)
            _weighted_sum(self.coded, i, residual, self.shape, sums)
            used = np.flatnonzero(sums)
            rows.append(Rows(np.array([0, len(used)]), used.astype(np.int32), sums[used]))
        return Differences(losses, stack(rows))

    def support(self, batch: IntVector) -> LongMatrix:
        """All weights of M, and those of the batch's contexts."""
        rows = Rows(self.coded.indptr, self.coded.contexts, np.empty(0))
        read = distinct(rows, np.arange(self.n_examples + 1, dtype=np.int64), batch)
        of_contexts = runs(read[read < self.shape.n_contexts], 1, self.shape.n_matrix)
        return np.concatenate([[[0, self.shape.n_matrix]], of_contexts])

    def complete(self, w: FloatVector, batch: IntVector) -> LongVector:
        """The best window of each positive sequence."""
        wanted = self.positive[batch]
        completions = np.full(len(batch), -1, dtype=np.int64)
        completions[wanted] = self.best(w, batch[wanted])[0]
        return completions

    def completed(self, completions: LongVector) -> Self:
        """The same examples with these windows as gold."""
        completions = np.asarray(completions, dtype=np.int64)
        fine = completions.shape == self.gold.shape
        if fine:
            strands = np.isin(completions % 2, range(self.shape.n_strands))
            inside = (completions >= 0) & (completions < 2 * self.n_windows) & strands
            fine = bool(np.where(self.positive, inside, completions == -1).all())
        if not fine:
            raise DataError("completions must hold the window of each positive sequence, and -1 for negative ones")
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, gold=completions)
        return other

    def guess(self, rng: np.random.Generator) -> LongVector:
        """Random windows from the uniform distribution."""
        starts = rng.integers(0, np.maximum(self.n_windows, 1))
        strands = rng.integers(0, self.shape.n_strands, size=self.n_examples)
        return np.where(self.positive, 2 * starts + strands, -1)

    def first_completions(self) -> LongVector:
        """The windows that a rough motif chooses (`seeds`)."""
        return np.where(self.positive, seed_windows(self), -1)

    def uncertainty(self, w: FloatVector, batch: IntVector) -> FloatVector:
        """The entropy of p(h) ∝ exp s(h); 0 for negative sequences."""
        windows = self.shape.windows(w)
        return np.array([_entropy(window_scores(self.coded, i, windows)) if self.positive[i] else 0.0 for i in batch])


def _entropy(scores: FloatMatrix) -> float:
    """−Σ p log p of p ∝ exp(scores)."""
    above = scores - scores.max()
    p = np.exp(above)
    return float(np.log(p.sum()) - (p * above).sum() / p.sum())


class Reads(NamedTuple):
    """The settings of a search for a motif: everything but the weights."""

    letters: str
    length: int
    order: int
    both_strands: bool

    @property
    def n_contexts(self) -> int:
        """The number of weights of the background."""
        return n_contexts(len(self.letters), self.order)

    @property
    def shape(self) -> Shape:
        """The layout of the weights."""
        complement = complement_of(self.letters) if self.both_strands else np.empty(0, dtype=np.int64)
        return Shape(self.length, len(self.letters), self.n_contexts, complement)

    def examples(self, texts: Sequence[str], positive: BoolVector | None = None) -> MotifExamples:
        """Sequences as examples."""
        return MotifExamples(code(texts, self.letters, self.order), self.shape, positive)
