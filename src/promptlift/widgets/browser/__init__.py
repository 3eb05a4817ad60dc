"""The conversation browser: find conversations, read them and label them."""
