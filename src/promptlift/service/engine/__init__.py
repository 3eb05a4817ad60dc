"""How the service judges: insights from one conversation at a time."""
