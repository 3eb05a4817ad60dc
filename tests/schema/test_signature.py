"""Signatures of deliveries."""

from __future__ import annotations

import pytest

from promptlift.schema.webhooks import HEADER, sign, verify

# RFC 4231, test case 2.
BODY, SECRET = b"what do ya want for nothing?", "Jefe"
SIGNATURE = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"


def test_a_signature_is_the_hmac_of_the_raw_body():
    assert sign(BODY, SECRET) == SIGNATURE
    assert HEADER == "X-Service-Signature"
    assert verify(BODY, SIGNATURE, SECRET)


@pytest.mark.parametrize(
    ("body", "signature", "secret"),
    [
        (BODY + b" ", SIGNATURE, SECRET),
        (BODY, SIGNATURE, "jefe"),
        (BODY, SIGNATURE[:-1], SECRET),
        (BODY, SIGNATURE.upper(), SECRET),
        (BODY, f"sha256={SIGNATURE}", SECRET),
        (BODY, "", SECRET),
        (BODY, "é" * 64, SECRET),
        (BODY, SIGNATURE.encode(), SECRET),
        (BODY, None, SECRET),
    ],
)
def test_another_body_secret_or_signature_does_not_fit(body, signature, secret):
    assert not verify(body, signature, secret)
