"""The errors a user can cause.

Every one of them is a `ValueError` with a one-sentence message that says what was wrong, where, and what to do;
the command line prints that sentence and exits with code 2.
"""


class WidemarginError(ValueError):
    """Something given to the library is wrong."""


class DataError(WidemarginError):
    """A data file or an input array is malformed."""


class ModelFileError(WidemarginError):
    """A model file is missing, truncated, foreign, or written by a newer version."""


class UnsupportedError(WidemarginError):
    """A solver, objective or structure was asked for something it cannot do."""
