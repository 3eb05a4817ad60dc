"""A program that uses the embedded service as a notebook does: it says where the service is, and lives until its input ends."""

from __future__ import annotations

import sys

import promptlift

if __name__ == "__main__":
    lift = promptlift.local(sys.argv[1], progress=False)
    lift.prompts()
    print(lift.client.config.base_url, flush=True)
    sys.stdin.read()
