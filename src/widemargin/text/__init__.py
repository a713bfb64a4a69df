"""Text as columns of tokens, with labels, spans and trees, and features from templates."""
