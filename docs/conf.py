"""How Sphinx builds the site: ``make docs``. What is generated goes to `generated/`, the site to `_build/html/`."""

import sys
from pathlib import Path

import widemargin

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "widemargin"
author = "the widemargin developers"
release = version = widemargin.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "_site.docstrings",
    "_site.registries",
    "_site.titles",
]
exclude_patterns = ["_build", "_site", "generated/gallery/*.ipynb", "generated/gallery/*.py"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!widemargin\.).*")]  # names of other libraries: their sites are not looked at

# Pages
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
default_role = "literal"  # docstrings put code into single backticks
copybutton_exclude = ".linenos, .gp, .go"

# Reference
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings name the types
python_maximum_signature_line_length = 100
numpydoc_show_class_members = False  # the template lists them
templates_path = ["_site/templates"]

# Examples
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("matplotlib", "_site.pictures.library_pictures"),
    "capture_repr": ("_repr_html_",),
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 60,
    "write_computation_times": False,
    "matplotlib_animations": False,
}

# Looks
html_theme = "furo"
html_title = "widemargin"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5f8a", "color-brand-content": "#0b5f8a"},
    "dark_css_variables": {"color-brand-primary": "#6cb8e6", "color-brand-content": "#6cb8e6"},
}
