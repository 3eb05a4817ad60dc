"""How often each test with ``kill -9`` kills: three times, or as often as ``KILLS`` in the environment says."""

from __future__ import annotations

import os

KILLS = int(os.environ.get("KILLS", "3"))
