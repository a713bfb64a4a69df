"""Decoders: pure functions on part scores that know neither features nor learning."""

from widemargin.decoders.forward_backward import forward_backward
from widemargin.decoders.kbest import kbest
from widemargin.decoders.max_marginals import max_passes
from widemargin.decoders.semimarkov import semimarkov
from widemargin.decoders.semimarkov_kbest import semimarkov_kbest
from widemargin.decoders.viterbi import viterbi

__all__ = ["forward_backward", "kbest", "max_passes", "semimarkov", "semimarkov_kbest", "viterbi"]
