"""What the service says about a prompt from its conversations."""
