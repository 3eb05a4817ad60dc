"""Write the bundled sample conversations from hand-written fragments, the same bytes every time.

Run it after changing a fragment: ``python tests/samples/make_samples.py``. The fragments lie in ``fragments/``, one
file a topic. Openings are numbered 1 to 8 in order; questions and endings say which openings they fit.

A dialogue that the built-in analyser would judge wrongly is written again, with the same topic and end, because the
examples of the demo are meant to show what the numbers count. So the samples say nothing about how right the analyser
is: that is measured on real conversations. After a change of the analyser they are written anew.
"""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlift.schema.transcript import Message, Transcript
from promptlift.service.insights.lexicon.judge import TITLES, LexiconJudge
from promptlift.service.insights.lexicon.signals import UPSET
from promptlift.service.insights.lexicon.vader import vader

if TYPE_CHECKING:
    from promptlift.service.insights.judge import Judgement

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CONVERSATIONS = ROOT / "src" / "promptlift" / "samples" / "conversations.jsonl"
PROMPTS = ROOT / "src" / "promptlift" / "samples" / "prompts.json"
CHAT_EXPORT = ROOT / "notebooks" / "data" / "support-chat.jsonl"
MESSAGES_EXPORT = ROOT / "notebooks" / "data" / "messages.csv"

DAYS = 60
V2_STARTS = 10
EMPTY_DAY = 47
QUIET_DAYS = {33: (1, 0), 34: (0, 1)}
EXPORT_START = datetime(2026, 9, 7, tzinfo=UTC)

TRIES = 200
HIGH = {title for title, severity in TITLES.values() if severity == "high"}
ROLES = {"u": "user", "a": "assistant"}
GREETING = re.compile(r"(Hi there|Hi|Hello there|Hello|Good morning)[,.!] ")
MOODS = {"calm": (1, 2, 3), "worried": (4, 5), "annoyed": (6, 7, 8)}


@dataclass(frozen=True)
class Style:
    """How one version of the assistant behaves."""

    version: str
    solves: float
    vague: float
    greets: float


V1 = Style("v1", solves=0.57, vague=0.55, greets=0.7)
V2 = Style("v2", solves=0.80, vague=0.10, greets=0.55)


@dataclass
class Dialogue:
    """Turns as (role, text), and what the writer knows about the end."""

    topic: str
    turns: list[tuple[str, str]] = field(default_factory=list)
    solved: bool = False
    left: bool = False


@cache
def fragments(name: str) -> dict[str, tuple[str, ...]]:
    """Read one file of fragments: section to its paragraphs."""
    sections = {}
    for block in ("\n" + (HERE / "fragments" / f"{name}.txt").read_text("utf-8")).split("\n== ")[1:]:
        title, body = block.split("\n", 1)
        sections[title] = tuple(body.strip().split("\n\n"))
    return sections


TOPICS = tuple(
    sorted(path.stem for path in (HERE / "fragments").glob("*.txt") if path.stem not in ("shared", "words"))
)


def script(text: str) -> list[tuple[str, str]]:
    """Read ``A:``/``U:`` lines as turns."""
    return [(line[0].lower(), line[3:]) for line in text.splitlines() if not line.startswith("for ")]


def fitting(section: tuple[str, ...], opening: int) -> list[str]:
    """Choose the scripts that fit an opening."""
    return [text for text in section if str(opening) in text.split("\n", 1)[0].split()[1:]]


def slots(rng: random.Random) -> dict[str, str]:
    """Draw the details of one customer."""
    size = rng.choice(("S", "M", "L", "38", "40", "42"))
    values = {name: rng.choice(words) for name, words in fragments("words").items()}
    return values | {
        "order": f"LK-{rng.randrange(30000, 69999)}",
        "size": size,
        "othersize": {"S": "M", "M": "L", "L": "XL", "38": "40", "40": "42", "42": "44"}[size],
        "amount": f"€{rng.randrange(9, 260)}.{rng.choice(('00', '50', '90', '95', '99'))}",
        "num": str(rng.randrange(100000, 999999)),
        "num4": str(rng.randrange(1000, 9999)),
        "num2": str(rng.randrange(2, 140)),
        "email": f"{values['first'].lower()}{rng.randrange(10, 99)}@example.{rng.choice(('com', 'org', 'net'))}",
    }


