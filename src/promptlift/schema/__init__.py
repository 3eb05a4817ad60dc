"""Types of the API: one module per resource, the content format, events, naming and limits.

Nothing here does I/O, and nothing here needs pandas, httpx or matplotlib.
"""

from __future__ import annotations
