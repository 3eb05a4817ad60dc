"""Benchmarks: fixed scenario sets over prompts, versions, variants and models."""
