"""Resolve coreference: which mentions of a text mean the same thing, by an antecedent for each."""
