"""Generations of candidates: written from what failed, tested on new cells, kept so that any worker can go on."""
