"""Your own judges and people's labels, as tables."""