def opened(rng: random.Random, text: str, mood: str) -> str:
    """Write an opening the way this customer begins: with or without a greeting, and perhaps a last word."""
    found = GREETING.match(text)
    if found or rng.random() < (0.1 if mood == "annoyed" else 0.35):
        bare = text[found.end() :] if found else text
        start = bare[0].upper() + bare[1:]
        text = start if rng.random() < 0.3 else f"{{greeting}} {soft(start)}"
    if rng.random() < (0.1 if mood == "annoyed" else 0.3):
        text = f"{text} {{after}}"
    return text


def soft(text: str) -> str:
    """Give a sentence a small first letter where one is right."""
    return text if text.startswith(("I ", "I'", "LK", "SAND")) else text[0].lower() + text[1:]


def greeted(greeting: str, text: str) -> str:
    """Put a greeting before a sentence."""
    return f"{greeting} {soft(text) if greeting.endswith(',') else text}"


def write_dialogue(rng: random.Random, style: Style, topic: str) -> Dialogue:
    """Write one conversation whose end can be told from its words."""
    mood = rng.choices(tuple(MOODS), (50, 20, 30))[0]
    solved = rng.random() < style.solves - (0.06 if mood == "annoyed" else 0)
    for _ in range(TRIES):
        talk = attempt(rng, style, topic, mood, solved=solved)
        if judged_rightly(talk):
            return talk
    raise RuntimeError(f"No {mood} dialogue about {topic} that is {solved=} is judged rightly.")


def judged_rightly(talk: Dialogue) -> bool:
    """Whether the built-in analyser sees how it ended, and no trouble in what went well."""
    found = judgement_of(talk.turns)
    wrong = {"Assistant reported a failure", *HIGH} if talk.solved else set()
    told = found.task_completed == talk.solved and not wrong & {issue.title for issue in found.issues}
    return told and not (talk.solved and sounds_unhappy(talk))


def sounds_unhappy(talk: Dialogue) -> bool:
    """Whether the user sounds unhappy after the request, with or without a word of anger."""
    said = [text for role, text in talk.turns if role == "u"]
    return min(map(vader().compound, said[1:] or said)) <= UPSET


def judgement_of(turns: list[tuple[str, str]]) -> Judgement:
    """Return what the built-in analyser says."""
    messages = [Message(role=ROLES[role], content=text) for role, text in turns]
    return LexiconJudge().judge(Transcript(messages=messages))


def attempt(rng: random.Random, style: Style, topic: str, mood: str, *, solved: bool) -> Dialogue:
    """Write one conversation."""
    own, shared = fragments(topic), fragments("shared")
    opening = rng.choice(MOODS[mood])
    talk = Dialogue(topic, solved=solved)
    turns = talk.turns
    turns.append(("u", opened(rng, own[mood][opening - MOODS[mood][0]], mood)))
    reask = "annoyed" if mood == "annoyed" or rng.random() < 0.3 else "calm"
    if rng.random() < style.vague:
        turns.append(("a", rng.choice(shared["vague"])))
        again = rng.choice(shared[f"reask_{reask}"])
        if again.endswith(":"):
            again = f"{again} {own['short'][0]}"
        elif rng.random() < 0.5:
            again = f"{again} {own['short'][0][0].upper()}{own['short'][0][1:]}"
        turns.append(("u", again))
    question, detail = script(rng.choice(fitting(own["ask"], opening)))
    greets = len(turns) == 1 and rng.random() < style.greets and not question[1].startswith("Sure")
    turns.append(
        (
            "a",
            greeted(rng.choice(shared[f"greeting_{style.version}"]), question[1]) if greets else question[1],
        )
    )
    turns.append(detail)
    if rng.random() < 0.11:
        turns.extend(script(rng.choice(shared["nudge"])))
    ending = script(rng.choice(fitting(own["good" if talk.solved else "bad"], opening)))
    turns.extend(ending)
    (close_solved if talk.solved else close_unsolved)(rng, style, talk, mood)
    values = slots(rng)
    values["after"] = values["after"].format_map(values)
    talk.turns = [(role, text.format_map(values)) for role, text in turns]
    return typed(rng, talk, mood)


