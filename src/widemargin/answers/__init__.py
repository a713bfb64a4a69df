"""What trained models can be asked besides the best output: alternatives, margins, confidence, constraints."""
