"""Comparisons of prompts, versions, models, segments or periods."""
