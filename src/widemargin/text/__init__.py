"""Text as columns of tokens, with labels, spans and trees, and features from templates."""

KEY_BITS = 29
"""Keys of features that share a table have this many bits (`text.roles`), so a table has at most 2^KEY_BITS weights."""
