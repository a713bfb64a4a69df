"""Packages whose names are imported when first used, so nobody waits for kernels they do not need."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package that imports each module's names on first use.

    A name must not be that of a module, since importing the module would overwrite it.

    >>> look_up, _, names = lazy_names("widemargin", {"errors": ["DataError"]})
    >>> look_up("DataError"), names
    (<class 'widemargin.errors.DataError'>, ['DataError'])
    """
    homes = {name: module for module, names in modules.items() for name in names}
    hidden = homes.keys() & {module.partition(".")[0] for module in modules}
    if hidden:
        raise ValueError(f"{package}: {', '.join(sorted(hidden))} would be hidden by the module of that name")

    def look_up(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    names = sorted(homes)
    return look_up, lambda: names, names
