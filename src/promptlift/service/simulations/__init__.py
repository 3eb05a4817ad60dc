"""Simulated conversations: personas, scenarios, and the pool that holds conversations side by side."""
