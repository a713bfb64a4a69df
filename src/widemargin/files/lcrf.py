"""CRFsuite's model files: a first-order chain as strings and weights.

    "lCRF"  size  "FOMC"  100  0  labels  attributes  and the offsets of the five parts below
    "FEAT"  size  n, then n features: kind (0 state, 1 transition), source, target, weight as a double
    the labels and the attributes, a database of strings each (`files.quark`)
    "LFRF"  size  labels + 2, the offset of each list below, then for each label how many transitions leave it, which
    "AFRF"  size  attributes, likewise for each attribute and its states

All other numbers are 32-bit, lowest byte first. A state is an attribute and a label. The two lists only repeat the
features: they are written, but not read. Features are sorted by kind, source and target, so equal models have equal
bytes.
"""

import os
import struct
from typing import NamedTuple

import numpy as np

from widemargin._types import AnyArray, ByteVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.atomic import replacing
from widemargin.core.header import Place
from widemargin.core.model_file import map_file
from widemargin.core.sparse import Rows, boundaries
from widemargin.errors import DataError, ModelFileError, WidemarginError
from widemargin.files.quark import MASK, PackedStrings, as_bytes, quark_database, read_quarks
from widemargin.text.alphabet import Alphabet
from widemargin.text.hashing import hash_pieces, hash_strings

MAGIC, TYPE, VERSION = b"lCRF", b"FOMC", 100
HEADER = struct.Struct("<4sI4s9I")
CHUNK = struct.Struct("<4sII")
FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
STATE, TRANSITION = 0, 1


class Weights(NamedTuple):
    """Weights by the numbers of their sources and targets."""

    source: IntVector
    target: IntVector
    weight: FloatVector

    def ordered(self) -> "Weights":
        """The weights that are not zero, by source and target."""
        kept = np.flatnonzero(self.weight)
        kept = kept[np.lexsort((self.target[kept], self.source[kept]))]
        return Weights(self.source[kept], self.target[kept], self.weight[kept])


class ChainFile(NamedTuple):
    """The contents of a file: the names of labels and attributes, and weights by their numbers.

    A state leads from an attribute to a label, a transition from a label to the next. Weights from a file are sorted by
    source and target; weights to be written may be in any order.
    """

    labels: list[str]
    attributes: "list[str] | PackedStrings"
    states: Weights
    transitions: Weights

    def alphabet(self, name: str) -> Alphabet:
        """The numbers of attributes by the keys of their names; an error if the model `name` cannot tag."""
        if not self.labels:
            raise ModelFileError(f"the model {name} has no labels")
        attributes = self.attributes
        if isinstance(attributes, PackedStrings) and attributes.are_utf8:
            found = Alphabet(hash_pieces(attributes.text, attributes.n_characters))
        else:
            found = Alphabet(hash_strings(list(attributes)))
        if found.size < len(attributes):
            raise ModelFileError(f"the model {name} is damaged: its attributes are not distinct")
        return found

    def rows(self) -> Rows:
        """The weights of each attribute as a sparse row; they must be sorted, as those from a file are."""
        source, target, weight = self.states
        return Rows(boundaries(np.bincount(source, minlength=len(self.attributes))), target, weight)

    def table(self) -> FloatMatrix:
        """The weights of transitions from each label to each label."""
        table = np.zeros((len(self.labels), len(self.labels)))
        table[self.transitions.source, self.transitions.target] = self.transitions.weight
        return table


class LcrfHeader(NamedTuple):
    """The header of a file."""

    magic: bytes
    size: int
    type: bytes
    version: int
    n_features: int
    n_labels: int
    n_attributes: int
    features: int
    labels: int
    attributes: int
    label_lists: int
    attribute_lists: int


def read_lcrf(source: "str | os.PathLike[str] | bytes") -> ChainFile:
    """The contents of a file, given by its path or its bytes; raise `ModelFileError` if it is not one of CRFsuite's."""
    if isinstance(source, bytes):
        return _parse(np.frombuffer(source, dtype=np.uint8), Place("the model in memory"))
    return _parse(np.frombuffer(map_file(source), dtype=np.uint8), Place(f"the model {os.fspath(source)}"))


def read_layout(content: "ByteVector | bytes", place: Place) -> LcrfHeader:
    """The header, if it is one that this module understands."""
    if bytes(content[:4]) != MAGIC:
        raise place.error("is not one of CRFsuite's: it does not begin with lCRF")
    if len(content) < HEADER.size:
        raise place.error("is truncated: it ends within its header")
    layout = LcrfHeader(*HEADER.unpack(bytes(content[: HEADER.size])))
    if layout.type != TYPE or layout.version != VERSION:
        raise place.error(
            f"is of type {layout.type!r} and version {layout.version}; only {TYPE!r} and {VERSION} can be read"
        )
    if layout.size > len(content):
        raise place.error(f"is truncated: it has {len(content):,} bytes of {layout.size:,}")
    return layout


def _parse(content: ByteVector, place: Place) -> ChainFile:
    layout = read_layout(content, place)
    labels = read_quarks(content, layout.labels, layout.n_labels, place)
    if not labels.are_utf8:
        raise place.damaged(f"its labels {labels[:3]} are not UTF-8")
    if len(set(labels)) < len(labels):
        raise place.damaged("its labels are not distinct")
    attributes = read_quarks(content, layout.attributes, layout.n_attributes, place)
    features = _features(content, layout.features, place)
    kind, n = features["kind"], len(labels)
    is_transition = kind == TRANSITION
    if not (is_transition | (kind == STATE)).all():
        raise place.damaged(f"it has features of the kind {kind.max()}; there are only 0 and 1")
    n_states = len(kind) - int(np.count_nonzero(is_transition))
    if is_transition[:n_states].any():
        features = features[np.argsort(kind, kind="stable")]
    states, transitions = features[:n_states], features[n_states:]
    return ChainFile(
        labels.strings,
        attributes,
        _weights(states, len(attributes), n, place),
        _weights(transitions, n, n, place),
    )


