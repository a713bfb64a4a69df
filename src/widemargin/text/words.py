"""Raw text as words: punctuation and English clitics become tokens, roughly as in treebanks.

    "It's $5 (or less), isn't it?"  →  It 's $ 5 ( or less ) , is n't it ?

A string between blanks is taken apart from both ends. Numbers, addresses of pages and people, initials and common
abbreviations stay whole. Languages without blanks between words need a tokeniser of their own.
"""

import re

OPENING = r"[(\[{<\"“”„«‘'`¿¡$£€]"
CLOSING = r"(?:\.{2,}|…+|[!?]+|[.,;:)\]}>\"“”»’'%])"
CLITIC = r"(?:n['’]t|['’](?:s|re|ve|ll|d|m))"
KEPT = re.compile(
    r"(?:https?://|www\.)\S*[\w/]"  # pages
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # people
    r"|(?:[^\W\d_]\.){2,}"  # U.S.
    r"|(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|Inc|Ltd|Co|Corp|No|approx|Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec)\."
    r"|[^\W\d_]\."  # J.
    rf"|{CLITIC}"  # split off already
    r"|[:;=8][-o*']?[)\](\[dDpP/\\|]",  # faces
    re.IGNORECASE,
)
FIRST = re.compile(OPENING)
LAST = re.compile(rf"(?:{CLOSING})$")
LAST_CLITIC = re.compile(rf"(?<=\w){CLITIC}$", re.IGNORECASE)


def split_words(text: str) -> list[str]:
    """The words of a line of raw text.

    >>> split_words("It's $5 (or less), isn't it? See Mr. Lee in the U.S., at 9:30...")[:14]
    ['It', "'s", '$', '5', '(', 'or', 'less', ')', ',', 'is', "n't", 'it', '?', 'See']
    >>> split_words("See Mr. Lee in the U.S., at 9:30...")
    ['See', 'Mr.', 'Lee', 'in', 'the', 'U.S.', ',', 'at', '9:30', '...']
    """
    return [word for piece in text.split() for word in _parts(piece)]


def _parts(piece: str) -> list[str]:
    """The tokens of a string without blanks, which is taken apart from its ends."""
    before: list[str] = []
    behind: list[str] = []
    while not KEPT.fullmatch(piece):
        if len(piece) > 1 and FIRST.match(piece):
            before.append(piece[0])
            piece = piece[1:]
            continue
        last = LAST.search(piece) or LAST_CLITIC.search(piece)
        if last is None or last.start() == 0:
            break
        behind.append(last.group())
        piece = piece[: last.start()]
    return [*before, piece, *reversed(behind)]
