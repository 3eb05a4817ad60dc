"""Conversations in groups that share their words: vectors, clusters and names, without tables; analysis and the service use it."""
