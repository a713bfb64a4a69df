"""Distributions over structures by the names of torch-struct: p(z) ∝ exp ⟨log_potentials, z⟩.

An *event* z is 1 where a part of an output has its potential, and 0 elsewhere, in the shape of the potentials. Each
class below says how potentials become the scores of a structure, by a linear map; everything else follows. So the event
of an output is the gradient of its score with respect to the potentials, and marginals are the gradient of log Z.

| torch-struct | here | potentials |
| --- | --- | --- |
| `LinearChainCRF` | `Chain` | (B, N − 1, C, C): [n, z_{n+1}, z_n] |
| `DependencyCRF` | `DependencyTrees` | (B, N, N) or (B, N, N, L): [head, word]; the diagonal is the root |
| `NonProjectiveDependencyCRF` | `DependencyTrees(projective=False)` | the same |
| `TreeCRF` | `Constituents` | (B, N, N, NT): [first, last word, label] |

`SemiMarkovCRF` has a potential for every segment and pair of labels, which `Segments` do not have; take these instead.
Decoding runs on the CPU, whatever the device of the tensors.
"""

from functools import cached_property
from typing import Any, ClassVar

import torch

from widemargin.errors import DataError
from widemargin.torch.sequences import Chain
from widemargin.torch.structure import Best, Structure
from widemargin.torch.tensors import Tensors
from widemargin.torch.trees import Constituents, DependencyTrees


