"""A judge of "task completed" that learns from labels what the service already knows of a conversation."""
