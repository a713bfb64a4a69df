"""Reports: training curves, live progress, comparisons of solvers, evaluations and explanations."""
