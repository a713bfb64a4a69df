"""Data and settings for training on a cluster."""

from widemargin.data.generators import addresses

X, Y = addresses(60, seed=3)
SETTINGS = {"templates": ["word", "lower[-1]", "suffix2"], "n_jobs": 1, "tol": 0.01, "max_epochs": 60}