def close_solved(rng: random.Random, style: Style, talk: Dialogue, mood: str) -> None:
    """End a conversation that was solved: not everybody says thanks."""
    shared, turns = fragments("shared"), talk.turns
    if turns[-1][0] == "a":
        if rng.random() < 0.2:
            return
        happy = rng.random() < (0.55 if mood == "annoyed" else 0.75)
        turns.append(
            ("u", rng.choice(shared["thanks" if happy else rng.choice(("neutral_end", "grumble_end"))]))
        )
    if rng.random() < 0.17:
        turns.extend(script(rng.choice(shared["side"])))
        turns.append(("u", rng.choice(shared["thanks"])))
    if rng.random() < 0.9:
        turns.append(("a", rng.choice(shared[f"bye_good_{style.version}"])))


def close_unsolved(rng: random.Random, style: Style, talk: Dialogue, mood: str) -> None:
    """End a conversation that went wrong: the customer leaves, complains or gives up."""
    shared, turns = fragments("shared"), talk.turns
    if turns[-1][0] == "u" and rng.random() < 0.8:
        turns.append(("a", rng.choice(shared[f"bye_bad_{style.version}"])))
        talk.left = rng.random() < 0.45
    elif turns[-1][0] == "a":
        talk.left = rng.random() < 0.5
    else:
        talk.left = rng.random() < 0.3
        return
    if not talk.left and rng.random() < 0.7:
        kind = "unhappy" if mood == "annoyed" or rng.random() < 0.5 else "resigned"
        turns.append(("u", rng.choice(shared[kind])))
        if rng.random() < 0.75:
            turns.append(("a", rng.choice(shared[f"bye_bad_{style.version}"])))


def typed(rng: random.Random, talk: Dialogue, mood: str) -> Dialogue:
    """Type the customer's messages the way this customer types."""
    hand = rng.choices(("tidy", "low", "loose", "typo"), (50, 18, 22, 10))[0]
    turns = []
    for role, said in talk.turns:
        text = said
        if role == "u":
            if hand == "low":
                start = text[:1].lower() if text[1:2].islower() else text[:1]
                text = (start + text[1:]).replace(" I ", " i ").replace(" I'", " i'").rstrip(".")
            elif hand == "loose":
                text = text.removesuffix(".").replace("...", "..").replace("please", "pls")
            elif hand == "typo":
                text = rng.choice((text.replace("the ", "teh ", 1), text.replace("ould ", "oud ", 1), text))
            if mood == "annoyed" and text.endswith(".") and rng.random() < 0.15:
                text = text[:-1] + "!!"
        turns.append((role, text))
    talk.turns = turns
    return talk


def timed(rng: random.Random, talk: Dialogue) -> list[tuple[str, int, str]]:
    """Give every turn its second of the day."""
    hour = rng.choices(range(7, 23), (2, 4, 6, 8, 8, 7, 7, 6, 6, 6, 6, 7, 8, 7, 4, 2))[0]
    second = hour * 3600 + rng.randrange(3600)
    turns = []
    for role, text in talk.turns:
        turns.append((role, second, text))
        second += rng.randrange(3, 12) if role == "u" else 12 + len(text) // 8 + int(rng.expovariate(1 / 45))
    return turns


def poisson(rng: random.Random, mean: float) -> int:
    """Draw a count (Knuth's method)."""
    product, count = rng.random(), 0
    while product > math.exp(-mean):
        product *= rng.random()
        count += 1
    return count


def daily_counts(rng: random.Random) -> list[tuple[int, int]]:
    """Draw how many conversations each version has on each day."""
    counts = []
    for day in range(DAYS):
        drawn = (poisson(rng, 4.4 if day < V2_STARTS else 2.3), 0 if day < V2_STARTS else poisson(rng, 2.8))
        if day == EMPTY_DAY:
            drawn = (0, 0)
        counts.append(QUIET_DAYS.get(day, drawn if sum(drawn) or day == EMPTY_DAY else (1, 0)))
    counts[-1] = (3, 4)
    return counts


