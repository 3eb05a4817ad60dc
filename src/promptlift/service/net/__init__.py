"""Guarded requests to user-supplied addresses: webhooks and websites."""
