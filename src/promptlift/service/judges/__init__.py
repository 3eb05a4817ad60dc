"""Custom judges: their versions, backfills of verdicts, and alignment with labels."""
