"""Deployments: a winner becomes the current version, after a regression test where one is wanted, and is watched."""
