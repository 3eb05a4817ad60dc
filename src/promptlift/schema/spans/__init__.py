"""OpenTelemetry spans of language model calls, received by the service or imported from files."""
