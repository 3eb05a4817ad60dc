"""Judges of one's own and labels of people: made, kept and read as tables."""
