"""Signatures of deliveries."""

from __future__ import annotations

from promptlift.schema.webhooks import HEADER, sign, verify

# RFC 4231, test case 2.
BODY, SECRET = b"what do ya want for nothing?", "Jefe"
SIGNATURE = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"


def test_a_signature_is_the_hmac_of_the_raw_body():
    assert sign(BODY, SECRET) == SIGNATURE
    assert HEADER == "X-Service-Signature"
    assert verify(BODY, SIGNATURE, SECRET)
