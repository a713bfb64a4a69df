"""How the gallery finds the pictures that the library draws itself: a variable `picture` holds one."""

from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

from widemargin.report.svg import Picture, page


def library_pictures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Show `picture`, or the list `pictures`, of an example and forget it."""
    names = block_vars["example_globals"]
    drawn = [*names.pop("pictures", []), *([names.pop("picture")] if "picture" in names else [])]
    assert all(isinstance(each, Picture) for each in drawn)
    if not drawn:
        return ""
    path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
    path.write_text(page(drawn), encoding="utf-8")
    return figure_rst([str(path)], gallery_conf["src_dir"])
