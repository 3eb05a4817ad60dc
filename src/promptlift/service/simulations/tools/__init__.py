"""The tools of an agent under test: known from its logs and its prompt, played from what they gave before."""
