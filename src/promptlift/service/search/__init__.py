"""The search for a better prompt as pure parts: edits, what conversations say of them, who is a parent, what may be spent."""
