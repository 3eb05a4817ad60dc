"""Variants of a prompt: what a model is asked for, which of its texts may be tested, and what they must not repeat."""
