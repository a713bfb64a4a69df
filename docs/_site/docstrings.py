"""Docstrings as they are written here, in the form that numpydoc expects.

A parameter is described in its line, ``tau : the paper's τ``, where numpydoc expects a type. Equations are indented
without the two colons of reStructuredText, and backticks may end within a word.
"""

import re
from typing import Any

LONGEST_TYPE = 90  # a longer line is a description that goes on below
FIELD = re.compile(r"(?P<names>[\w*`, ]+?) : (?P<said>.+)")
CUT_WORD = re.compile(r"((?<!`)`[^`]+`)(?=\w)")
LISTS = {"Parameters", "Attributes", "Returns", "Yields", "Raises", "Other Parameters"}


def described(lines: list[str]) -> list[str]:
    """Move the descriptions of parameters from their lines to the lines below."""
    result: list[str] = []
    section = ""
    for k, line in enumerate(lines):
        below = lines[k + 1] if k + 1 < len(lines) else ""
        if below and not below.strip("-"):
            section = line.strip()
        found = FIELD.fullmatch(line) if section in LISTS else None
        if found and (len(line) > LONGEST_TYPE or not re.match(r"\s+[^a-z\s]", below)):
            result += [found["names"], "    " + found["said"]]
        else:
            result.append(line)
    return result


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def literal_equations(lines: list[str]) -> list[str]:
    """Mark paragraphs that are indented below text as literal ones."""
    result: list[str] = []
    last, in_block = "", False
    for line in lines:
        if line.strip():
            if in_block and not _indent(line):
                in_block = False
            elif not in_block and _indent(line) and not _indent(last) and result and not result[-1].strip():
                in_block = True
                if not re.match(r"\.\. |[-*] |\d+\. |:", last) and not last.endswith("::"):
                    result += ["::", ""]
            last = line
        result.append(line)
    return result


def rewrite(app: Any, what: str, name: str, subject: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's event ``autodoc-process-docstring``."""
    lines[:] = [CUT_WORD.sub(r"\1\\ ", line) for line in literal_equations(described(lines))]


def skip(app: Any, what: str, name: str, subject: Any, skipped: bool, options: Any) -> bool | None:
    """Sphinx's event ``autodoc-skip-member``: scikit-learn's own site describes what it adds to estimators."""
    return True if str(getattr(subject, "__module__", "")).startswith("sklearn.") else None


def setup(app: Any) -> dict[str, bool]:
    """Run before numpydoc."""
    app.connect("autodoc-process-docstring", rewrite, priority=400)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
