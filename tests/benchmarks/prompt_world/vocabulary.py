"""The words of prompt worlds: what people ask about, how an assistant fails, and the rules that writers write."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CURES",
    "DEFECTS",
    "FILLERS",
    "FIRST_NAMES",
    "GUESS",
    "LAST_NAMES",
    "REQUESTS",
    "RULES",
    "SEED_LINES",
    "SHARED_SYMPTOMS",
    "SMALL_TALK",
    "SYMPTOMS",
    "THEMES",
    "TRIGGERS",
]

SEED_LINES: Final = (
    "You are the support assistant of {{shop_name}}.",
    "Help people with their orders in a friendly way.",
    "Never share the data of another customer.",
    "Refunds take at most 14 days.",
)

# A sentence of a seed prompt that does harm, and how the harm sounds.
DEFECTS: Final = (
    ("Keep each reply to a single short sentence.", "there is no room here for more than one line"),
    ("Send people to the telephone line for details.", "the telephone line would have to tell you that"),
    ("Ask for the full order history before helping.", "first i need every order you ever placed"),
)

THEMES: Final = (
    "return label", "gift card balance", "delivery window", "warranty claim", "invoice address", "loyalty bonus",
    "express upgrade", "colour exchange", "pickup point", "customs fee", "damaged box", "missing screw", "double charge",
    "discount code", "spare charger", "size chart", "cancelled item", "trade-in value", "repair slot",
    "subscription renewal", "password reset", "data export", "battery recall", "installation visit", "student offer",
    "wall mount", "gift wrapping", "payment plan", "stock alert", "energy label",
)  # fmt: skip

TRIGGERS: Final = (
    "It also concerns the {theme}.",
    "There is something with the {theme} as well.",
    "Please have a look at the {theme} too.",
)
REQUESTS: Final = (
    "I need help with my order.",
    "My order is not what I expected.",
    "Can you sort out my last purchase?",
    "I would like my order put right.",
)

SYMPTOMS: Final = (
    "i would only be guessing about the {theme}",
    "the {theme} is nothing that i look into",
    "some other team deals with the {theme}",
    "let us leave the {theme} aside",
)
# Phrases that name no subject, for symptoms that several causes share.
SHARED_SYMPTOMS: Final = (
    "that is more than i can see from here",
    "this does not quite fit what i have",
    "my records look different from yours",
    "i am not sure what you mean by that",
    "it should have worked by itself",
    "that usually takes care of itself",
)

# Wordings of a cure; any of them mends.
CURES: Final = (
    "look the {theme} up before answering",
    "tell people where their {theme} stands",
    "settle the {theme} within the conversation",
)
RULES: Final = (
    "Where it matters, {cure}, even when nobody asks for it.",
    "In such conversations {cure}, as a step of its own.",
    "Before anything else, {cure}, and say so in a sentence.",
)

# What a writer writes about a symptom whose cure it does not find.
GUESS: Final = "Treat every {theme} with special care, and say that you do so."

# What somebody writes about nothing in particular.
SMALL_TALK: Final = (
    "Right, let me see.",
    "Do you open on Sundays?",
    "My neighbour is happy with you, by the way.",
    "Is this chat kept anywhere?",
    "Sorry, I had to look for my glasses.",
    "Hold on a moment, please.",
)

# What writers add when they know nothing: some do nothing, some do harm, and which do is another matter in every world.
FILLERS: Final = (
    "Greet people warmly and thank them for their patience.",
    "Keep your answers brief and to the point.",
    "Use bullet points for anything longer.",
    "Restate the request in your own words first.",
    "Offer one alternative in every answer.",
    "Avoid technical terms wherever you can.",
    "Close each answer with a friendly question.",
    "Show empathy before giving facts.",
    "Explain your reasoning one step at a time.",
    "Ask for confirmation ahead of any change.",
    "Give an example where it helps.",
    "Mention the relevant policy by name.",
    "Double-check each figure you give.",
    "Ask one question at a time.",
    "Write in the present tense.",
    "Suggest a sensible next step.",
    "Match the tone of the other person.",
    "Begin with the most important point.",
    "Summarise what was agreed at the end.",
    "Say plainly what you do not know.",
)

FIRST_NAMES: Final = (
    "Mara", "Jonas", "Aylin", "Pieter", "Noor", "Tomasz", "Ingrid", "Rafael", "Salma", "Viktor", "Elodie", "Kwame",
    "Priya", "Mateo", "Freya", "Dmitri", "Yuki", "Amara", "Lars", "Chiara",
)  # fmt: skip
LAST_NAMES: Final = (
    "Lindqvist", "Okafor", "Brandt", "Silveira", "Haddad", "Novak", "Petrov", "Moreau", "Tanaka", "Fitzgerald", "Kowalski",
    "Jensen", "Iyer", "Castellano", "Vries", "Mbeki", "Sorensen", "Rossi", "Demir", "Albrecht",
)  # fmt: skip
