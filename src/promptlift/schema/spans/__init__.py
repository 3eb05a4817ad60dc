"""Spans of OpenTelemetry that are calls of a language model, as the service receives and an import reads them."""
