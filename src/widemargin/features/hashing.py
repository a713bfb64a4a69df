"""64-bit keys of strings and of combinations of keys: the identity of a feature, equal in every process.

Strings are hashed by FNV-1a over their UTF-8 bytes, all of them at once, one byte position after the other; a
finaliser spreads the bits. Two of n features share a key with probability n² / 2⁶⁵: for a million features, 3 in 10⁸.
"""

from collections.abc import Sequence

import numpy as np

from widemargin._types import KeyVector

OFFSET, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
MULTIPLIERS = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


def hash_strings(strings: Sequence[str]) -> KeyVector:
    """A key for every string, never 0.

    >>> hash_strings(["", "a", "b"]).tolist()
    [17280346270528514342, 9413272369427828315, 7955382828454826704]
    """
    if not strings:
        return np.empty(0, dtype=np.uint64)
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    lengths = np.array([len(each) for each in encoded])
    begins = np.cumsum(lengths) - lengths
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8).astype(np.uint64)
    # Longest first, so that the strings which still have a byte at this position are always the leading ones.
    order = np.argsort(-lengths, kind="stable")
    begins, lengths = begins[order], lengths[order]
    keys = np.full(len(strings), OFFSET)
    remaining = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
    for position, n in enumerate(remaining.tolist()):
        keys[:n] = (keys[:n] ^ text[begins[:n] + position]) * PRIME
    out = np.empty_like(keys)
    out[order] = mix(keys)
    return out


def mix(keys: KeyVector) -> KeyVector:
    """Spread the bits of every key over all 64 (the finaliser of MurmurHash3), avoiding 0, which marks absence."""
    for multiplier in MULTIPLIERS:
        keys = (keys ^ (keys >> np.uint64(33))) * multiplier
    keys = keys ^ (keys >> np.uint64(33))
    return np.where(keys == 0, np.uint64(1), keys)


def combine(keys: KeyVector, others: KeyVector) -> KeyVector:
    """A key for every pair; the order of the two matters."""
    return mix(keys * PRIME ^ others)
