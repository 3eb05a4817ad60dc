"""Simulated conversations: personas, scenarios, and the pool that simulates conversations concurrently."""
