"""Lists of strings as arrays, for model files: one array of UTF-8 text and one of lengths."""

from collections.abc import Mapping, Sequence

import numpy as np

from widemargin._types import AnyArray


def pack_strings(name: str, strings: Sequence[str]) -> dict[str, AnyArray]:
    """Two arrays for a list of strings, named after it."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    return {
        f"{name}.text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{name}.lengths": np.array([len(each) for each in encoded], dtype=np.int64),
    }


def unpack_strings(name: str, arrays: Mapping[str, AnyArray]) -> list[str]:
    """The list of strings that `pack_strings` stored.

    >>> unpack_strings("names", pack_strings("names", ["a", "", "æ"]))
    ['a', '', 'æ']
    """
    text = arrays[f"{name}.text"].tobytes()
    ends = np.cumsum(arrays[f"{name}.lengths"]).tolist()
    return [text[begin:end].decode("utf-8", "surrogatepass") for begin, end in zip([0, *ends], ends, strict=False)]
