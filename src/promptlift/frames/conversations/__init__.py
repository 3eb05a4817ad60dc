"""Tables of conversations, of their messages, and of what they mention."""
