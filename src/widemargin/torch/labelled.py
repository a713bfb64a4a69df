"""Parts whose labels nothing else depends on: the best label is chosen, or all are summed over, before any decoding."""

import numpy as np
import torch

from widemargin._types import AnyArray, FloatMatrix, IntMatrix
from widemargin.torch.tensors import doubles


def best_labels(scores: AnyArray) -> tuple[FloatMatrix, IntMatrix]:
    """The best score of each row of the last dimension, as float64, and its label, the lowest in a tie."""
    if scores.shape[-1] == 1:
        return doubles(scores[..., 0]), np.zeros(scores.shape[:-1], dtype=np.int32)
    values, labels = torch.from_numpy(scores).max(dim=-1)
    return values.double().numpy(), labels.numpy().astype(np.int32)


def label_shares(scores: AnyArray) -> tuple[FloatMatrix, AnyArray]:
    """log Σ exp of each row, as float64, and the share of each label in it; zeros where all are forbidden."""
    if scores.shape[-1] == 1:
        return doubles(scores[..., 0]), np.ones_like(scores)
    tensor = torch.from_numpy(scores)
    return tensor.logsumexp(dim=-1).double().numpy(), tensor.softmax(dim=-1).nan_to_num_(0.0).numpy()
