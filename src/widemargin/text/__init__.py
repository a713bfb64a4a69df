"""Text as columns of tokens, with labels, spans and trees, and the features that templates make of it."""
