"""How often tests repeat what chance decides; the environment may ask for more.

``KILLS`` is how often each test with ``kill -9`` kills, and ``SEEDS`` how many courses of events a test tries.
"""

from __future__ import annotations

import os

KILLS = int(os.environ.get("KILLS", "3"))
SEEDS = int(os.environ.get("SEEDS", "1"))
