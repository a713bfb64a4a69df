"""Text as columns of tokens, its labels, spans and trees, and the features that templates make of it."""
