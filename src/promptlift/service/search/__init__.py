"""The search for a better prompt as pure parts: edits, their evidence, the choice of parents, and the budget."""
