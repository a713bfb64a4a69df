"""The motif as biologists keep it: a matrix of how often each letter is at each place.

It is counted where the trained model finds the motif in its positive training sequences, as motif databases do. The
weights of the model are something else: they tell the motif from its surroundings, and are no probabilities.
"""

from typing import NamedTuple

import numpy as np

from widemargin._types import FloatMatrix, FloatVector

STANDARD = ("ACGT", "ACGU", "ACDEFGHIKLMNPQRSTVWY")
PSEUDO = 1.0  # the background counts as one more site, so that no probability is 0


class Motif(NamedTuple):
    """The numbers of letters (l × letters) at the sites of a motif, and the shares of letters anywhere."""

    letters: str
    counts: FloatMatrix
    frequencies: FloatVector
    both_strands: bool

    @property
    def probabilities(self) -> FloatMatrix:
        """The probability of each letter at each place, (l × letters)."""
        counts = self.counts + PSEUDO * self.frequencies
        return counts / counts.sum(axis=1, keepdims=True)

    @property
    def information(self) -> FloatVector:
        """The bits at each place: log₂ of the number of letters minus the entropy."""
        p = self.probabilities
        return np.maximum(np.log2(len(self.letters)) + (p * np.log2(p)).sum(axis=1), 0.0)

    @property
    def consensus(self) -> str:
        """The most frequent letter at each place."""
        return "".join(self.letters[k] for k in self.probabilities.argmax(axis=1))

    def meme(self, name: str = "motif") -> str:
        """The text of a file in MEME's minimal motif format, version 4, which the tools of the MEME suite read."""
        lines = ["MEME version 4", "", *self._alphabet(), ""]
        if self.letters == "ACGT":
            lines += ["strands: + -" if self.both_strands else "strands: +", ""]
        frequencies = " ".join(
            f"{letter} {each:.6f}" for letter, each in zip(self.letters, self.frequencies, strict=True)
        )
        lines += ["Background letter frequencies", frequencies, ""]
        n_sites = round(float(self.counts.sum(axis=1).max(initial=0.0)))
        lines += [
            f"MOTIF {name} {self.consensus}",
            f"letter-probability matrix: alength= {len(self.letters)} w= {len(self.counts)} nsites= {n_sites} E= 0",
        ]
        lines += [" ".join(f"{p:.6f}" for p in row) for row in self.probabilities]
        return "\n".join(lines) + "\n"

    def _alphabet(self) -> list[str]:
        if self.letters in STANDARD:
            return [f"ALPHABET= {self.letters}"]
        return ['ALPHABET "letters"', *self.letters, "END ALPHABET"]
