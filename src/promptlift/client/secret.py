"""A text that is never shown: not in a repr, a format, a pickle or a traceback with local variables."""

from __future__ import annotations

from typing import NoReturn, final


@final
class Secret:
    """Hold an API key.

    Parameters
    ----------
    text
        The key itself. Only :meth:`reveal` returns it.
    """

    __slots__ = ("__text",)

    def __init__(self, text: str) -> None:
        self.__text = text

    def reveal(self) -> str:
        """Return the text. Call this where it is needed, without storing the result in a variable."""
        return self.__text

    def __repr__(self) -> str:
        return "Secret('…')"

    __str__ = __repr__

    def __format__(self, spec: str, /) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.__text == other.__text

    def __hash__(self) -> int:
        return hash(self.__text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("A secret is not written to files or sent to other processes")
