"""python-crfsuite's name for the module of `ParsedDump`."""

from widemargin._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names("widemargin.crfsuite", {"parsed": ["ParsedDump"]})
