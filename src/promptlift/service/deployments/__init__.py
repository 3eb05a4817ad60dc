"""Deployments: a winner becomes the current version, after a regression test if required, and is then monitored."""
