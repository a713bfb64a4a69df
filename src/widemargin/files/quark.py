"""Constant quark databases (CQDB), with which CRFsuite's files number strings.

A database is a header, references to 256 hash tables, the records, the tables, and the offset of every record by its
number. All numbers are 32-bit, lowest byte first; offsets count from the header.

    "CQDB"  size  flag  byte order  count  offset of `backward`
    (offset, 2n) of each table
    (number, length, string and a zero byte) of each record
    (hash, offset) of 2n places in each table
    backward: offset of each record

A string's hash is lookup3 (Bob Jenkins, 2006) of its bytes and the zero byte. Its low 8 bits choose a table, the other
bits the place in it; a string whose place is taken goes to the next free one.

This module reads strings by number, so it ignores the hash tables.
"""

import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, ByteVector, LongVector
from widemargin.core.header import Place
from widemargin.core.sparse import boundaries
from widemargin.errors import WidemarginError

HEADER = struct.Struct("<4s5I")
N_TABLES = 256
FIRST_RECORD = HEADER.size + 8 * N_TABLES
CHUNK, BYTE_ORDER = b"CQDB", 0x62445371
MASK = 0xFFFFFFFF


class PackedStrings(Sequence[str]):
    """Strings as one array of UTF-8 bytes, decoded when first asked for.

    `lengths` counts the bytes of each string, `n_characters` the bytes that begin a character. Bytes that are not UTF-8
    become lone surrogates, as in Python's file names, so that different strings stay different.
    """

    def __init__(self, text: ByteVector, lengths: LongVector, n_characters: LongVector) -> None:
        self.text, self.lengths, self.n_characters = text, lengths, n_characters

    @cached_property
    def strings(self) -> list[str]:
        """All strings."""
        text, ends = self.text.tobytes(), np.cumsum(self.lengths).tolist()
        pieces = zip([0, *ends], ends, strict=False)
        return [text[begin:end].decode("utf-8", "surrogateescape") for begin, end in pieces]

    @cached_property
    def are_utf8(self) -> bool:
        """Whether every string is UTF-8."""
        begins = (np.cumsum(self.lengths) - self.lengths)[self.lengths > 0]
        if ((self.text[begins] & 0xC0) == 0x80).any():
            return False  # a character may begin in one string and end in the next
        try:
            self.text.tobytes().decode()
        except UnicodeDecodeError:
            return False
        return True

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self.strings[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.strings == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self.strings))


def encode_string(string: str) -> bytes:
    """The bytes of a string in a file, without the zero byte that ends it."""
    try:
        content = string.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise WidemarginError(f"{string!r:.60} has a lone surrogate, which no file can hold") from None
    if b"\0" in content:
        raise WidemarginError(f"{string!r:.60} has a zero byte, which ends a string in CRFsuite's files")
    return content


def numbers(content: ByteVector, begin: int, n: int, place: Place) -> LongVector:
    """The `n` 32-bit numbers from `begin` on."""
    if begin + 4 * n > len(content):
        raise place.damaged(f"it ends before the {n:,} numbers that begin at byte {begin:,}")
    return np.frombuffer(content, "<u4", n, begin).astype(np.int64)


def read_quarks(content: ByteVector, begin: int, n: int, place: Place) -> PackedStrings:
    """The `n` strings of the database that begins at `begin`, in the order of their numbers."""
    if begin + FIRST_RECORD > len(content):
        raise place.damaged(f"it ends before the strings that begin at byte {begin:,}")
    chunk, size, _, order, count, backward = HEADER.unpack(content[begin : begin + HEADER.size].tobytes())
    if chunk != CHUNK or order != BYTE_ORDER or count != n or begin + size > len(content):
        raise place.damaged(f"the strings that begin at byte {begin:,} are not a database of {n:,} strings")
    content = content[begin : begin + size].copy()  # of our own: for `bytes` the kernel would need a second version
    offsets = numbers(content, backward, n, place)
    # No more room than the file has bytes: overlapping strings of a damaged file could ask for more.
    text, lengths, characters = np.empty(size, dtype=np.uint8), np.empty_like(offsets), np.empty_like(offsets)
    wrong = _copy_strings(content, offsets, text, lengths, characters)
    if wrong >= 0:
        raise place.damaged(f"string {wrong:,} of those that begin at byte {begin:,} is not where it should be")
    return PackedStrings(text[: lengths.sum()].copy(), lengths, characters)


@kernel
def _copy_strings(
    content: ByteVector, offsets: LongVector, text: ByteVector, lengths: LongVector, characters: LongVector
) -> int:
    """Write the strings end to end into `text`, with their lengths; return the first bad record, or −1."""
    # The file is not trusted: every place is checked before it is read. Bytes 10xxxxxx continue a character of UTF-8.
    write = 0
    for i in range(len(offsets)):
        begin = offsets[i] + 8
        if offsets[i] < 24 or begin >= len(content) or _word(content, begin - 8, begin) != i:
            return i
        lengths[i] = _word(content, begin - 4, begin) - 1
        end = begin + lengths[i]
        if lengths[i] < 0 or end >= len(content) or write + lengths[i] > len(text) or content[end] != 0:
            return i
        characters[i] = 0
        for k in range(begin, end):
            text[write] = content[k]
            characters[i] += (content[k] & 0xC0) != 0x80
            write += 1
            if content[k] == 0:
                return i
    return -1


