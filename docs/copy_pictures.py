"""Copies the pictures of the gallery that pages show into `gallery/`, so that a code host shows them, too.

Run it after ``make docs`` when an example or a picture has changed: ``python docs/copy_pictures.py``.
"""

import re
from pathlib import Path
from shutil import copyfile

HERE = Path(__file__).parent
DRAWN = HERE / "generated" / "gallery" / "images"
KEPT = HERE / "gallery"


def main() -> None:
    """Copy what pages refer to, and remove the rest."""
    shown = {
        name for page in HERE.glob("*.md") for name in re.findall(r"\(gallery/([\w.-]+)\)", page.read_text("utf-8"))
    }
    for old in KEPT.iterdir():
        if old.name not in shown:
            old.unlink()
    for name in sorted(shown):
        stem, _, ending = name.partition(".")
        copyfile(DRAWN / f"sphx_glr_{stem}_001.{ending}", KEPT / name)


if __name__ == "__main__":
    main()