class StructDistribution:
    """Base of the distributions.

    Parameters
    ----------
    log_potentials
        A tensor, examples first.
    lengths
        How many tokens each example has, (B,); None if all have as many as there is room for.
    """

    event_dims: ClassVar[int]

    def __init__(self, log_potentials: torch.Tensor, lengths: torch.Tensor | None = None) -> None:
        if log_potentials.dim() != self.event_dims + 1:
            raise DataError(
                f"{type(self).__name__} takes potentials of {self.event_dims + 1} dimensions, not of the shape "
                f"{tuple(log_potentials.shape)}"
            )
        self.log_potentials, self.lengths = log_potentials, lengths
        self.batch_shape, self.event_shape = log_potentials.shape[:1], log_potentials.shape[1:]

    @property
    def structure(self) -> Structure:
        """What events are."""
        raise NotImplementedError

    def scores(self, potentials: torch.Tensor) -> Tensors:
        """The scores of the structure: a linear map of the potentials."""
        raise NotImplementedError

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        """log p of events, (…, B, event …) → (…, B)."""
        chosen = torch.where(value != 0, value.to(self.log_potentials.dtype) * self.log_potentials, 0.0)
        return chosen.flatten(-self.event_dims).sum(-1) - self.partition

    @cached_property
    def partition(self) -> torch.Tensor:
        """log Z, (B,); its gradients are marginals."""
        return self.structure.log_partition(self.scores(self.log_potentials), self.lengths)

    @cached_property
    def marginals(self) -> torch.Tensor:
        """The probability of each part, (B, event …)."""
        with torch.enable_grad():
            leaf = self.log_potentials.detach().requires_grad_()
            return self._slopes(self.structure.log_partition(self.scores(leaf), self.lengths), leaf)

    @cached_property
    def argmax(self) -> torch.Tensor:
        """The most likely event, (B, event …)."""
        return self._events(self.structure.decode(self.scores(self.log_potentials), self.lengths))

    @property
    def mode(self) -> torch.Tensor:
        """The most likely event."""
        return self.argmax

    @cached_property
    def max(self) -> torch.Tensor:
        """⟨log_potentials, argmax⟩, (B,)."""
        scores = self.scores(self.log_potentials)
        return self.structure.score(scores, self.structure.decode(scores, self.lengths), self.lengths)

    def topk(self, k: int) -> torch.Tensor:
        """The k most likely events, (k, B, event …); zeros where there are fewer."""
        outputs, totals = self._k_best(k)
        found = []
        for rank in range(k):
            there = totals[:, rank] > -torch.inf
            best = torch.where(there.reshape(-1, *[1] * (outputs.dim() - 2)), outputs[:, rank], outputs[:, 0])
            found.append(self._events(best) * there.reshape(-1, *[1] * self.event_dims))
        return torch.stack(found)

    def kmax(self, k: int) -> torch.Tensor:
        """The scores of the k most likely events, (k, B)."""
        return self._k_best(k).scores.T

    def _k_best(self, k: int) -> Best:
        return self.structure.k_best(self.scores(self.log_potentials), k, self.lengths)

    def sample(self, sample_shape: Any = (1,), generator: torch.Generator | None = None) -> torch.Tensor:
        """Events drawn from p, (n, B, event …)."""
        (n,) = tuple(sample_shape)
        outputs = self.structure.sample(self.scores(self.log_potentials), n, self.lengths, generator=generator)
        return torch.stack([self._events(outputs[:, k]) for k in range(n)])

    @cached_property
    def entropy(self) -> torch.Tensor:
        """−Σ p log p, (B,); it has no gradient."""
        return self.structure.entropy(self.scores(self.log_potentials), self.lengths)

    def cross_entropy(self, other: "StructDistribution") -> torch.Tensor:
        """−Σ p log q, (B,), differentiable in q, the `other` one."""
        return self.kl(other) + self.entropy

    def kl(self, other: "StructDistribution") -> torch.Tensor:
        """Σ p log p / q, (B,), differentiable in q, the `other` one."""
        mine, its = (each.scores(each.log_potentials) for each in (self, other))
        return self.structure.kl_divergence(mine, its, self.lengths)

    @cached_property
    def count(self) -> torch.Tensor:
        """How many events are possible, (B,)."""
        nothing = torch.where(self.log_potentials == -torch.inf, self.log_potentials, 0.0).detach()
        return self.structure.log_partition(self.scores(nothing), self.lengths).exp()

    def _events(self, outputs: torch.Tensor) -> torch.Tensor:
        """The events of outputs: where the score of each has its slope."""
        with torch.enable_grad():
            leaf = torch.zeros_like(self.log_potentials).requires_grad_()
            return self._slopes(self.structure.score(self.scores(leaf), outputs, self.lengths), leaf)

    @staticmethod
    def _slopes(values: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor:
        (found,) = torch.autograd.grad(values.sum(), leaf)
        return found


class LinearChainCRF(StructDistribution):
    """Label sequences: potentials (B, N − 1, C, C) of the label at n + 1 (rows) and at n (columns).

    >>> crf = LinearChainCRF(torch.zeros(1, 2, 2, 2))
    >>> crf.partition.exp().round().item(), crf.marginals[0, 0].tolist()
    (8.0, [[0.25, 0.25], [0.25, 0.25]])
    """

    event_dims = 3

    @property
    def structure(self) -> Structure:
        """Chains of N labels."""
        return Chain()

    def scores(self, potentials: torch.Tensor) -> Tensors:
        """No emissions; transitions into each token but the first."""
        B, n, C = potentials.shape[:3]
        from_to = potentials.transpose(-1, -2)
        return potentials.new_zeros(B, n + 1, C), torch.cat([potentials.new_zeros(B, 1, C, C), from_to], dim=1)


class DependencyCRF(StructDistribution):
    """Projective dependency trees: potentials [head, word], or with labels; those of the root are on the diagonal."""

    projective: ClassVar[bool] = True

    def __init__(
        self, log_potentials: torch.Tensor, lengths: torch.Tensor | None = None, *, multiroot: bool = True
    ) -> None:
        self.event_dims = 3 if log_potentials.dim() == 4 else 2  # type: ignore[misc]  # labels are optional
        self.multiroot = multiroot
        super().__init__(log_potentials, lengths)

    @property
    def structure(self) -> Structure:
        """Trees over N words."""
        return DependencyTrees(projective=self.projective, single_root=not self.multiroot)

    def scores(self, potentials: torch.Tensor) -> Tensors:
        """The diagonal becomes the row of the root, and nothing leads to the root."""
        n = potentials.shape[1]
        places = torch.arange(n, device=potentials.device)
        root = potentials[:, places, places].unsqueeze(1)
        arcs = torch.cat([root, potentials], dim=1)
        return (torch.cat([torch.zeros_like(arcs[:, :, :1]), arcs], dim=2),)


class NonProjectiveDependencyCRF(DependencyCRF):
    """Dependency trees whose arcs may cross; one word is attached to the root unless `multiroot`."""

    projective = False

    def __init__(
        self, log_potentials: torch.Tensor, lengths: torch.Tensor | None = None, *, multiroot: bool = False
    ) -> None:
        super().__init__(log_potentials, lengths, multiroot=multiroot)


class TreeCRF(StructDistribution):
    """Binary trees of labelled spans: potentials [first word, last word, label]."""

    event_dims = 3

    @property
    def structure(self) -> Structure:
        """Trees over N words."""
        return Constituents()

    def scores(self, potentials: torch.Tensor) -> Tensors:
        """The upper triangle, sorted by end."""
        first, end = Constituents.ends(potentials.shape[1])
        return (potentials[:, first, end - 1],)
