"""Array types used throughout: one-dimensional unless a docstring says otherwise."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

ByteVector: TypeAlias = NDArray[np.uint8]
IntVector: TypeAlias = NDArray[np.int32]
IntMatrix: TypeAlias = NDArray[np.int32]
LongVector: TypeAlias = NDArray[np.int64]
KeyVector: TypeAlias = NDArray[np.uint64]
KeyMatrix: TypeAlias = NDArray[np.uint64]
LongMatrix: TypeAlias = NDArray[np.int64]
FloatVector: TypeAlias = NDArray[np.float64]
FloatMatrix: TypeAlias = NDArray[np.float64]
BoolVector: TypeAlias = NDArray[np.bool_]
BoolMatrix: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