def _features(content: ByteVector, begin: int, place: Place) -> AnyArray:
    if begin + CHUNK.size > len(content):
        raise place.damaged(f"it ends before the features that begin at byte {begin:,}")
    chunk, _, n = CHUNK.unpack(content[begin : begin + CHUNK.size].tobytes())
    if chunk != b"FEAT" or begin + CHUNK.size + n * FEATURE.itemsize > len(content):
        raise place.damaged(f"what begins at byte {begin:,} is not a list of {n:,} features")
    return np.frombuffer(content, FEATURE, n, begin + CHUNK.size)


def _weights(features: AnyArray, n_sources: int, n_targets: int, place: Place) -> Weights:
    source, target = features["source"], features["target"]
    if len(features) and (source.max() >= n_sources or target.max() >= n_targets):
        raise place.damaged("it has weights of labels or attributes that it does not have")
    places = source.astype(np.int64) * n_targets + target
    if not (places[1:] > places[:-1]).all():
        order = np.argsort(places, kind="stable")
        features, places = features[order], places[order]
        if (places[1:] == places[:-1]).any():
            raise place.damaged("it has two weights for the same thing")
    weight = features["weight"].astype(np.float64)
    if not (weight < np.inf).all():
        raise place.damaged("some of its weights are not numbers, or infinite")
    return Weights(features["source"].astype(np.int32), features["target"].astype(np.int32), weight)


def write_lcrf(path: "str | os.PathLike[str]", file: ChainFile) -> None:
    """Write a file that CRFsuite reads, either completely or not at all."""
    content = lcrf_bytes(file)
    with replacing(path, "wb") as stream:
        stream.write(content)


def lcrf_bytes(file: ChainFile) -> bytes:
    """The bytes of a file that CRFsuite reads.

    Weights of zero are left out, and so are attributes with no other weights, as CRFsuite does.
    """
    file = _check(file)
    states, transitions = file.states.ordered(), file.transitions.ordered()
    used = np.bincount(states.source, minlength=len(file.attributes)) > 0
    attributes = file.attributes
    if not used.all():
        attributes = [attributes[k] for k in np.flatnonzero(used).tolist()]
        states = states._replace(source=(np.cumsum(used) - 1)[states.source].astype(np.int32))
    n_states, n_features = len(states.weight), len(states.weight) + len(transitions.weight)
    features = np.empty(n_features, dtype=FEATURE)
    features["kind"] = np.arange(n_features) >= n_states
    for name in Weights._fields:
        features[name] = np.concatenate([getattr(states, name), getattr(transitions, name)])
    labels, at = quark_database(file.labels), HEADER.size
    parts = [CHUNK.pack(b"FEAT", CHUNK.size + features.nbytes, n_features) + features.tobytes()]
    parts += [labels, quark_database(attributes)]
    offsets = (at + boundaries(map(len, parts))).tolist()
    parts.append(bytes(-offsets[-1] % 4))
    n_labels = len(file.labels)
    for chunk, sources, first, n, more in (
        (b"LFRF", transitions.source, n_states, n_labels, 2),
        (b"AFRF", states.source, 0, len(attributes), 0),
    ):
        at = HEADER.size + sum(map(len, parts))
        offsets.append(at)
        parts.append(_lists(chunk, at, np.bincount(sources, minlength=n), first, more))
    size = HEADER.size + sum(map(len, parts))
    if size > MASK:
        raise WidemarginError(f"the model takes {size:,} bytes; CRFsuite's files cannot hold more than 4 GB")
    layout = LcrfHeader(MAGIC, size, TYPE, VERSION, 0, n_labels, len(attributes), *offsets[:3], *offsets[4:])
    return b"".join([HEADER.pack(*layout), *parts])


def _lists(chunk: bytes, begin: int, counts: LongVector, first: int, more: int) -> bytes:
    """The lists of each source's features, whose numbers ascend from `first`; `more` further sources have none."""
    n = len(counts)
    ends = np.cumsum(counts + 1)
    lists = np.arange(first - 1, first - 1 + n + counts.sum())
    lists -= np.repeat(np.arange(n), counts + 1)
    lists[ends - counts - 1] = counts
    begin += CHUNK.size + 4 * (n + more)
    offsets = np.concatenate([begin + 4 * (ends - counts - 1), np.zeros(more, dtype=np.int64)])
    size = CHUNK.size + 4 * (len(offsets) + len(lists))
    return CHUNK.pack(chunk, size, len(offsets)) + as_bytes(offsets) + as_bytes(lists)


def _check(file: ChainFile) -> ChainFile:
    """The file, if its parts fit together."""
    for kind, names in (("labels", file.labels), ("attributes", file.attributes)):
        if len(set(names)) < len(names):
            raise DataError(f"the {kind} of a model must be distinct")
    sizes = {"states": len(file.attributes), "transitions": len(file.labels)}
    for (kind, n_sources), weights in zip(sizes.items(), (file.states, file.transitions), strict=True):
        source, target, weight = weights
        if not len(source) == len(target) == len(weight):
            raise DataError(f"the {kind} have {len(source)} sources, {len(target)} targets and {len(weight)} weights")
        for numbers, n in ((source, n_sources), (target, len(file.labels))):
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < n:
                raise DataError(f"the {kind} have numbers from {numbers.min()} to {numbers.max()}, not below {n}")
        if not (weight < np.inf).all():
            raise DataError(f"the {kind} have weights that are not numbers, or infinite")
    return file
