"""64-bit keys of strings and of combinations of keys: the identity of a feature, equal in every process.

A string's key is the sum of its UTF-8 bytes, each times a 64-bit number that depends on its position (multilinear
hashing); a finaliser spreads the bits. Two of n features share a key with a probability of about n² / 2⁶⁵: for a
million features, 3 in 10⁸.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from widemargin._jit import kernel
from widemargin._types import ByteVector, KeyVector, LongVector

PRIME = np.uint64(0x100000001B3)
ZERO, ONE = np.uint64(0), np.uint64(1)
LOW, HALF, SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(33)
MULTIPLIERS = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


@kernel
def _times(a: np.uint64, b: np.uint64) -> np.uint64:
    """a · b modulo 2⁶⁴, by halves: in interpreted kernels, NumPy would warn of the overflow of a plain product."""
    low = (a & LOW) * (b & LOW)
    high = ((a >> HALF) * (b & LOW) & LOW) + ((a & LOW) * (b >> HALF) & LOW) + (low >> HALF)
    return (high << HALF) | (low & LOW)


@kernel
def _mix(key: np.uint64) -> np.uint64:
    """`mix` for one key."""
    for multiplier in MULTIPLIERS:
        key = _times(key ^ (key >> SHIFT), multiplier)
    key ^= key >> SHIFT
    return key if key != 0 else ONE


@kernel
def combine_pair(key: np.uint64, other: np.uint64) -> np.uint64:
    """`combine` for one pair."""
    return _mix(_times(key, PRIME) ^ other)


@kernel
def hash_pieces(text: ByteVector, lengths: LongVector) -> KeyVector:
    """The keys of strings, given by their UTF-8 bytes, end to end, and their numbers of characters."""
    keys, factors = np.empty(len(lengths), dtype=np.uint64), np.empty(len(text), dtype=np.uint64)
    at, n_factors = 0, 0
    for i in range(len(lengths)):
        total, begin, left = ZERO, at, lengths[i]
        while at < len(text):
            begins_character = text[at] & 0xC0 != 0x80
            if begins_character and left == 0:
                break
            left -= begins_character
            place = at - begin
            if place == n_factors:
                factors[place] = _mix(np.uint64(place + 1)) | ONE
                n_factors += 1
            term = _times(np.uint64(text[at]) + ONE, factors[place])
            low = (total & LOW) + (term & LOW)  # a sum modulo 2⁶⁴, by halves like products
            total = (((total >> HALF) + (term >> HALF) + (low >> HALF)) << HALF) | (low & LOW)
            at += 1
        keys[i] = _mix(total)
    return keys


def hash_strings(strings: Sequence[str]) -> KeyVector:
    """A key for every string, never 0.

    >>> hash_strings(["", "a", "b", "ab"]).tolist()
    [1, 4997812038790984084, 17235859931259094078, 2481092388468547593]
    """
    encoded = bytearray(
        "".join(strings), "utf-8", "surrogatepass"
    )  # for `bytes` the kernel would need a second version
    text = np.frombuffer(encoded, dtype=np.uint8)
    return hash_pieces(text, np.fromiter(map(len, strings), dtype=np.int64, count=len(strings)))


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
    return np.where(keys == 0, ONE, keys)


def combine(keys: KeyVector, others: KeyVector) -> KeyVector:
    """A key for every pair; the order of the two matters."""
    return mix(keys * PRIME ^ others)


def roll_keys(keys: KeyVector, indptr: LongVector, longest: int) -> Iterator[tuple[LongVector, KeyVector]]:
    """For every length up to `longest`, where runs of that many keys begin, and a key for each run.

    Runs do not reach across the sequences that begin at `indptr`.

    >>> for starts, runs in roll_keys(hash_strings(["a", "b", "a", "b"]), np.array([0, 2, 4]), longest=3):
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
