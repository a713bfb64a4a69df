"""Yu & Joachims (2009): structural SVMs with latent variables."""

from experiment import Paper

PAPER = Paper(
    "yu-joachims",
    "Yu & Joachims 2009",
    "Chun-Nam John Yu and Thorsten Joachims: Learning Structural SVMs with Latent Variables. ICML 2009.",
    "",
    (),
    (),
)
