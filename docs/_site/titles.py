"""Links that are named by their file, which suits a code host, are named by the title of their page on the site."""

import re
from typing import Any

NAMED_BY_FILE = re.compile(r"\[(?:docs/)?[\w-]+\.md\]\((?=[\w-]+\.md)")
TO_EXAMPLE = re.compile(r"\[examples/gallery/(\w+)\.py\]\(\.\./examples/gallery/\w+\.py\)")


def by_title(app: Any, page: str, source: list[str]) -> None:
    """Sphinx's event ``source-read``: a link without a text has the title of what it leads to."""
    source[0] = TO_EXAMPLE.sub(r"[](generated/gallery/\1.rst)", NAMED_BY_FILE.sub("[](", source[0]))


def setup(app: Any) -> dict[str, bool]:
    """Run before pages are parsed."""
    app.connect("source-read", by_title)
    return {"parallel_read_safe": True}
