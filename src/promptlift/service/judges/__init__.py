"""Judges of one's own: their versions, the runs that put them to conversations, and their alignment with labels."""
