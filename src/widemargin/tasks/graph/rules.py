"""Constraints on labels of nodes (`tasks.constraints`) as rules of graphs (`structures.graph_rules`)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from widemargin._types import LongVector
from widemargin.errors import DataError, UnsupportedError
from widemargin.structures.graph_rules import Part, Rule, RuledGraphs, at_most, exactly, implies
from widemargin.tasks.constraints import Constraints, numbers_of
from widemargin.tasks.graph.features import Compiled, GraphScheme
from widemargin.tasks.graph.inputs import Graph

COUNTED: dict[str, Callable[[int, Sequence[Part]], Rule]] = {"at_most": at_most, "exactly": exactly}


def with_rules(
    scheme: GraphScheme, labels: Sequence[Any], given: Sequence[Graph], compiled: Compiled, constraints: Constraints
) -> tuple[Compiled, RuledGraphs]:
    """The graphs, each with a shape of its own, and the structure whose outputs obey the constraints."""
    if constraints != constraints.only_rules():
        raise UnsupportedError("graphs support only the constraints implies, at_most, exactly and together")
    rules = _Reader(scheme, labels, given, compiled).rules(constraints)
    shapes = [compiled.shapes[size] for size in compiled.sizes.tolist()]
    sizes = np.arange(len(shapes))
    compiled = compiled._replace(shapes=shapes, sizes=sizes, features=compiled.features.with_sizes(sizes))
    return compiled, RuledGraphs(shapes, rules)


class _Reader:
    """Reads parts (node, label), or (type, node, label), of each graph as nodes and states."""

    def __init__(self, scheme: GraphScheme, labels: Sequence[Any], given: Sequence[Graph], compiled: Compiled) -> None:
        self.scheme, self.given = scheme, given
        self.number = {label: k for k, label in enumerate(labels)}
        self.types = np.split(compiled.types, compiled.nodes[1:-1]) if given else []
        self.states = [scheme.labels_of(kind) for kind in scheme.types]

    def rules(self, constraints: Constraints) -> list[list[Rule]]:
        """The rules of each graph."""
        found = [list[Rule]() for _ in self.given]
        for name, i, entry in constraints.rules(len(self.given)):
            text = f"graph {i}: {name}"
            if name in COUNTED:
                found[i].append(self._counted(COUNTED[name], i, text, entry))
            else:
                parts = self._parts(text, entry)
                pairs = [parts] if name == "implies" else zip(parts, [*parts[1:], *parts[:1]], strict=True)
                found[i].extend(self._implication(i, text, *each) for each in pairs)
        return found

    def _counted(self, make: Callable[[int, Sequence[Part]], Rule], i: int, name: str, entry: Any) -> Rule:
        if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) != 2:
            raise DataError(f"{name} wants (number, parts) or (number, label), not {entry!r}")
        k, parts = entry
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 0:
            raise DataError(f"{name} wants a whole number that is not negative, not {k!r}")
        if isinstance(parts, str) or not isinstance(parts, Sequence):
            (label,) = numbers_of([parts], self.number)
            at = [
                (v, state)
                for v, t in enumerate(self.types[i].tolist())
                for state in np.flatnonzero(self.states[t] == label).tolist()
            ]
            return make(int(k), at)._replace(words=f"{name} {k} of {parts!r}")
        at = [state for part in parts for state in self._states(i, name, part)]
        return make(int(k), at)._replace(words=f"{name} {k} of {', '.join(map(str, parts))}")

    def _implication(self, i: int, name: str, part: Any, *others: Any) -> Rule:
        """With any state of the part's label, some state of another part's."""
        here, there = self._states(i, name, part), [state for each in others for state in self._states(i, name, each)]
        rule = implies(here[0], *there)
        words = f"{name} {', '.join(map(str, (part, *others)))}"
        return Rule((*here, *there), (*[1.0] * len(here), *rule.weights[1:]), rule.low, rule.high, words)

    def _parts(self, name: str, entry: Any) -> Sequence[Any]:
        if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) < 2:
            raise DataError(f"{name} wants several parts (node, label), not {entry!r}")
        return entry

    def _states(self, i: int, name: str, part: Any) -> list[Part]:
        """The states of a part's label, each with the number of its node."""
        named = self.given[i].named
        wanted = "(type, node, label)" if named else "(node, label)"
        if not isinstance(part, Sequence) or isinstance(part, str) or len(part) != (3 if named else 2):
            raise DataError(f"{name} names {part!r}, which is no part {wanted}")
        nodes = self._nodes(i, name, part)
        v = part[-2]
        if isinstance(v, bool) or not isinstance(v, int | np.integer) or not 0 <= v < len(nodes):
            raise DataError(f"{name} names {part!r}, but the nodes are 0 … {len(nodes) - 1}")
        (label,) = numbers_of([part[-1]], self.number)
        node = int(nodes[v])
        kind = int(self.types[i][node])
        found = [(node, state) for state in np.flatnonzero(self.states[kind] == label).tolist()]
        if not found:
            raise DataError(f"{name} names {part!r}, but nodes of the type {self.scheme.types[kind]!r} never have it")
        return found

    def _nodes(self, i: int, name: str, part: Any) -> LongVector:
        """The nodes among which a part's node is counted."""
        if not self.given[i].named:
            return np.arange(len(self.types[i]))
        if part[0] not in self.scheme.types:
            raise DataError(f"{name} names {part!r}; the types of nodes are {', '.join(map(repr, self.scheme.types))}")
        return np.flatnonzero(self.types[i] == self.scheme.types.index(part[0]))
