"""The background worker: claim rows that are due, work on them, and release them."""
