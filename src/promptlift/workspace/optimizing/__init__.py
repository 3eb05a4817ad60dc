"""Optimizations: planned, started, waited for, and read as tables."""
