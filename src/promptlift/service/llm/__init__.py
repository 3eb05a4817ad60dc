"""The port to language models: any endpoint that implements OpenAI's chat completions."""
