"""The variant review: compare the variants of an optimization and decide."""
