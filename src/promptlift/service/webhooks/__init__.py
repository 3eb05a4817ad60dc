"""Webhooks: endpoints, signing, deliveries and their worker."""
