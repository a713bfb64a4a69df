"""Losses and decoding of chains against pytorch-crf: the same scores, parameters, machine and run.

    python benchmarks/neural.py [--runs 51] [--threads 1] [--batch 64 --tokens 40 --labels 20] [--out bench/neural.json]

The peers take turns; medians and the least times are reported, in milliseconds per batch. "likelihood" and "margin" are
a loss with its gradients, of given emission scores; "tagger" is a whole step of the network of
examples/neural_tagger.py, for which both peers get the same weights. Values and gradients of the peers are compared
first.
"""

import argparse
import importlib.util
import json
from pathlib import Path
from statistics import median
from time import perf_counter

import torch
import torchcrf

from widemargin.torch import LinearChain, StructuredHinge

HERE = Path(__file__).resolve()


def example():
    path = HERE.parents[1] / "examples" / "neural_tagger.py"
    spec = importlib.util.spec_from_file_location("neural_tagger", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def medians(jobs, runs):
    """Milliseconds of each job, whose runs alternate: the median, and the least, which other processes disturb less."""
    taken = {name: [] for name in jobs}
    for _ in range(runs):
        for name, job in jobs.items():
            begin = perf_counter()
            job()
            taken[name].append(perf_counter() - begin)
    return {name: [round(1000 * each(times), 3) for each in (median, min)] for name, times in taken.items()}


class Batch:
    """Sentences of random length, and the modules that are compared."""

    def __init__(self, options, padded):
        torch.manual_seed(0)
        B, T, L = options.batch, options.tokens, options.labels
        lengths = torch.randint(T // 2, T + 1, (B,)) if padded else torch.full((B,), T)
        lengths[0] = T
        self.mask = torch.arange(T) < lengths[:, None]
        self.tags = torch.randint(L, (B, T))
        self.emissions = torch.randn(B, T, L, requires_grad=True)
        self.rows = torch.randint(500, (B, T, 3))
        self.network = example().Convolutions([500, 500, 500], L)
        self.peer = torchcrf.CRF(L, batch_first=True)
        self.ours = LinearChain(L, batch_first=True)
        self.threaded = LinearChain(L, batch_first=True, n_jobs=-1)
        self.margin = LinearChain(L, batch_first=True, loss=StructuredHinge)
        for each in (self.ours, self.threaded, self.margin):
            each.load_state_dict(self.peer.state_dict())

    def loss(self, module):
        """A loss and its gradients."""
        self.emissions.grad = None
        module.zero_grad()
        value = module(self.emissions, self.tags, self.mask, reduction="mean")
        value.backward()
        return value.item(), self.emissions.grad, module.transitions.grad

    def step(self, module):
        """The same with the network."""
        self.network.zero_grad()
        module.zero_grad()
        (-module(self.network(self.rows), self.tags, self.mask, reduction="mean")).backward()

    def check(self):
        """Raise if the peers do not agree."""
        for module in (self.ours, self.threaded):
            one, other = self.loss(self.peer), self.loss(module)
            assert abs(one[0] - other[0]) < 1e-4 * abs(one[0])
            assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(one[1:], other[1:], strict=True))
        with torch.no_grad():
            assert self.peer.decode(self.emissions, self.mask) == self.ours.decode(self.emissions, self.mask)

    def measure(self, runs):
        """Milliseconds by task and peer."""
        with torch.no_grad():
            decoding = medians(
                {
                    "pytorch-crf": lambda: self.peer.decode(self.emissions, self.mask),
                    "widemargin": lambda: self.ours.decode(self.emissions, self.mask),
                    "widemargin, all cores": lambda: self.threaded.decode(self.emissions, self.mask),
                },
                runs,
            )
        modules = {"pytorch-crf": self.peer, "widemargin": self.ours, "widemargin, all cores": self.threaded}
        return {
            "decode": decoding,
            "likelihood": medians({name: lambda m=m: self.loss(m) for name, m in modules.items()}, runs),
            "margin": medians(
                {
                    "pytorch-crf (likelihood)": lambda: self.loss(self.peer),
                    "widemargin": lambda: self.loss(self.margin),
                },
                runs,
            ),
            "tagger": medians({name: lambda m=m: self.step(m) for name, m in modules.items()}, runs),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=51)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch's own operations")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("bench/neural.json"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results = {}
    for name, padded in (("of full length", False), ("padded", True)):
        batch = Batch(options, padded)
        batch.check()
        results[name] = batch.measure(options.runs)
        print(f"{options.batch} sequences of {options.tokens} tokens, {name}, {options.labels} labels; ms per batch")
        for task, times in results[name].items():
            of_peer = next(iter(times.values()))
            for who, own in times.items():
                (middle, factor), (least, other) = ((a, b / a) for a, b in zip(own, of_peer, strict=True))
                print(f"  {task:<12}{who:<26}median {middle:7.2f} ({factor:.1f}×)  least {least:7.2f} ({other:.1f}×)")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(
        json.dumps(vars(options) | {"out": str(options.out), "results": results}, indent=1), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
