"""Compiled decoders as differentiable losses on the scores of any PyTorch module (extra ``widemargin[torch]``).

    score(y) = Σ over parts of y of the part's score,   ∂ score(y) / ∂ scores = counts(y), how often y has each part

A *structure* (`Chain`, `Segments`, `DependencyTrees`, `Constituents`, `Classes`, `Oracle`) defines the parts of
outputs, finds the best outputs and, if possible, sums over all outputs. A *loss* is written once, for all structures.
`FlatStructure` takes any other structure of `widemargin.structures`.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("widemargin.torch needs PyTorch: pip install '.[torch]' in a checkout") from error

from widemargin.torch.losses import (
    Likelihood,
    Loss,
    Perceptron,
    PerturbedFenchelYoung,
    SlackScaling,
    SoftmaxMargin,
    SPOPlus,
    SquaredHinge,
    StructuredHinge,
)
from widemargin.torch.scored import Scored
from widemargin.torch.sequences import Chain, LinearChain, Segments
from widemargin.torch.structure import FlatStructure, Structure
from widemargin.torch.trees import Constituents, DependencyTrees
from widemargin.torch.vectors import Classes, Oracle

__all__ = [
    "Chain",
    "Classes",
    "Constituents",
    "DependencyTrees",
    "FlatStructure",
    "Likelihood",
    "LinearChain",
    "Loss",
    "Oracle",
    "Perceptron",
    "PerturbedFenchelYoung",
    "SPOPlus",
    "Scored",
    "Segments",
    "SlackScaling",
    "SoftmaxMargin",
    "SquaredHinge",
    "Structure",
    "StructuredHinge",
]
