"""Trained models, free of training and of scikit-learn: what model files hold, a file per structure."""
