"""Optimizations: variants, the cells that measure them, the run, its results and its worker."""
