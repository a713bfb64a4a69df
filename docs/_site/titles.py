"""Links that are named by their file, which suits a code host, are named by the title of their page on the site."""

import re
from typing import Any

FILE_NAME = re.compile(r"\[(?:docs/)?[\w-]+\.md\]\((?=[\w-]+\.md)")


def without_file_names(app: Any, page: str, source: list[str]) -> None:
    """Sphinx's event ``source-read``: a link without a text has the title of what it leads to."""
    source[0] = FILE_NAME.sub("[](", source[0])


def setup(app: Any) -> dict[str, bool]:
    """Run before pages are parsed."""
    app.connect("source-read", without_file_names)
    return {"parallel_read_safe": True}
