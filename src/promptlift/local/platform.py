"""The systems on which the embedded service runs."""

from __future__ import annotations

import sys

from promptlift.errors import ServiceStartError


def check_platform() -> None:
    """Refuse to serve on Windows, where the service has never been tested.

    Raises
    ------
    ServiceStartError
        On Windows; the message explains what to do instead.
    """
    if sys.platform == "win32":
        raise ServiceStartError(
            "The embedded service needs Linux or macOS. On Windows run Python in WSL, "
            "or connect to a service elsewhere with promptlift.connect()."
        )
