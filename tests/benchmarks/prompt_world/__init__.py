"""A prompt world: a model endpoint whose prompts fail for hidden causes, so that every text's completion is known.

``world`` draws worlds and computes the truth, ``model`` answers as their models over HTTP, ``engines`` runs optimizers against
them, and ``run.py`` prints the table.
"""
