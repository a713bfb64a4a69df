"""Distributions with torch-struct's names, against all of their events."""

from itertools import product

import numpy as np
import pytest
import torch

from helpers.trees import trees
from widemargin.errors import DataError
from widemargin.torch.distributions import DependencyCRF, LinearChainCRF, NonProjectiveDependencyCRF, TreeCRF


def chains(n, C):
    """All events of n labels."""
    for labels in product(range(C), repeat=n):
        event = np.zeros((n - 1, C, C))
        for t in range(n - 1):
            event[t, labels[t + 1], labels[t]] = 1.0
        yield event


def dependencies(n, *, single_root, projective):
    for heads in trees(n, single_root=single_root, projective=projective).tolist():
        event = np.zeros((n, n))
        for word, head in enumerate(heads):
            event[word if head == 0 else head - 1, word] = 1.0
        yield event


def brackets(i, j, L):
    """All sets of labelled spans of binary trees over the words i … j."""
    for label in range(L):
        if i == j:
            yield [(i, j, label)]
        for k in range(i, j):
            for left in brackets(i, k, L):
                for right in brackets(k + 1, j, L):
                    yield [(i, j, label), *left, *right]


def spans(n, L):
    for found in brackets(0, n - 1, L):
        event = np.zeros((n, n, L))
        event[tuple(np.array(found).T)] = 1.0
        yield event


CASES = {
    "chain": (LinearChainCRF, (3, 2, 2), {}, lambda: chains(4, 2)),
    "trees": (DependencyCRF, (4, 4), {}, lambda: dependencies(4, single_root=False, projective=True)),
    "one root": (
        DependencyCRF,
        (4, 4),
        {"multiroot": False},
        lambda: dependencies(4, single_root=True, projective=True),
    ),
    "crossing": (
        NonProjectiveDependencyCRF,
        (4, 4),
        {},
        lambda: dependencies(4, single_root=True, projective=False),
    ),
    "brackets": (TreeCRF, (3, 3, 2), {}, lambda: spans(3, 2)),
}


@pytest.fixture(params=CASES)
def case(request):
    """A distribution of two examples, and all events."""
    kind, shape, options, every = CASES[request.param]
    torch.manual_seed(0)
    potentials = torch.randn(2, *shape, dtype=torch.float64, requires_grad=True)
    return kind(potentials, **options), torch.tensor(np.stack(list(every())))


def test_all_that_sums_over_events(case):
    found, events = case
    scores = torch.einsum("e...,b...->be", events, found.log_potentials)
    p = scores.softmax(dim=1)
    assert found.partition.tolist() == pytest.approx(scores.logsumexp(dim=1).tolist())
    assert torch.allclose(found.marginals, torch.einsum("be,e...->b...", p, events))
    assert found.entropy.tolist() == pytest.approx((-(p * p.log()).sum(dim=1)).tolist())
    assert found.count.tolist() == pytest.approx([len(events)] * 2)
    pairs = events[:3, None].expand(3, 2, *events.shape[1:])
    assert torch.allclose(found.log_prob(pairs), p.log()[:, :3].T)
    (slopes,) = torch.autograd.grad(found.partition.sum(), found.log_potentials)
    assert torch.allclose(slopes, found.marginals)
    other = type(found)(torch.randn_like(found.log_potentials), **getattr(case, "options", {}))
    if isinstance(found, DependencyCRF):
        other = type(found)(other.log_potentials, multiroot=found.multiroot)
    q = torch.einsum("e...,b...->be", events, other.log_potentials).log_softmax(dim=1)
    assert found.kl(other).tolist() == pytest.approx((p * (p.log() - q)).sum(dim=1).tolist())
    assert found.cross_entropy(other).tolist() == pytest.approx((-p * q).sum(dim=1).tolist())


def test_the_best_events(case):
    found, events = case
    scores = torch.einsum("e...,b...->be", events, found.log_potentials)
    best, order = scores.sort(dim=1, descending=True)
    assert torch.equal(found.argmax, events[order[:, 0]])
    assert torch.equal(found.mode, found.argmax)
    assert found.max.tolist() == pytest.approx(best[:, 0].tolist())
    assert found.kmax(3).T.tolist() == [pytest.approx(row) for row in best[:, :3].tolist()]
    assert torch.equal(found.topk(3), events[order[:, :3].T])


def test_samples(case):
    found, events = case
    p = torch.einsum("e...,b...->be", events, found.log_potentials).softmax(dim=1)
    drawn = found.sample((400,), generator=torch.Generator().manual_seed(1))
    assert drawn.shape == (400, *found.log_potentials.shape)
    is_event = (drawn[:, :, None] == events).flatten(3).all(dim=3)
    assert is_event.any(dim=2).all()
    assert (is_event.double().mean(dim=0) - p).abs().max() < 0.1


def test_shorter_examples():
    torch.manual_seed(1)
    potentials = torch.randn(2, 3, 2, 2, dtype=torch.float64)
    both = LinearChainCRF(potentials, torch.tensor([4, 2]))
    alone = LinearChainCRF(potentials[1:, :1])
    assert both.partition[1].item() == pytest.approx(alone.partition.item())
    assert torch.allclose(both.marginals[1, :1], alone.marginals[0])
    assert not both.marginals[1, 1:].any()
    few = LinearChainCRF(torch.zeros(1, 1, 2, 2)).topk(5)
    assert few.sum(dim=(1, 2, 3, 4)).tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]


def test_labels_of_arcs():
    torch.manual_seed(2)
    potentials = torch.randn(1, 3, 3, 2, dtype=torch.float64)
    labelled, plain = DependencyCRF(potentials), DependencyCRF(potentials.logsumexp(dim=3))
    assert labelled.partition.item() == pytest.approx(plain.partition.item())
    assert labelled.argmax.sum().item() == 3.0


def test_shapes_are_checked():
    with pytest.raises(
        DataError, match=r"LinearChainCRF takes potentials of 4 dimensions, not of the shape \(2, 3, 3\)"
    ):
        LinearChainCRF(torch.zeros(2, 3, 3))
