"""Administration of the service: accounts, API keys, deletion of old data, moving to another database."""
