"""Losses against all outputs, one by one; gradients against counts, and by finite differences where smooth."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from helpers.scored_structures import CASES, NO_SUMS, add  # noqa: E402
from widemargin.errors import DataError, UnsupportedError, WidemarginError  # noqa: E402
from widemargin.torch import (  # noqa: E402
    Chain,
    Likelihood,
    Perceptron,
    PerturbedFenchelYoung,
    SlackScaling,
    SoftmaxMargin,
    SPOPlus,
    SquaredHinge,
    StructuredHinge,
)

pytestmark = pytest.mark.interpreted

SUMMED = [name for name in CASES if name not in NO_SUMS]


@pytest.fixture(params=range(2))
def rng(request):
    return np.random.default_rng(request.param)


def gradients(loss, case, *gold, upstream, **settings):
    """The losses of the examples, and the gradients of their weighted sum."""
    scores = tuple(each.detach().clone().requires_grad_() for each in case.scores)
    losses = loss(scores, *gold, case.mask, **settings)
    losses.backward(upstream)
    return losses.detach().numpy(), [each.grad.numpy() for each in scores]


def difference(case, b, y, gold):
    return [one - other for one, other in zip(case.counts(b, y), case.counts(b, gold), strict=True)]


def worst_by(case, gold, value):
    """For each example the output with the largest value, and that value; values are functions of Δ and s."""
    for b, outputs in enumerate(case.outputs):
        own = gold[b].numpy()
        points = [(case.errors(b, y, own), case.value(b, y) - case.value(b, own)) for y in outputs]
        k = int(np.argmax([value(*point) for point in points]))
        yield b, outputs[k], points[k]


MARGIN = {
    "hinge": (StructuredHinge, lambda e, s: e + s, lambda e, s: e + s, lambda e, s: 1.0),
    "squared": (SquaredHinge, lambda e, s: e + s, lambda e, s: (e + s) ** 2, lambda e, s: 2 * (e + s)),
    "perceptron": (Perceptron, lambda e, s: s, lambda e, s: s, lambda e, s: 1.0),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("loss", MARGIN)
def test_margin_losses(name, loss, rng):
    case, (kind, searched, value, factor) = CASES[name](rng), MARGIN[loss]
    gold, upstream = case.gold(), torch.from_numpy(rng.random(len(case.outputs)))
    losses, found = gradients(kind(case.structure, reduction="none"), case, gold, upstream=upstream)
    wanted = [np.zeros(each.shape) for each in case.scores]
    for b, y, point in worst_by(case, gold, searched):
        assert losses[b] == pytest.approx(value(*point), abs=1e-12)
        add(wanted, upstream[b].item() * factor(*point), difference(case, b, y, gold[b].numpy()))
    for one, other in zip(found, wanted, strict=True):
        assert np.allclose(one, other)


def on_the_hull(points):
    """Which points (Δ, s) are best for some λ ≥ 0 of s + λΔ."""
    slopes = {0.0} | {
        (b[1] - a[1]) / (a[0] - b[0])
        for a in points
        for b in points
        if a[0] != b[0] and (b[1] - a[1]) / (a[0] - b[0]) > 0
    }
    cuts = sorted(slopes)
    between = [(x + y) / 2 for x, y in zip(cuts, [*cuts[1:], cuts[-1] + 2.0], strict=True)]
    return {max(range(len(points)), key=lambda k, lam=lam: points[k][1] + lam * points[k][0]) for lam in between}


@pytest.mark.parametrize("name", CASES)
def test_slack_scaling(name, rng):
    case = CASES[name](rng)
    gold, upstream = case.gold(), torch.from_numpy(rng.random(len(case.outputs)))
    losses, found = gradients(
        SlackScaling(case.structure, reduction="none", most_decodes=40), case, gold, upstream=upstream
    )
    wanted = [np.zeros(each.shape) for each in case.scores]
    for b, outputs in enumerate(case.outputs):
        own = gold[b].numpy()
        points = [(case.errors(b, y, own), case.value(b, y) - case.value(b, own)) for y in outputs]
        k = max(on_the_hull(points), key=lambda k: points[k][0] * (1 + points[k][1]))
        error, s = points[k]
        assert losses[b] == pytest.approx(max(0.0, error * (1 + s)))
        if error * (1 + s) > 0:
            add(wanted, upstream[b].item() * error, difference(case, b, outputs[k], own))
    for one, other in zip(found, wanted, strict=True):
        assert np.allclose(one, other)


@pytest.mark.parametrize("name", SUMMED)
@pytest.mark.parametrize(("kind", "scale"), [(Likelihood, 0.0), (SoftmaxMargin, 1.0)])
def test_smooth_losses(name, kind, scale, rng):
    case = CASES[name](rng)
    gold = case.gold()
    losses = kind(case.structure, reduction="none")(case.scores, gold, case.mask)
    for b, outputs in enumerate(case.outputs):
        own = gold[b].numpy()
        values = [case.value(b, y) + scale * case.errors(b, y, own) for y in outputs]
        assert losses[b].item() == pytest.approx(np.log(np.exp(values).sum()) - case.value(b, own))


@pytest.mark.parametrize("name", SUMMED)
@pytest.mark.parametrize("kind", [Likelihood, SoftmaxMargin])
def test_smooth_losses_by_finite_differences(name, kind):
    case = CASES[name](np.random.default_rng(5))
    loss, gold = kind(case.structure, reduction="none"), case.gold()
    scores = tuple(each.requires_grad_() for each in case.scores)
    assert torch.autograd.gradcheck(lambda *given: loss(given, gold, case.mask), scores, fast_mode=True)


@pytest.mark.parametrize("name", CASES)
def test_spo_plus(name, rng):
    case = CASES[name](rng)
    right = tuple(torch.from_numpy(rng.normal(size=each.shape)) for each in case.scores)
    upstream = torch.from_numpy(rng.random(len(case.outputs)))
    losses, found = gradients(SPOPlus(case.structure, reduction="none"), case, right, upstream=upstream)
    wanted = [np.zeros(each.shape) for each in case.scores]
    chosen = case.structure.decode(case.scores, case.mask).numpy()
    for b, outputs in enumerate(case.outputs):
        optimum = max(outputs, key=lambda y, b=b: case.value(b, y, right))
        worst = max(outputs, key=lambda y, b=b: 2 * case.value(b, y) - case.value(b, y, right))
        bound = 2 * case.value(b, worst) - case.value(b, worst, right)
        bound += case.value(b, optimum, right) - 2 * case.value(b, optimum)
        assert losses[b] == pytest.approx(bound)
        regret = case.value(b, optimum, right) - case.value(b, chosen[b], right)
        assert losses[b] >= regret - 1e-9
        add(wanted, 2 * upstream[b].item(), difference(case, b, worst, optimum))
    for one, other in zip(found, wanted, strict=True):
        assert np.allclose(one, other)
    case.scores = right
    losses, found = gradients(SPOPlus(case.structure, reduction="none"), case, right, upstream=upstream)
    assert np.allclose(losses, 0.0)
    assert all(np.allclose(each, 0.0) for each in found)


@pytest.mark.parametrize("name", CASES)
def test_perturbed_fenchel_young(name, rng):
    case = CASES[name](rng)
    gold, upstream = case.gold(), torch.from_numpy(rng.random(len(case.outputs)))
    loss = PerturbedFenchelYoung(case.structure, reduction="none", sigma=0.5, n_samples=4, seed=7)
    losses, found = gradients(loss, case, gold, upstream=upstream)
    noise = torch.Generator().manual_seed(7)
    wanted, values = [np.zeros(each.shape) for each in case.scores], np.zeros(len(losses))
    for _ in range(4):
        drawn = torch.randn(case.scores[0].shape, generator=noise, dtype=torch.float64)
        perturbed = (case.scores[0] + 0.5 * drawn, *case.scores[1:])
        for b, outputs in enumerate(case.outputs):
            own = gold[b].numpy()
            best = max(outputs, key=lambda y, b=b: case.value(b, y, perturbed))
            values[b] += (case.value(b, best, perturbed) - case.value(b, own)) / 4
            add(wanted, upstream[b].item() / 4, difference(case, b, best, own))
    assert losses == pytest.approx(values)
    for one, other in zip(found, wanted, strict=True):
        assert np.allclose(one, other)
    assert not np.allclose(gradients(loss, case, gold, upstream=upstream)[0], losses), "every call draws new noise"


@pytest.mark.parametrize("kind", [StructuredHinge, SoftmaxMargin])
def test_costs_of_ones_own(kind, rng):
    case = CASES["chain"](rng)
    gold, matrix = case.gold(), torch.from_numpy(rng.random((3, 3)))
    matrix.fill_diagonal_(0.0)
    own = kind(case.structure, reduction="none")
    plain = own(case.scores, gold, case.mask)
    assert torch.allclose(own(case.scores, gold, case.mask, costs=(1 - torch.eye(3))[gold]), plain)
    assert not torch.allclose(own(case.scores, gold, case.mask, costs=matrix[gold]), plain)
    assert torch.allclose(
        own(case.scores, gold, case.mask, costs=2.0),
        own(case.scores, gold, case.mask, costs=2 * (1 - torch.eye(3, dtype=torch.float64))[gold]),
    )


@pytest.mark.parametrize("kind", [StructuredHinge, Likelihood])
def test_reductions(kind, rng):
    case = CASES["chain"](rng)
    gold = case.gold()
    each = kind(case.structure, reduction="none")(case.scores, gold, case.mask)
    assert each.shape == (4,)
    for reduction, wanted in (("sum", each.sum()), ("mean", each.mean()), ("token_mean", each.sum() / 8)):
        assert torch.allclose(kind(case.structure, reduction=reduction)(case.scores, gold, case.mask), wanted)
    with pytest.raises(WidemarginError, match="there is no reduction 'median'"):
        kind(case.structure, reduction="median")


def test_gold_that_is_not_allowed():
    scores, gold = torch.zeros(1, 2, 3), torch.tensor([[0, 1]])
    allowed = torch.ones(1, 2, 3, dtype=torch.bool)
    allowed[0, 1, 1] = False
    for kind in (StructuredHinge, Likelihood, SlackScaling):
        with pytest.raises(DataError, match="the gold output of example 0 has a part that is not allowed"):
            kind(Chain())(scores, gold, allowed=allowed)


def test_second_derivatives_are_refused():
    for kind in (StructuredHinge, Likelihood):
        scores = torch.randn(1, 2, 3, requires_grad=True)
        loss = kind(Chain())(scores.square(), torch.tensor([[0, 1]]))
        with pytest.raises(UnsupportedError, match="no second derivatives"):
            torch.autograd.grad(loss, scores, create_graph=True)


def test_a_loss_says_what_it_is():
    assert repr(StructuredHinge(Chain())) == "StructuredHinge(Chain, reduction='mean')"
    with pytest.raises(WidemarginError, match="sigma must be above 0"):
        PerturbedFenchelYoung(Chain(), sigma=0.0)
