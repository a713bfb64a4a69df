"""Conversion of tensors and arrays; memory is shared if a tensor is contiguous, on the CPU, and of a known type."""

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
import torch

from widemargin._types import AnyArray, BoolMatrix, LongVector
from widemargin.errors import DataError

Arrays: TypeAlias = tuple[AnyArray, ...]
Tensors: TypeAlias = tuple[torch.Tensor, ...]


def array_of(tensor: torch.Tensor) -> AnyArray:
    """The tensor as a contiguous array of float32 or float64, without a copy if possible.

    >>> tensor = torch.zeros(3, 2)
    >>> array_of(tensor).ctypes.data == tensor.data_ptr(), array_of(tensor.half()).dtype
    (True, dtype('float32'))
    """
    tensor = tensor.detach().cpu()
    return np.ascontiguousarray(tensor.to(_known(tensor)).numpy())


def arrays_of(tensors: Tensors) -> Arrays:
    """The tensors as arrays; tensors on another device come in one transfer."""
    first = tensors[0]
    if first.device.type == "cpu" or len(tensors) == 1:
        return tuple(map(array_of, tensors))
    joined = array_of(torch.cat([each.detach().reshape(-1) for each in tensors]))
    return split(joined, [each.shape for each in tensors])


def split(joined: AnyArray, shapes: Sequence[Sequence[int]]) -> Arrays:
    """Arrays of these shapes from their entries end to end in the last dimension; leading dimensions are kept.

    >>> [each.tolist() for each in split(np.arange(4), [(1, 2), (2,)])]
    [[[0, 1]], [2, 3]]
    """
    found, begin = list[AnyArray](), 0
    for shape in shapes:
        end = begin + prod(shape)
        found.append(joined[..., begin:end].reshape(*joined.shape[:-1], *shape))
        begin = end
    return tuple(found)


def _known(tensor: torch.Tensor) -> torch.dtype:
    return tensor.dtype if tensor.dtype in (torch.float32, torch.float64) else torch.float32


def tensor_of(array: AnyArray, like: torch.Tensor) -> torch.Tensor:
    """The array as a tensor with the type and on the device of another; on the CPU the memory is shared."""
    return torch.from_numpy(array).to(device=like.device, dtype=like.dtype)


def tensors_of(arrays: Arrays, likes: Tensors) -> Tensors:
    """The arrays as tensors with the types and on the device of others, in one transfer."""
    if likes[0].device.type == "cpu" or len(likes) == 1:
        return tuple(map(tensor_of, arrays, likes))
    joined = torch.from_numpy(np.concatenate([each.ravel() for each in arrays])).to(likes[0].device)
    pieces = torch.split(joined, [each.size for each in arrays])
    return tuple(
        piece.reshape(each.shape).to(like.dtype) for piece, each, like in zip(pieces, arrays, likes, strict=True)
    )


def indices_of(tensor: torch.Tensor, name: str) -> AnyArray:
    """A tensor of integers as an int32 array."""
    if not isinstance(tensor, torch.Tensor) or tensor.is_floating_point() or tensor.is_complex():
        kind = str(tensor.dtype) if isinstance(tensor, torch.Tensor) else type(tensor).__name__
        raise DataError(f"{name} must be a tensor of integers, not {kind}")
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=np.int32)


def lengths_of(mask: torch.Tensor | None, n_batch: int, longest: int) -> LongVector:
    """The length of each example, from a (B, T) mask, whose rows begin with ones, or from (B,) lengths.

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


def check_finite(tensor: torch.Tensor, name: str) -> None:
    """Raise if there is NaN or +inf; −inf forbids parts and is fine."""
    values: Any = tensor.detach()
    if values.device.type == "cpu" and values.dtype == _known(values):
        values = values.numpy()  # whose maximum takes half the time
    if tensor.numel() and not bool(values.max() < np.inf):
        raise DataError(f"the {name} contain NaN or +inf; scores must be finite, or −inf where parts are forbidden")


def check_shape(name: str, tensor: torch.Tensor, *expected: int | str) -> None:
    """Raise if the tensor has another shape; a text in `expected` names a dimension of any size."""
    if not isinstance(tensor, torch.Tensor):
        raise DataError(f"the {name} must be a tensor, not {type(tensor).__name__}")
    fits = tensor.dim() == len(expected) and all(
        isinstance(wanted, str) or size == wanted for size, wanted in zip(tensor.shape, expected, strict=True)
    )
    if not fits:
        shape = ", ".join(map(str, expected))
        raise DataError(f"the {name} must have the shape ({shape}), not {tuple(tensor.shape)}")


def first_of(wrong: BoolMatrix) -> AnyArray:
    """The indices of the first true entry of a matrix, as one row; no row if there is none."""
    return np.argwhere(wrong)[:1] if wrong.any() else np.empty((0, wrong.ndim), dtype=np.int64)


def check_outputs(name: str, outputs: AnyArray, *shape: int) -> None:
    """Raise if the outputs have another shape."""
    if outputs.shape != shape:
        raise DataError(f"{name} must have the shape {shape}, not {outputs.shape}")
