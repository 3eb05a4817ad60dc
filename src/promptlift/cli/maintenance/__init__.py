"""Look after a service: its database, its accounts and their keys."""
