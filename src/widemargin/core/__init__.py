"""Learning, without knowing what is learnt: cuts, the problem, the one training loop, and what it returns."""
