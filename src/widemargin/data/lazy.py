"""Columns that are interned when they are first asked for.

A CoNLL-U file has ten columns and a tagger reads two of them: cutting out and interning the other eight would be most
of the time spent reading.
"""

from collections.abc import Callable, Iterator, Mapping

from widemargin.columns import Column


class LazyColumns(Mapping[str, Column]):
    """Columns by name, each made from its strings on first use and kept.

    Aliases are second names: they can be looked up, but iteration gives every column once, under its own name.

    >>> columns = LazyColumns({"word": lambda: ["to", "be"]}, {"form": "word"})
    >>> columns["form"].strings(), list(columns)
    (['to', 'be'], ['word'])
    """

    def __init__(self, strings: Mapping[str, Callable[[], list[str]]], aliases: Mapping[str, str]) -> None:
        self._strings = strings
        self._aliases = aliases
        self._made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        name = self._aliases.get(name, name)
        if name not in self._made:
            self._made[name] = Column.of(self._strings[name]())
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._aliases.get(name, name) in self._strings

    def __iter__(self) -> Iterator[str]:
        return iter(self._strings)

    def __len__(self) -> int:
        return len(self._strings)
