"""
A network that scores labels
============================

A PyTorch module scores the labels of words, and a chain finds the best sequence. The
loss compares it with the right one, and its gradient trains the module.
"""

import matplotlib.pyplot as plt
import torch
from torch.nn.utils.rnn import pad_sequence

from widemargin.data.generators import addresses
from widemargin.torch import Chain, SoftmaxMargin

torch.manual_seed(0)
X, y = addresses(150)
vocabulary = {word: k for k, word in enumerate(sorted({w for x in X for w in x}), 1)}
labels = sorted({label for sequence in y for label in sequence})
words = pad_sequence(
    [torch.tensor([vocabulary[word] for word in x]) for x in X], batch_first=True
)
gold = pad_sequence(
    [torch.tensor([labels.index(label) for label in sequence]) for sequence in y],
    batch_first=True,
)
mask = words > 0


class Scorer(torch.nn.Module):
    """Scores of labels, from a word and its neighbours, and of transitions."""

    def __init__(self):
        super().__init__()
        self.vectors = torch.nn.Embedding(len(vocabulary) + 1, 24, padding_idx=0)
        self.label = torch.nn.Conv1d(24, len(labels), 3, padding=1)
        self.transitions = torch.nn.Parameter(torch.zeros(len(labels), len(labels)))

    def forward(self, words):
        """The scores as ``Chain`` takes them."""
        scores = self.label(self.vectors(words).transpose(1, 2)).transpose(1, 2)
        return scores.contiguous(), self.transitions


# %%
# The pictures show how probable each label is for each word of one address: before
# training, after a few steps and after more of them. Crosses are the right labels.

chain, module = Chain(), Scorer()
loss, optimiser = SoftmaxMargin(chain), torch.optim.Adagrad(module.parameters(), lr=0.1)
shown = {0: "before training", 5: "after 5 steps", 30: "after 30 steps"}
figure, panels = plt.subplots(1, 3, figsize=(9, 4), sharey=True, layout="constrained")
for step in range(31):
    if step in shown:
        with torch.no_grad():
            sure = chain.marginals(module(words[:1]), mask[:1])[0][0]
        n, axes = len(X[0]), panels[list(shown).index(step)]
        image = axes.imshow(
            sure[:n].T.numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto"
        )
        axes.plot(range(n), gold[0, :n].numpy(), "x", color="#D55E00")
        axes.set_xticks(range(n), X[0], rotation=60, ha="right")
        axes.set(title=shown[step])
    optimiser.zero_grad()
    loss(module(words), gold, mask).backward()
    optimiser.step()
panels[0].set_yticks(range(len(labels)), labels)
figure.colorbar(image, ax=panels, label="probability", shrink=0.8)
plt.show()
