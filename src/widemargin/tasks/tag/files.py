"""Files of labelled tokens."""

from widemargin.tasks.token_files import TokenFiles


class TagFiles(TokenFiles):
    """Files whose label column a tagger learns to fill in."""
