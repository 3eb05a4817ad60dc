"""The sections of a report, each a function that returns a `Section`."""
