"""Partition sets of items by features of their pairs: records of the same thing, mentions of the same person."""
