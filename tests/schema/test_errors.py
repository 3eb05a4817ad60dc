"""Which error an answer stands for: the code decides first, the status second."""

from __future__ import annotations

import pytest

from promptlift import errors
from promptlift.errors import from_response


def body(code, message="No.", **details):
    return {"error": {"code": code, "message": message, **({"details": details} if details else {})}}


@pytest.mark.parametrize(
    ("status", "answer", "kind"),
    [
        (400, body("VALIDATION_ERROR"), errors.ValidationError),
        (404, body("NOT_FOUND"), errors.NotFound),
        (400, body("INVALID_STATE"), errors.InvalidState),
        (403, body("INVALID_API_KEY"), errors.InvalidApiKey),
        (402, body("LIMIT_EXCEEDED"), errors.LimitExceeded),
        (503, body("RATE_LIMIT_EXCEEDED"), errors.RateLimited),
        (400, body("PAYLOAD_TOO_LARGE"), errors.ContentTooLarge),
        (429, body("TOO_MANY_REQUESTS"), errors.RateLimited),
        (503, body("SERVICE_UNAVAILABLE"), errors.ServerError),
        (418, body("TEAPOT"), errors.ApiError),
        (400, None, errors.ValidationError),
        (401, None, errors.InvalidApiKey),
        (403, None, errors.InvalidApiKey),
        (404, None, errors.NotFound),
        (409, None, errors.InvalidState),
        (413, None, errors.ContentTooLarge),
        (422, {"detail": []}, errors.ValidationError),
        (429, None, errors.RateLimited),
        (504, "<html>gateway</html>", errors.ServerError),
        (302, None, errors.UnexpectedResponse),
        (418, {"error": "text"}, errors.ApiError),
        (500, {"error": {"code": 7, "message": ["x"], "details": "y"}}, errors.ServerError),
        (500, [1, 2], errors.ServerError),
    ],
)
def test_the_code_decides_first_and_the_status_second(status, answer, kind):
    error = from_response(status, answer, request="GET /prompts")
    assert type(error) is kind
    assert error.status == status
    assert str(error)


def test_a_rate_limit_says_how_long_to_wait():
    error = from_response(429, body("RATE_LIMIT_EXCEEDED"), retry_after=12.5)
    assert isinstance(error, errors.RateLimited)
    assert error.retry_after == 12.5
    assert from_response(429, None).retry_after is None


def test_an_error_shows_message_details_request_status_and_code():
    error = from_response(
        400, body("VALIDATION_ERROR", "Invalid value: name", name="Required field"), request="POST /prompts"
    )
    assert str(error) == (
        "Invalid value: name - name: Required field (POST /prompts, HTTP 400, VALIDATION_ERROR)"
    )
