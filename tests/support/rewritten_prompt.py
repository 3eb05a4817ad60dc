"""A prompt with rules that must not be lost, and a rewrite of it."""

from __future__ import annotations

from promptlift.service.simulations.tasks import PromptText

ORIGINAL = """\
You are the assistant of {{shop}}. Greet {name} by name.

- Never share internal prices with customers.
- Always ask for the order number before you look anything up.
- Returns are accepted within 30 days; refunds above $5,000 need a manager.
- Send people to https://shop.example/returns or help@shop.example.
- When you do not know something, say "I will find out for you".
"""
PROMPT = PromptText(ORIGINAL, objective="Settle returns.")
# A rewrite as a good model would make it.
REWRITE = """\
# Role
You help customers of {{shop}}, and greet {name} by name.

# Rules
Customers must not be told internal prices. Before looking up anything, always ask for the order's number.
Accept returns up to 30 days after purchase, and involve a manager for refunds over $5000.
Links: https://shop.example/returns, help@shop.example.
If unsure, answer: “I will find out for you”.
"""
