"""Import conversations of other tools, and the texts of their prompts."""
