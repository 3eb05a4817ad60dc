"""Import other tools' exports: each conversation to its prompt, and each prompt with its text."""
