"""The version of CRFsuite that this package stands in for, and its error."""

from typing import ClassVar

CRFSUITE_VERSION = "0.12.2"

_FIRST = -(2**31)


class CRFSuiteError(Exception):
    """CRFsuite failed, with one of its numbers."""

    _messages: ClassVar[dict[int, str]] = dict(
        enumerate(
            (
                "Unknown error occurred",
                "Insufficient memory",
                "Unsupported operation",
                "Incompatible data",
                "Internal error",
                "Overflow",
                "Not implemented",
            ),
            _FIRST,
        )
    )

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(self._messages.get(code, "Unexpected error"))
