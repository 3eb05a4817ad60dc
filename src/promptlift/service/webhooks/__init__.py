"""Webhooks: signing, deliveries and their worker."""
