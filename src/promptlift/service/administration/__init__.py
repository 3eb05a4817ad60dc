"""What the person who runs the service does: accounts, API keys, deleting what is old, moving to another database."""
