"""Optimizations: variants, what they are measured with, the run, its results and the worker that carries it."""
