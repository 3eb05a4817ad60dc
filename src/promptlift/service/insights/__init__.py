"""Insights: conversations are judged in the background, by the built-in analyser or by a model."""