def record(
    rng: random.Random, style: Style, number: int, day: int, topic: str
) -> tuple[dict[str, Any], Dialogue]:
    """Write one line of the data file, and the dialogue with what only the writer knows."""
    talk = write_dialogue(rng, style, topic)
    status = "abandoned" if talk.left else "completed"
    if day >= DAYS - 2 and rng.random() < 0.45:
        status = "in_progress"
        talk.turns = talk.turns[: max(2, len(talk.turns) // 2)]
        # It waits for the customer: nobody was left without an answer.
        while talk.turns[-1][0] == "u":
            talk.turns.pop()
    turns = [
        [role, second, text] + ([round(len(text) / 4.3) + rng.randrange(3)] if role == "a" else [])
        for role, second, text in timed(rng, talk)
    ]
    metadata = {
        "userId": f"u-{rng.randrange(1000, 1400)}",
        "channel": rng.choices(("web", "mobile", "api"), (58, 37, 5))[0],
        "language": "en",
    }
    if status != "in_progress":
        metadata["resolved"] = talk.solved
    line = {
        "key": f"support-{style.version}-{number:04d}",
        "day": day - DAYS + 1,
        "status": status,
        "model": rng.choices(("gpt-4o-mini", "gpt-4.1-mini"), (75, 25))[0],
        "company": rng.choice(fragments("words")["company"]) if rng.random() < 0.12 else None,
        "metadata": metadata,
        "turns": turns,
    }
    return line, talk


def topic_bag(rng: random.Random) -> Any:
    """Deal topics, the frequent ones more often, never one for long."""
    common = ("refund", "late_delivery", "wrong_size", "password", "damaged")
    while True:
        bag = [*TOPICS, *common]
        rng.shuffle(bag)
        yield from bag


def sample_conversations() -> list[tuple[dict[str, Any], Dialogue]]:
    """Write the conversations of both versions, oldest first."""
    rng = random.Random(8)
    bags = {style.version: topic_bag(rng) for style in (V1, V2)}
    numbers = dict.fromkeys(bags, 0)
    written = []
    for day, counts in enumerate(daily_counts(rng)):
        for style, count in zip((V1, V2), counts, strict=True):
            for _ in range(count):
                numbers[style.version] += 1
                version = style.version
                written.append(record(rng, style, numbers[version], day, next(bags[version])))
    return written


def export_conversations(seed: int, count: int) -> list[dict[str, Any]]:
    """Write conversations of a third, nameless version: between the two."""
    rng = random.Random(seed)
    style = Style("v2", solves=0.68, vague=0.3, greets=0.5)
    bag = topic_bag(rng)
    days = sorted(rng.randrange(0, 28) for _ in range(count))
    return [record(rng, style, number, day, next(bag))[0] for number, day in enumerate(days, start=1)]


def lines(records: list[dict[str, Any]]) -> str:
    """Write records as JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)


def chat_export() -> str:
    """Write the OpenAI chat JSONL: what a log of stored chat completions looks like."""
    system = json.loads(PROMPTS.read_text("utf-8"))[0]["content"]
    records = []
    for line in export_conversations(77, 60):
        first = line["turns"][0][1]
        start = EXPORT_START + timedelta(days=line["day"] + DAYS - 1, seconds=first)
        records.append(
            {
                "id": f"chatcmpl-{line['key'].removeprefix('support-v2-')}",
                "created_at": start.isoformat().replace("+00:00", "Z"),
                "model": line["model"],
                "messages": [
                    {"role": "system", "content": system},
                    *({"role": ROLES[turn[0]], "content": turn[2]} for turn in line["turns"]),
                ],
            }
        )
    return lines(records)


def messages_export() -> str:
    """Write the CSV with one row a message."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(
        ("conversation_id", "message_index", "role", "content", "timestamp", "model", "tokens", "status")
    )
    for line in export_conversations(78, 24):
        start = EXPORT_START + timedelta(days=line["day"] + DAYS - 1)
        for index, (role, second, text, *tokens) in enumerate(line["turns"]):
            when = (start + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")
            name = line["key"].replace("support-v2", "chat")
            model = line["model"] if role == "a" else None
            table.writerow(
                (name, index, ROLES[role], text, when, model, tokens[0] if tokens else None, line["status"])
            )
    return out.getvalue()


def build() -> dict[Path, str]:
    """Give every file's text by its path."""
    return {
        CONVERSATIONS: lines([line for line, _ in sample_conversations()]),
        CHAT_EXPORT: chat_export(),
        MESSAGES_EXPORT: messages_export(),
    }


if __name__ == "__main__":
    for path, text in build().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
        print(f"{path.name}: {len(text.encode('utf-8')):,} bytes")
