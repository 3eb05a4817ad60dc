"""Snapshots on the command line: pull, verify and export."""
