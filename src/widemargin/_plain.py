"""How kernels are compiled where `_compiler` does not work: by Numba's own `njit`, in about twice the time."""

from collections.abc import Callable
from typing import Any

import numba
from numba.core import compiler

OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
"""`fastmath` is limited to reassociation and contraction, which let sums vectorise: the full flag assumes that there
are no infinities, but constraints are written as −inf."""


def compile_kernel(function: Callable[..., Any]) -> Any:
    """The kernel of a function."""
    return numba.jit(**OPTIONS)(function)


def pack(result: Any) -> tuple[Any, ...]:
    """The stored form of a compiled kernel: its machine code, and the intermediate code that its callers link in."""
    parts: tuple[Any, ...] = result._reduce()
    return parts


def unpack(context: Any, *parts: Any) -> Any:
    """A kernel made ready to be called."""
    context.refresh()
    return compiler.CompileResult._rebuild(context, *parts)
