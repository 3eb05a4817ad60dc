"""The built-in analyser: insights from words and rules, without a model."""
