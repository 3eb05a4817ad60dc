"""What notebooks show of what the API answers: sentences, and HTML that runs no script."""
