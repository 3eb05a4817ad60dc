"""Reviews of variants, and actions that can be undone, wherever they are kept."""