def quark_database(strings: Sequence[str]) -> bytes:
    """The database of distinct strings, numbered in their order."""
    records = [encode_string(string) for string in strings]
    lengths = np.fromiter(map(len, records), dtype=np.int64, count=len(records)) + 1
    content = b"".join(struct.pack("<II", i, len(record) + 1) + record + b"\0" for i, record in enumerate(records))
    ends = FIRST_RECORD + np.cumsum(lengths + 8)
    if len(ends) and ends[-1] > MASK:
        raise WidemarginError("these strings take more than 4 GB, which CRFsuite's files cannot hold")
    offsets = ends - lengths - 8
    hashes = _hashes(np.frombuffer(content, dtype=np.uint8), offsets + 8 - FIRST_RECORD, lengths)
    sizes = 2 * np.bincount(hashes % N_TABLES, minlength=N_TABLES)
    places = boundaries(sizes)
    buckets = _buckets(hashes, offsets, places)
    first_table = FIRST_RECORD + len(content)
    references = np.stack([np.where(sizes > 0, first_table + 8 * places[:-1], 0), sizes], axis=1)
    backward = first_table + 8 * len(buckets)
    size = backward + 4 * len(records)
    header = HEADER.pack(CHUNK, size, 0, BYTE_ORDER, len(records), backward if records else 0)
    return b"".join([header, as_bytes(references), content, as_bytes(buckets), as_bytes(offsets)])


def as_bytes(values: AnyArray) -> bytes:
    """Numbers as 32-bit values, lowest byte first."""
    return values.astype("<u4").tobytes()


@kernel
def _buckets(hashes: LongVector, offsets: LongVector, places: LongVector) -> LongVector:
    """The places of all tables, one after the other: hash and offset, or zeros."""
    buckets = np.zeros((places[-1], 2), dtype=np.int64)
    for i in range(len(hashes)):
        table = hashes[i] & 255
        begin, n = places[table], places[table + 1] - places[table]
        k = (hashes[i] >> 8) % n
        while buckets[begin + k, 1] != 0:
            k = (k + 1) % n
        buckets[begin + k, 0], buckets[begin + k, 1] = hashes[i], offsets[i]
    return buckets


@kernel
def _rotate(x: int, k: int) -> int:
    return ((x << k) | (x >> (32 - k))) & 0xFFFFFFFF


@kernel
def _word(content: ByteVector, begin: int, end: int) -> int:
    """The number in up to four bytes, lowest first; those from `end` on count as zeros."""
    word = 0
    for k in range(begin, min(begin + 4, end)):
        word |= int(content[k]) << (8 * (k - begin))
    return word


@kernel
def _hashes(content: ByteVector, starts: LongVector, lengths: LongVector) -> LongVector:
    """lookup3 of pieces of `content`, none of them empty.

    Three 32-bit words in 64-bit integers, reduced after every step: NumPy would warn of overflows in interpreted code.
    """
    # The last block, of 1 to 12 bytes, gets the final mixing; `_word` pads it with zeros, as the C code does.
    out = np.empty(len(starts), dtype=np.int64)
    for i in range(len(starts)):
        at, end = starts[i], starts[i] + lengths[i]
        a = b = c = (0xDEADBEEF + lengths[i]) & 0xFFFFFFFF
        while end - at > 12:
            a = (a + _word(content, at, end)) & 0xFFFFFFFF
            b = (b + _word(content, at + 4, end)) & 0xFFFFFFFF
            c = (c + _word(content, at + 8, end)) & 0xFFFFFFFF
            a, c = ((a - c) & 0xFFFFFFFF) ^ _rotate(c, 4), (c + b) & 0xFFFFFFFF
            b, a = ((b - a) & 0xFFFFFFFF) ^ _rotate(a, 6), (a + c) & 0xFFFFFFFF
            c, b = ((c - b) & 0xFFFFFFFF) ^ _rotate(b, 8), (b + a) & 0xFFFFFFFF
            a, c = ((a - c) & 0xFFFFFFFF) ^ _rotate(c, 16), (c + b) & 0xFFFFFFFF
            b, a = ((b - a) & 0xFFFFFFFF) ^ _rotate(a, 19), (a + c) & 0xFFFFFFFF
            c, b = ((c - b) & 0xFFFFFFFF) ^ _rotate(b, 4), (b + a) & 0xFFFFFFFF
            at += 12
        a = (a + _word(content, at, end)) & 0xFFFFFFFF
        b = (b + _word(content, at + 4, end)) & 0xFFFFFFFF
        c = (c + _word(content, at + 8, end)) & 0xFFFFFFFF
        c = ((c ^ b) - _rotate(b, 14)) & 0xFFFFFFFF
        a = ((a ^ c) - _rotate(c, 11)) & 0xFFFFFFFF
        b = ((b ^ a) - _rotate(a, 25)) & 0xFFFFFFFF
        c = ((c ^ b) - _rotate(b, 16)) & 0xFFFFFFFF
        a = ((a ^ c) - _rotate(c, 4)) & 0xFFFFFFFF
        b = ((b ^ a) - _rotate(a, 14)) & 0xFFFFFFFF
        out[i] = ((c ^ b) - _rotate(b, 24)) & 0xFFFFFFFF
    return out
