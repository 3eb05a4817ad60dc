"""Displays of API answers in notebooks: sentences, and HTML without scripts."""
