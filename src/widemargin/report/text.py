"""Text in pictures: which characters can be shown, and how many cells of a terminal they take."""

import unicodedata

UNSHOWABLE = "\N{REPLACEMENT CHARACTER}"
BLOCKED = {"Cc", "Cs", "Cn", "Zl", "Zp"}  # control characters, lone surrogates, unassigned ones, ends of lines
BOXES, PLAIN = "─│╭╰├┬┴┼└", "-|++++++`"


def shown(text: str) -> str:
    r"""The text, with every character that XML forbids or that would upset a terminal replaced.

    >>> shown("tab\there")
    'tab�here'
    """
    if text.isprintable():
        return text
    return "".join(UNSHOWABLE if unicodedata.category(each) in BLOCKED else each for each in text)


def cells(text: str) -> int:
    r"""How many cells of a terminal the text takes: East Asian characters take two, accents none.

    >>> cells("word"), cells("言葉"), cells("e\u0301")
    (4, 4, 1)
    """
    from rich.cells import cell_len  # not needed by those who draw nothing

    return cell_len(text)


def padded(text: str, width: int) -> str:
    """The text with blanks to its right, so that it fills `width` cells."""
    return text + " " * (width - cells(text))


def encodable(line: str, encoding: str | None) -> str:
    """The line as this encoding can show it, if need be with boxes drawn in ASCII.

    >>> encodable("├─ NP", "ascii")
    '+- NP'
    """
    encoding = encoding or "ascii"
    try:
        BOXES.encode(encoding)
    except UnicodeEncodeError:
        line = line.translate(str.maketrans(BOXES, PLAIN))
    return line.encode(encoding, "replace").decode(encoding)
