"""Reports: training curves and live progress."""
