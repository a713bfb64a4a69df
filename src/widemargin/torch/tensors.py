"""Between tensors and arrays: memory is shared wherever a tensor is contiguous, on the CPU, and of a known type."""

from typing import TypeAlias

import numpy as np
import torch

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.errors import DataError

Arrays: TypeAlias = tuple[AnyArray, ...]
Tensors: TypeAlias = tuple[torch.Tensor, ...]


def array_of(tensor: torch.Tensor) -> AnyArray:
    """The tensor as a contiguous array of float32 or float64, without a copy where it is one already.

    >>> tensor = torch.zeros(3, 2)
    >>> array_of(tensor).ctypes.data == tensor.data_ptr(), array_of(tensor.half()).dtype
    (True, dtype('float32'))
    """
    tensor = tensor.detach().cpu()
    if tensor.dtype not in (torch.float32, torch.float64):
        tensor = tensor.float()
    return np.ascontiguousarray(tensor.numpy())


def doubles(array: AnyArray) -> FloatVector:
    """The array as float64, without a copy where it is already."""
    return np.ascontiguousarray(array, dtype=np.float64)


def tensor_of(array: AnyArray, like: torch.Tensor) -> torch.Tensor:
    """The array as a tensor with the type and on the device of another; on the CPU the memory is shared."""
    return torch.from_numpy(array).to(device=like.device, dtype=like.dtype)


def indices_of(tensor: torch.Tensor, name: str) -> AnyArray:
    """A tensor of integers as an int32 array."""
    if not isinstance(tensor, torch.Tensor) or tensor.is_floating_point() or tensor.is_complex():
        kind = str(tensor.dtype) if isinstance(tensor, torch.Tensor) else type(tensor).__name__
        raise DataError(f"{name} must be a tensor of integers, not {kind}")
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=np.int32)


def lengths_of(mask: torch.Tensor | None, n_batch: int, longest: int) -> LongVector:
    """How long each example is: of a (B, T) mask, whose rows begin with ones, or (B,) lengths as they are.

    >>> lengths_of(torch.tensor([[True, True, False], [True, True, True]]), 2, 3)
    array([2, 3])
    """
    if mask is None:
        return np.full(n_batch, longest, dtype=np.int64)
    given = mask.detach().cpu().numpy()
    if given.shape == (n_batch,) and given.dtype.kind in "iu":
        lengths = given.astype(np.int64)
        if n_batch and not 0 <= lengths.min() <= lengths.max() <= longest:
            raise DataError(f"lengths must be between 0 and {longest}, but there is {lengths.tolist()!r:.60}")
        return lengths
    if given.shape != (n_batch, longest):
        wanted = f"{(n_batch, longest)}, or ({n_batch},) as lengths"
        raise DataError(f"the mask must have the shape {wanted}, not {given.shape}")
    inside = given.astype(np.bool_)
    if np.any(inside[:, 1:] & ~inside[:, :-1]):
        row = int(np.flatnonzero((inside[:, 1:] & ~inside[:, :-1]).any(axis=1))[0])
        raise DataError(f"row {row} of the mask has a gap; padding must come after all tokens of a sequence")
    return np.count_nonzero(inside, axis=1).astype(np.int64)


def check_finite(array: AnyArray, name: str) -> None:
    """Raise if there is NaN or +inf; −inf forbids parts and is fine."""
    if array.size and not array.max() < np.inf:
        raise DataError(f"the {name} contain NaN or +inf; scores must be finite, or −inf where parts are forbidden")


def check_shape(name: str, tensor: torch.Tensor, *expected: int | str) -> None:
    """Raise if the tensor has another shape; a text in `expected` is the name of a size that may be anything."""
    if not isinstance(tensor, torch.Tensor):
        raise DataError(f"the {name} must be a tensor, not {type(tensor).__name__}")
    fits = tensor.dim() == len(expected) and all(
        isinstance(wanted, str) or size == wanted for size, wanted in zip(tensor.shape, expected, strict=True)
    )
    if not fits:
        shape = ", ".join(map(str, expected))
        raise DataError(f"the {name} must have the shape ({shape}), not {tuple(tensor.shape)}")
