"""What is special about chains: extreme scores, threads, shared memory, and the module for those from pytorch-crf."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

torch = pytest.importorskip("torch")

from widemargin.decoders.semimarkov_sums import new_segment_sums, semimarkov_sums  # noqa: E402
from widemargin.decoders.viterbi import Segmented  # noqa: E402
from widemargin.errors import DataError, WidemarginError  # noqa: E402
from widemargin.torch import Chain, Likelihood, LinearChain, StructuredHinge  # noqa: E402
from widemargin.torch.scored import Scored  # noqa: E402
from widemargin.torch.tensors import array_of  # noqa: E402

pytestmark = pytest.mark.interpreted

wide = st.one_of(
    st.sampled_from([-2000.0, -700.0, -350.0, 0.0, 350.0, 700.0, 2000.0]), st.just(-np.inf), st.floats(-3, 3)
)


def batch(seed=0, B=5, T=6, L=4):
    generator = torch.Generator().manual_seed(seed)
    scores = tuple(torch.randn(shape, generator=generator) for shape in ((B, T, L), (L, L), (L,), (L,)))
    gold = torch.randint(L, (B, T), generator=generator)
    return scores, gold, torch.randint(1, T + 1, (B,), generator=generator)


@settings(max_examples=50)
@given(st.data(), st.integers(1, 5), st.integers(1, 5))
def test_sums_of_extreme_scores(data, n, L):
    """Whatever underflows, the sums are those of the decoder that falls back to logarithms."""
    parts = [data.draw(arrays(np.float64, shape, elements=wide)) for shape in ((n, L), (1, L, L), (L,), (L,))]
    emission, table, begin, end = parts
    labels, pairs, one = (
        np.empty((n, 1, L)),
        np.empty((1, L, L)),
        Segmented(emission[:, None].copy(), table, begin, end),
    )
    total = semimarkov_sums(one, new_segment_sums(n, L), labels, pairs)
    scores = tuple(torch.from_numpy(each).requires_grad_() for each in (emission[None], table[0], begin, end))
    found = Chain().log_partition(scores)
    assert found.item() == pytest.approx(total, rel=1e-12)
    found.backward()
    assert np.allclose(scores[0].grad.numpy(), labels[:, 0], atol=1e-9)
    assert np.allclose(scores[1].grad.numpy(), pairs[0], atol=1e-9)


def test_a_constraint_that_leaves_only_an_unlikely_sequence():
    emissions = torch.zeros(1, 3, 2, dtype=torch.float64)
    emissions[0, :, 1] = -800.0
    end = torch.tensor([-torch.inf, 0.0], dtype=torch.float64)
    transitions = torch.tensor([[0.0, -torch.inf], [0.0, 0.0]], dtype=torch.float64)
    marginals = Chain().marginals((emissions, transitions, torch.zeros(2).double(), end))
    assert marginals[0][0, :, 1].tolist() == [1.0, 1.0, 1.0]
    assert Chain().log_partition((emissions, transitions, torch.zeros(2).double(), end)).item() == -2400.0


@pytest.mark.parametrize("loss", [StructuredHinge, Likelihood])
def test_threads_change_nothing(loss):
    scores, gold, lengths = batch(B=40, T=30, L=20)
    results = []
    for n_jobs in (1, 2, 3):
        chain = Chain(n_jobs=n_jobs)
        chain.work = lambda each: np.full(len(each.lengths), 1000.0)  # enough to wake all threads
        own = tuple(each.clone().requires_grad_() for each in scores)
        value = loss(chain)(own, gold, lengths)
        value.backward()
        results.append([value.detach(), *(each.grad for each in own), *chain.k_best(scores, 2, lengths)])
    for others in results[1:]:
        assert all(torch.equal(one, other) for one, other in zip(results[0], others, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_memory_is_shared(dtype):
    tensor = torch.randn(2, 3, 4, dtype=dtype, requires_grad=True)
    scored = Scored.of(Chain(), tensor)
    assert scored.arrays[0].ctypes.data == tensor.data_ptr()
    assert np.shares_memory(scored.arrays[0], tensor.detach().numpy())
    transposed = array_of(tensor.transpose(0, 1))
    assert transposed.flags.c_contiguous
    assert not np.shares_memory(transposed, tensor.detach().numpy())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_converted(dtype):
    scores, gold, lengths = batch()
    own = tuple(each.to(dtype).requires_grad_() for each in scores)
    Likelihood(Chain())(own, gold, lengths).backward()
    assert all(each.grad.dtype == dtype for each in own)


def test_a_mask_and_lengths_are_the_same():
    scores, gold, lengths = batch()
    mask = torch.arange(6) < lengths[:, None]
    loss = StructuredHinge(Chain())
    assert torch.equal(loss(scores, gold, mask), loss(scores, gold, lengths))
    assert torch.equal(loss(scores, gold, mask.byte()), loss(scores, gold, lengths))
    with pytest.raises(DataError, match="row 0 of the mask has a gap"):
        loss(scores, gold, torch.tensor([[True, False, True, False, False, False]] * 5))
    with pytest.raises(DataError, match=r"the mask must have the shape \(5, 6\)"):
        loss(scores, gold, mask[:, :3])
    with pytest.raises(DataError, match="lengths must be between 0 and 6"):
        loss(scores, gold, lengths + 6)


def test_labels_that_do_not_exist():
    scores, gold, lengths = batch()
    gold[3, 0] = 4
    with pytest.raises(DataError, match=r"gold\[3, 0\] is 4, but there are 4 labels, from 0 on"):
        StructuredHinge(Chain())(scores, gold, lengths)
    with pytest.raises(DataError, match="have no labels"):
        Chain().decode(torch.zeros(2, 3, 0))
    with pytest.raises(DataError, match="not 5 tensors"):
        Chain().decode((*scores, scores[0]))


def test_the_module_has_arguments_and_parameters_of_pytorch_crf():
    scores, gold, lengths = batch()
    mask = torch.arange(6) < lengths[:, None]
    module = LinearChain(4, batch_first=True)
    assert set(dict(module.named_parameters())) == {"start_transitions", "end_transitions", "transitions"}
    emissions = scores[0].requires_grad_()
    parameters = (emissions, module.transitions, module.start_transitions, module.end_transitions)
    wanted = Likelihood(Chain(), reduction="none")(parameters, gold, mask)
    for reduction, value in (("none", wanted), ("sum", wanted.sum()), ("token_mean", wanted.sum() / lengths.sum())):
        assert torch.allclose(module(emissions, gold, mask, reduction=reduction), -value)
    module(emissions, gold, mask).backward()
    assert all(each.grad.abs().sum() > 0 for each in (emissions, *module.parameters()))
    best = Chain().decode(parameters, mask)
    assert module.decode(emissions, mask) == [best[b, :n].tolist() for b, n in enumerate(lengths.tolist())]
    other = LinearChain(4, loss=StructuredHinge)
    other.load_state_dict(module.state_dict())
    assert other.decode(emissions.transpose(0, 1), mask.T) == module.decode(emissions, mask)
    wanted = -StructuredHinge(Chain(), reduction="sum")(parameters, gold, mask)
    assert torch.allclose(other(emissions.transpose(0, 1), gold.T, mask.T), wanted)
    with pytest.raises(WidemarginError, match="there is no reduction 'all'"):
        module(emissions, gold, mask, reduction="all")
    with pytest.raises(WidemarginError, match="num_tags must be at least 1"):
        LinearChain(0)


def test_without_pytorch_the_error_says_how_to_install_it():
    program = """if True:
        import sys
        sys.modules["torch"] = None
        import widemargin
        try:
            import widemargin.torch
        except ImportError as error:
            print(error)
    """
    found = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, encoding="utf-8", timeout=600
    )
    assert found.stdout == "widemargin.torch needs PyTorch: pip install '.[torch]' in a checkout\n"
