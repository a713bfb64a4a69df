"""64-bit keys of strings and of combinations of keys: the identity of a feature, equal in every process.

A string's key is the sum of its UTF-8 bytes, each times a 64-bit number that depends on its position (multilinear
hashing), for all strings at once; a finaliser spreads the bits. Two of n features share a key with a probability of
about n² / 2⁶⁵: for a million features, 3 in 10⁸.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from widemargin._jit import kernel
from widemargin._types import KeyVector, LongVector

PRIME = np.uint64(0x100000001B3)
LOW, HALF, SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(33)
MULTIPLIERS = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


def hash_strings(strings: Sequence[str]) -> KeyVector:
    """A key for every string, never 0.

    >>> hash_strings(["", "a", "b", "ab"]).tolist()
    [1, 4997812038790984084, 17235859931259094078, 2481092388468547593]
    """
    lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    joined = "".join(strings)
    if not joined.isascii():
        # Only an ASCII character is a single byte.
        for i, string in enumerate(strings):
            if not string.isascii():
                lengths[i] = len(string.encode("utf-8", "surrogatepass"))
    begins = np.cumsum(lengths) - lengths
    text = np.frombuffer(joined.encode("utf-8", "surrogatepass"), dtype=np.uint8).astype(np.uint64)
    factors = mix(np.arange(1, lengths.max(initial=0) + 1, dtype=np.uint64)) | np.uint64(1)
    products = (text + np.uint64(1)) * factors[np.arange(len(text)) - np.repeat(begins, lengths)]
    # Differences of running sums are right for empty strings, too.
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(products, dtype=np.uint64)])
    return mix(sums[begins + lengths] - sums[begins])


def hash_values(values: Sequence[str | None]) -> KeyVector:
    """A key for every string, and 0 for None, which marks absence."""
    keys = hash_strings([value or "" for value in values])
    if None in values:
        keys[[value is None for value in values]] = 0
    return keys


def mix(keys: KeyVector) -> KeyVector:
    """Spread the bits of every key over all 64 (the finaliser of MurmurHash3), avoiding 0, which marks absence."""
    for multiplier in MULTIPLIERS:
        keys = (keys ^ (keys >> SHIFT)) * multiplier
    keys = keys ^ (keys >> SHIFT)
    return np.where(keys == 0, np.uint64(1), keys)


def combine(keys: KeyVector, others: KeyVector) -> KeyVector:
    """A key for every pair; the order of the two matters."""
    return mix(keys * PRIME ^ others)


@kernel
def _times(a: np.uint64, b: np.uint64) -> np.uint64:
    """a · b modulo 2⁶⁴, by halves: of interpreted kernels, NumPy would report the overflow of a plain product."""
    low = (a & LOW) * (b & LOW)
    high = ((a >> HALF) * (b & LOW) & LOW) + ((a & LOW) * (b >> HALF) & LOW) + (low >> HALF)
    return (high << HALF) | (low & LOW)


@kernel
def combined(key: np.uint64, other: np.uint64) -> np.uint64:
    """`combine` for one pair, in kernels."""
    key = _times(key, PRIME) ^ other
    for multiplier in MULTIPLIERS:
        key = _times(key ^ (key >> SHIFT), multiplier)
    key ^= key >> SHIFT
    return key if key != 0 else np.uint64(1)


def rolled(keys: KeyVector, indptr: LongVector, longest: int) -> Iterator[tuple[LongVector, KeyVector]]:
    """For every length up to `longest`, where runs of that many keys begin, and a key for each run.

    Runs do not reach across the sequences that begin at `indptr`.

    >>> for starts, runs in rolled(hash_strings(["a", "b", "a", "b"]), np.array([0, 2, 4]), longest=3):
    ...     print(starts.tolist(), len(set(runs.tolist())))
    [0, 1, 2, 3] 2
    [0, 2] 1
    """
    ends = np.repeat(indptr[1:], np.diff(indptr))
    starts, runs = np.arange(len(keys)), keys
    for length in range(1, longest + 1):
        if length > 1:
            inside = starts + length <= ends[starts]
            starts = starts[inside]
            runs = combine(runs[inside], keys[starts + length - 1])
        if not len(starts):
            return
        yield starts, runs
