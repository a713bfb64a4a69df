"""Parameters of all tasks whose features describe tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from widemargin.tasks.parameters import Parameters, parameter


@dataclass(kw_only=True, repr=False, eq=False)
class TokenParameters(Parameters):
    """Parameters of the features of tokens."""

    templates: "str | Sequence[str] | None" = parameter(
        None,
        "Feature templates, such as 'word[-1..1] suffix1..3 lower|pos'; or the name of a set of them: default, pos, "
        "chunk, ner, bio.",
        given_as="templates",
        metavar="FILE|TEXT",
    )
    lexicons: "Mapping[str, Sequence[str]] | None" = parameter(
        None,
        "Lists of entries, by name, for the template 'lexicon(name)'.",
        on_command_line="Files hold one entry per line.",
        option="--lexicon",
        given_as="lexicons",
        metavar="NAME=FILE",
    )
    clusters: "Mapping[str, Mapping[str, str]] | None" = parameter(
        None,
        "The cluster of each word, by name, for the template 'cluster(name)'.",
        on_command_line="Files hold the output of Brown's algorithm, or lines 'word TAB cluster'.",
        given_as="clusters",
        metavar="NAME=FILE",
    )
    min_count: int = parameter(1, "Leave out features rarer than this in the training data.", given_as="whole number")
    hash_bits: int | None = parameter(None, "Hash features into 2^N rows instead of keeping their names.", metavar="N")
