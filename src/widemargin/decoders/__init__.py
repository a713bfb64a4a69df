"""Decoders: pure functions on part scores, which know no features and no learning; one algorithm a file."""
