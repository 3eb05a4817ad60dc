"""Tickets of Zendesk and conversations of Intercom, as their APIs answer and as tables of them are."""

from __future__ import annotations

import pytest

from promptlift import transcripts

HELLO = [("user", "Hi"), ("assistant", "Hello")]
AT = "2026-01-05T10:00:00Z"


def comment(author, text, *, public=True):
    html = f'<div class="zd-comment" dir="auto"><p>{text}</p></div>'
    said = {"body": text, "html_body": html, "plain_body": text}
    return {"id": author, "author_id": author, **said, "public": public, "created_at": AT}


COMMENTS = [comment(1, "Hi"), comment(2, "secret", public=False), comment(3, "Hello")]
TICKET = {
    "id": 7, "subject": "Order", "description": "Hi", "status": "solved", "priority": "normal",
    "type": "question", "requester_id": 1, "submitter_id": 1, "via": {"channel": "web"}, "tags": ["late"],
    "satisfaction_rating": {"score": "good", "comment": "Thanks"}, "created_at": AT,
}  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        {**TICKET, "comments": COMMENTS},
        {"tickets": [{**TICKET, "comments": COMMENTS}], "next_page": None, "count": 1},
        {"ticket": TICKET, "comments": COMMENTS},
    ],
    ids=["ticket", "page", "beside"],
)
def test_a_ticket_with_its_comments_is_a_conversation(written, said, data):
    reading = transcripts.read(written("a.json", data))
    assert (reading.format, reading.problems) == ("zendesk", [])
    (found,) = reading.conversations
    assert said(found) == HELLO
    assert (found.source_id, found.status, found.title) == ("7", "completed", "Order")
    assert dict(found.metadata) == {
        "userId": "1",
        "channel": "web",
        "tags": ["late"],
        "priority": "normal",
        "type": "question",
        "satisfaction": "good",
    }
    assert reading.dropped["comments[] (internal note)"] == 1
    assert reading.dropped["submitter_id"] == 1


def test_the_users_of_a_page_say_who_is_an_agent(written, said):
    """A colleague of the customer, who was copied in, is no agent."""
    users = [{"id": 1, "role": "end-user"}, {"id": 3, "role": "admin"}, {"id": 4, "role": "end-user"}]
    page = {
        "tickets": [{**TICKET, "comments": [*COMMENTS, comment(4, "Me too")]}],
        "users": users,
    }
    (found,) = transcripts.read(written("a.json", page)).conversations
    assert said(found) == [*HELLO, ("user", "Me too")]


def test_tickets_without_comments_name_the_call_that_gives_them(written):
    for data in (TICKET, {"tickets": [TICKET]}, {**TICKET, "comments": []}):
        (problem,) = transcripts.read(written("a.json", data)).problems
        assert "GET /api/v2/tickets/ID/comments" in problem.message
    table = "Id,Requester,Subject,Status\n7,Ann,Order,Solved\n"
    (problem,) = transcripts.read(written("a.csv", table)).problems
    assert "tickets of Zendesk without their comments" in problem.message


def part(number, kind, author, body):
    by = {"id": f"u-{author}", "type": author, "name": "A"}
    return {
        "id": str(number),
        "part_type": kind,
        "body": body,
        "created_at": 1_767_607_200 + number,
        "author": by,
    }


INTERCOM = {
    "type": "conversation", "id": "9", "created_at": 1_767_607_200, "title": None, "state": "closed",
    "open": False, "priority": "not_priority",
    "source": {
        "type": "conversation",
        "subject": "<p>Order</p>",
        "body": "<p>Where&#39;s my parcel?<br>It is late.</p>",
        "author": {"type": "lead", "id": "l-1"},
    },
    "contacts": {"contacts": [{"type": "contact", "id": "c-1"}]},
    "tags": {"type": "tag.list", "tags": [{"type": "tag", "id": "1", "name": "late"}]},
    "conversation_rating": {"rating": 5, "remark": "Thanks"},
    "custom_attributes": {"plan": "pro"},
    "ai_agent": {"resolution_state": "confirmed_resolution"},
    "statistics": {"count_reopens": 0},
    "conversation_parts": {
        "conversation_parts": [
            part(1, "comment", "bot", "<p>One moment.</p>"),
            part(2, "note", "admin", "<p>secret</p>"),
            part(3, "note_and_reopen", "admin", "<p>secret</p>"),
            part(4, "assignment", "team", None),
            part(5, "assignment", "team", "<p>I take over.</p>"),
            part(6, "comment", "user", "<p>Thanks &amp; bye</p>"),
            part(7, "close", "admin", None),
        ],
        "total_count": 7,
    },
}  # fmt: skip
PARCEL = [
    ("user", "Where's my parcel?\nIt is late."),
    ("assistant", "One moment."),
    ("assistant", "I take over."),
    ("user", "Thanks & bye"),
]


@pytest.mark.parametrize(
    "data", [INTERCOM, {"type": "conversation.list", "conversations": [INTERCOM], "total_count": 1}]
)
def test_a_conversation_of_intercom_has_its_parts_without_notes(written, said, data):
    reading = transcripts.read(written("a.json", data))
    assert (reading.format, reading.problems) == ("intercom", [])
    (found,) = reading.conversations
    assert said(found) == PARCEL
    assert (found.source_id, found.status, found.title) == ("9", "completed", "Order")
    assert dict(found.metadata) == {
        "plan": "pro",
        "userId": "l-1",
        "channel": "conversation",
        "tags": ["late"],
        "priority": "not_priority",
        "rating": 5,
        "resolution": "confirmed_resolution",
    }
    assert reading.dropped["conversation_parts[] (internal note)"] == 2
    assert reading.dropped["statistics"] == 1


def test_tables_of_help_desks_are_read_without_naming_columns(written, said):
    """As tools that copy a help desk into a data base write them: one row a part or a comment."""
    parts = (
        "id,conversation_id,part_type,author_type,author_id,body,created_at\n"
        '1,9,comment,lead,l-1,"<p>Hi</p>",2026-01-05 10:00:00\n'
        "2,9,note,admin,a-1,<p>secret</p>,2026-01-05 10:00:01\n"
        "3,9,assignment,team,t-1,,2026-01-05 10:00:02\n"
        "4,9,comment,bot,b-1,<p>Hello</p>,2026-01-05 10:00:03\n"
    )
    comments = (
        "ticket_id,author_role,plain_body,public,created_at\n"
        "7,end-user,Hi,true,2026-01-05T10:00:00Z\n"
        "7,agent,secret,false,2026-01-05T10:00:01Z\n"
        "7,agent,Hello,true,2026-01-05T10:00:02Z\n"
    )
    for table, hidden in ((parts, 2), (comments, 1)):
        reading = transcripts.read(written("a.csv", table))
        assert (reading.format, reading.problems) == ("rows", [])
        assert [said(found) for found in reading.conversations] == [HELLO]
        assert reading.dropped["rows that the customer did not see"] == hidden
