"""The port to language models: any endpoint that speaks OpenAI's chat completions."""
