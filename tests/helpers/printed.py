"""What examples print, compared with what a page shows.

Processors round differently, and the last bits decide which way a solver takes: oracle calls, objective and gap are not
the same everywhere. But two certificates of one problem must be able to hold together.
"""

import re

CERTIFICATE = re.compile(
    r"stopped by (\w+) after [0-9.]+ s and [0-9,]+ oracle calls: objective ([0-9.e+-]+), "
    r"proven to be within ([0-9.e+-]+)% of the optimum"
)


def gaps(text):
    """The gaps that a text names, in per cent."""
    return [float(gap) for gap in re.findall(r"proven to be within ([0-9.e+-]+)% of the optimum", text)]


def _is_close(one, other):
    """Whether two pieces of text are the same, or numbers that differ as weights within their gaps do."""
    try:
        return abs(float(one) - float(other)) <= 0.05 * max(abs(float(one)), abs(float(other)))
    except ValueError:
        return one == other


def agree(printed, shown):
    """Whether both texts are the same but for certificates, and these prove nothing that contradicts the other."""
    mine, theirs = (CERTIFICATE.findall(text) for text in (printed, shown))
    rest = [re.split(r"(\d+\.\d+)", CERTIFICATE.sub("", text)) for text in (printed, shown)]
    if len(mine) != len(theirs) or not all(map(_is_close, *rest)) or len(rest[0]) != len(rest[1]):
        return False
    for (why, *found), (reason, *told) in zip(mine, theirs, strict=True):
        (P, gap), (Q, other) = map(float, found), map(float, told)
        optimum_may_be_the_same = max(P * (1 - gap / 100), Q * (1 - other / 100)) <= min(P, Q) * (1 + 1e-5)
        if why != reason or not optimum_may_be_the_same or not gap < 2 * other + 1:
            return False
    return True
