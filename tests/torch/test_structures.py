"""Structures over scores against all outputs, one by one."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from helpers.scored_structures import CASES, NO_SUMS, ONLY_THE_BEST, add  # noqa: E402
from widemargin.errors import DataError, UnsupportedError  # noqa: E402

pytestmark = pytest.mark.interpreted

SUMMED = [name for name in CASES if name not in NO_SUMS]


@pytest.fixture(params=range(2))
def rng(request):
    return np.random.default_rng(request.param)


def weights(case, b):
    """The probabilities of all outputs, and log Z."""
    values = np.array([case.value(b, y) for y in case.outputs[b]])
    top = values.max()
    return np.exp(values - top) / np.exp(values - top).sum(), top + np.log(np.exp(values - top).sum())


@pytest.mark.parametrize("name", CASES)
def test_decoding_finds_the_best_of_all(name, rng):
    case = CASES[name](rng)
    found = case.structure.decode(case.scores, case.mask).numpy()
    for b, outputs in enumerate(case.outputs):
        best = max(outputs, key=lambda y, b=b: case.value(b, y))
        assert np.array_equal(found[b], best)


@pytest.mark.parametrize("name", CASES)
def test_scores_are_sums_and_their_gradients_counts(name, rng):
    case = CASES[name](rng)
    scores = tuple(each.requires_grad_() for each in case.scores)
    gold = case.gold()
    totals = case.structure.score(scores, gold, case.mask)
    upstream = torch.from_numpy(rng.normal(size=len(totals)))
    totals.backward(upstream)
    wanted = [np.zeros(each.shape) for each in scores]
    for b, y in enumerate(gold.numpy()):
        assert totals[b].item() == pytest.approx(case.value(b, y))
        add(wanted, upstream[b].item(), case.counts(b, y))
    for each, total in zip(scores, wanted, strict=True):
        assert np.allclose(each.grad.numpy(), total)


@pytest.mark.parametrize("name", SUMMED)
def test_sums_over_all_outputs(name, rng):
    case = CASES[name](rng)
    scores = tuple(each.requires_grad_() for each in case.scores)
    found = case.structure.log_partition(scores, case.mask)
    found.sum().backward()
    marginals = case.structure.marginals(scores, case.mask)
    wanted = [np.zeros(each.shape) for each in scores]
    for b, outputs in enumerate(case.outputs):
        shares, total = weights(case, b)
        assert found[b].item() == pytest.approx(total)
        expected = [np.zeros(each.shape) for each in scores]
        for p, y in zip(shares, outputs, strict=True):
            add(expected, p, case.counts(b, y))
        add(wanted, 1.0, expected)
        for one, scored, found_one in zip(expected, scores, marginals, strict=True):
            shared = found_one.dim() > scored.dim()
            rows = b if shared else case.rows(b)
            assert np.allclose(found_one[rows].numpy(), one if shared else one[rows])
    for each, total in zip(scores, wanted, strict=True):
        assert np.allclose(each.grad.numpy(), total)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ONLY_THE_BEST])
@pytest.mark.parametrize("k", [1, 3, 200])
def test_the_k_best_of_all(name, k, rng):
    case = CASES[name](rng)
    found, totals = case.structure.k_best(case.scores, k, case.mask)
    for b, outputs in enumerate(case.outputs):
        best = sorted(outputs, key=lambda y, b=b: -case.value(b, y))[:k]
        assert np.array_equal(found[b, : len(best)].numpy(), np.stack(best))
        assert totals[b, : len(best)].tolist() == pytest.approx([case.value(b, y) for y in best])
        assert (found[b, len(best) :] == -1).all()
        assert (totals[b, len(best) :] == -torch.inf).all()


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_allowed_is_not_found(name, rng):
    case = CASES[name](rng)
    allowed = torch.from_numpy(rng.random(case.scores[0].shape) < 0.8)
    found = case.structure.decode(case.scores, case.mask, allowed=allowed).numpy()
    checked = 0
    for b, outputs in enumerate(case.outputs):
        possible = [y for y in outputs if all(allowed[place] for tensor, place in case.parts(b, y) if tensor == 0)]
        if possible:
            assert np.array_equal(found[b], max(possible, key=lambda y, b=b: case.value(b, y)))
            checked += 1
    assert checked


@pytest.mark.parametrize("name", SUMMED)
def test_sums_over_allowed_outputs(name, rng):
    case = CASES[name](rng)
    allowed = torch.from_numpy(rng.random(case.scores[0].shape) < 0.8)
    scores = tuple(each.requires_grad_() for each in case.scores)
    found = case.structure.log_partition(scores, case.mask, allowed=allowed)
    for b, outputs in enumerate(case.outputs):
        possible = [y for y in outputs if all(allowed[place] for tensor, place in case.parts(b, y) if tensor == 0)]
        values = np.array([case.value(b, y) for y in possible])
        wanted = np.log(np.exp(values).sum()) if len(values) else -np.inf
        assert found[b].item() == pytest.approx(wanted)
    found[found > -torch.inf].sum().backward()
    assert all(each.grad.isfinite().all() for each in scores)
    assert (scores[0].grad[~allowed] == 0.0).all()


@pytest.mark.parametrize("name", CASES)
def test_padding_does_not_matter(name, rng):
    case = CASES[name](rng)
    wider = tuple(each.clone() for each in case.scores)
    touched = np.zeros(case.scores[0].shape, dtype=bool)
    for b, outputs in enumerate(case.outputs):
        for y in outputs:
            for tensor, place in case.parts(b, y):
                if tensor == 0:
                    touched[place] = True
    wider[0][torch.from_numpy(~touched)] = 50.0
    gold = case.gold()
    gold[gold == -1] = -100
    assert torch.equal(case.structure.decode(case.scores, case.mask), case.structure.decode(wider, case.mask))
    assert torch.equal(case.structure.score(case.scores, gold, case.mask), case.structure.score(wider, gold, case.mask))
    if name in SUMMED:
        one, other = (case.structure.log_partition(each, case.mask) for each in (case.scores, wider))
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", CASES)
def test_single_precision(name, rng):
    case = CASES[name](rng)
    single = tuple(each.float().requires_grad_() for each in case.scores)
    assert torch.equal(case.structure.decode(single, case.mask), case.structure.decode(case.scores, case.mask))
    totals = case.structure.score(single, case.gold(), case.mask)
    assert totals.dtype == torch.float32
    assert torch.allclose(totals.double(), case.structure.score(case.scores, case.gold(), case.mask), atol=1e-5)
    if name in SUMMED:
        total = case.structure.log_partition(single, case.mask)
        assert torch.allclose(total.double(), case.structure.log_partition(case.scores, case.mask), atol=1e-5)
        total.sum().backward()
        assert all(each.grad.dtype == torch.float32 for each in single)


@pytest.mark.parametrize("name", NO_SUMS)
def test_what_a_structure_cannot_do_is_said(name, rng):
    case = CASES[name](rng)
    with pytest.raises(UnsupportedError, match="no sums over all outputs"):
        case.structure.log_partition(case.scores, case.mask)


@pytest.mark.parametrize("name", ONLY_THE_BEST)
def test_structures_that_find_only_the_best(name, rng):
    case = CASES[name](rng)
    with pytest.raises(UnsupportedError, match="not the 2 best"):
        case.structure.k_best(case.scores, 2, case.mask)


@pytest.mark.parametrize("name", CASES)
def test_scores_that_are_not_numbers(name, rng):
    case = CASES[name](rng)
    for bad in (torch.nan, torch.inf):
        scores = tuple(each.clone() for each in case.scores)
        scores[-1].view(-1)[0] = bad
        with pytest.raises(DataError, match=r"contain NaN or \+inf"):
            case.structure.decode(scores, case.mask)


@pytest.mark.parametrize("name", CASES)
def test_shapes_that_do_not_fit(name, rng):
    case = CASES[name](rng)
    with pytest.raises(DataError, match="must have the shape"):
        case.structure.decode((case.scores[0][..., None, None, None], *case.scores[1:]), case.mask)
    with pytest.raises(DataError, match="must have the shape"):
        case.structure.score(case.scores, case.gold()[:-1], case.mask)
    with pytest.raises(DataError, match="must be a tensor of integers"):
        case.structure.score(case.scores, case.gold().double(), case.mask)
    with pytest.raises(DataError, match="cannot be broadcast"):
        case.structure.decode(case.scores, case.mask, allowed=torch.ones(7, 7, 7, dtype=torch.bool))
    with pytest.raises(DataError, match="truth values"):
        case.structure.decode(case.scores, case.mask, allowed=case.scores[0])
    with pytest.raises(DataError, match="k must be at least 1"):
        case.structure.k_best(case.scores, 0, case.mask)


@pytest.mark.parametrize("name", SUMMED)
def test_entropies_and_divergences(name, rng):
    case, other = CASES[name](rng), CASES[name](rng)
    learnt = tuple(each.requires_grad_() for each in other.scores)
    found = case.structure.entropy(case.scores, case.mask)
    divergence = case.structure.kl_divergence(case.scores, learnt, case.mask)
    divergence.sum().backward()
    wanted = [np.zeros(each.shape) for each in learnt]
    for b, outputs in enumerate(case.outputs):
        (p, _), (q, _) = weights(case, b), weights(other, b)
        assert found[b].item() == pytest.approx(-np.sum(p * np.log(p)))
        assert divergence[b].item() == pytest.approx(np.sum(p * np.log(p / q)), abs=1e-12)
        for share, y in zip(q - p, outputs, strict=True):
            add(wanted, share, case.counts(b, y))
    for each, total in zip(learnt, wanted, strict=True):
        assert np.allclose(each.grad.numpy(), total)


def test_forbidden_parts_have_no_share_in_entropies():
    case = CASES["chain"](np.random.default_rng(0))
    allowed = torch.ones_like(case.scores[0], dtype=torch.bool)
    allowed[..., 1:] = False
    assert case.structure.entropy(case.scores, case.mask, allowed=allowed).tolist() == pytest.approx([0.0] * 4)
    some = case.structure.kl_divergence(case.scores, case.scores, case.mask, allowed=allowed)
    assert some.tolist() == pytest.approx([0.0] * 4)


@pytest.mark.parametrize("name", SUMMED)
def test_samples_are_as_frequent_as_they_are_probable(name):
    """No frequency is further from its probability than five standard deviations."""
    case, n = CASES[name](np.random.default_rng(3)), 400
    drawn = case.structure.sample(case.scores, n, case.mask, generator=torch.Generator().manual_seed(0))
    again = case.structure.sample(case.scores, n, case.mask, generator=torch.Generator().manual_seed(0))
    assert torch.equal(drawn, again)
    for b, outputs in enumerate(case.outputs):
        found = [tuple(np.ravel(each)) for each in drawn[b].numpy()]
        shares, possible = weights(case, b)[0], [tuple(np.ravel(y)) for y in outputs]
        assert set(found) <= set(possible)
        for p, y in zip(shares, possible, strict=True):
            assert abs(found.count(y) - n * p) <= 5.0 * np.sqrt(n * p * (1.0 - p)) + 1e-9


@pytest.mark.parametrize("name", NO_SUMS)
def test_structures_that_cannot_be_sampled_from_say_so(name, rng):
    case = CASES[name](rng)
    with pytest.raises(UnsupportedError, match="cannot be sampled from"):
        case.structure.sample(case.scores, 1, case.mask)
