"""Views of a prompt, aggregated from its conversations."""
