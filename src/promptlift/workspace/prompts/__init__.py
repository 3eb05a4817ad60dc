"""Prompts: found by name, created and changed, and what the service says about them."""
