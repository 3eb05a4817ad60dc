"""Logging conversations, and changing those that have grown at their source or whose status became known."""
