"""Spans of instrumented applications become conversations."""
