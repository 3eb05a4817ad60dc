"""A judge of "task completed" that learns from labels, using known features of a conversation."""
