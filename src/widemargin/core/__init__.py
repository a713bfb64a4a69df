"""Learning, independent of any structure: cuts, the problem, the one training loop, and its result."""
