"""Pairs in svmlight lines, with the pair behind ``#``.

    +1 3:1 17:0.25  # letter-4 0 2

says that the items 0 and 2 of the document letter-4 belong together; −1 (or 0) says that they do not. Items are whole
numbers; only those that a line names exist, and their order is that of the numbers. Pairs with +1 hold clusters
together; a pair with −1 inside of a cluster is an error. Predictions replace the labels.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin.decoders.kruskal import components
from widemargin.files.raw import RawText, shortened
from widemargin.files.svmlight import SvmlightData, parse
from widemargin.tasks.cluster.features import Pairs

LABELS = {"+1": True, "1": True, "-1": False, "0": False}


class PairFile(NamedTuple):
    """The documents of a file, and for each the examples of the file that its pairs are."""

    data: SvmlightData
    X: list[Pairs]
    y: list[list[int]] | None
    examples: list[list[int]]
    facts: dict[str, Any]
    names: Sequence[str] = ()

    @property
    def sizes(self) -> list[int]:
        """The number of items of each document."""
        return [document.n or 0 for document in self.X]

    def rewritten(self, outputs: Sequence[Sequence[int]]) -> str:
        """The file with a label that says for each pair whether it is in one cluster."""
        labels = [""] * len(self.data.labels)
        for document, examples, clusters in zip(self.X, self.examples, outputs, strict=True):
            for example, (i, j) in zip(examples, document.pairs.tolist(), strict=True):
                labels[example] = "+1" if clusters[i] == clusters[j] else "-1"
        return self.data.relabelled(labels)


def read(raw: RawText, chosen: str, names: Sequence[str] | None, about: Mapping[str, Any], *, gold: bool) -> PairFile:
    """Read pairs; indices of features beyond those of the training data are left out."""
    from scipy import sparse  # slow to import

    data = parse(raw)
    width = data.width if about.get("width") is None else about["width"]
    rows = data.matrix(width).rows
    features = sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=(len(rows.indptr) - 1, width))
    of_document: dict[str, list[int]] = {}
    pairs = []
    for example, line in enumerate(data.lines.tolist()):
        document, i, j = _pair(raw, line)
        of_document.setdefault(document, []).append(example)
        pairs.append((i, j))
    X, y = [], []
    for examples in of_document.values():
        given = np.array([pairs[example] for example in examples])
        items, numbers = np.unique(given, return_inverse=True)
        numbers = numbers.reshape(-1, 2)
        X.append(Pairs(numbers, features[examples], len(items)))
        if gold:
            y.append(_clusters(data, examples, numbers, items))
    return PairFile(data, X, y if gold else None, list(of_document.values()), {"width": width})


def _pair(raw: RawText, line: int) -> tuple[str, int, int]:
    """The document and the two items that a line is about."""
    words = raw.lines[line].partition("#")[2].split()
    numbers = [word for word in words[1:] if word.isascii() and word.isdecimal() and len(word) < 10]
    if len(words) != 3 or len(numbers) != 2 or int(numbers[0]) == int(numbers[1]):
        found = shortened(raw.lines[line].strip())
        raise raw.fault(line, f"a document and two different items, as in '# d 0 1', must be at the end: {found!r}")
    return words[0], int(numbers[0]), int(numbers[1])


def _clusters(data: SvmlightData, examples: Sequence[int], numbers: Any, items: Any) -> list[int]:
    """The clusters that the positive pairs of a document hold together."""
    together = []
    for example in examples:
        labels = data.labels[example]
        if len(labels) != 1 or labels[0] not in LABELS:
            raise data.raw.fault(int(data.lines[example]), f"the label is {','.join(labels)!r}, not +1 or -1")
        together.append(LABELS[labels[0]])
    first, second = (numbers[:, k].astype(np.int32) for k in (0, 1))
    clusters = components(first, second, np.array(together, dtype=np.int8), len(items))
    for example, positive, i, j in zip(examples, together, first, second, strict=True):
        if not positive and clusters[i] == clusters[j]:
            raise data.raw.fault(
                int(data.lines[example]),
                f"the items {items[i]} and {items[j]} are apart here, but other pairs put them together",
            )
    found: list[int] = clusters.tolist()
    return found
