"""Decoders: pure functions of part scores, without features or learning; one algorithm per file."""
