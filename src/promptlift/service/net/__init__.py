"""Guarded requests to addresses that users gave: webhooks and websites."""
