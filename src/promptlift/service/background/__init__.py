"""The background worker: claim due rows, work on them, and release them."""
