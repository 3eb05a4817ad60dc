"""What requests about webhooks do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.webhooks import SAMPLES
from promptlift.service import clock
from promptlift.service.errors import ApiException, invalid, not_found
from promptlift.service.identifiers import new_id
from promptlift.service.net.addresses import UnusableUrl
from promptlift.service.net.client import RefusedAddress
from promptlift.service.store import accounts, webhooks
from promptlift.service.webhooks.deliveries import Sender

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.events import EventKind
    from promptlift.schema.webhooks import WebhookCreate
    from promptlift.service.net.client import GuardedClient
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow
    from promptlift.service.webhooks.signing import Secrets

__all__ = ["Webhooks"]

# unspecified: how many webhooks an account may have. Every event is compared with all of them.
WEBHOOKS_MAX: Final = 100


class Webhooks:
    """The webhooks of all accounts.

    Parameters
    ----------
    database
        Where they are kept.
    net
        Checks addresses, and sends tests.
    secrets
        Secrets of the webhooks; ``None`` where there is no key for them.
    """

    def __init__(self, database: Database, net: GuardedClient, secrets: Secrets | None) -> None:
        self._database = database
        self._net = net
        self._secrets = secrets

    def listed(self, caller: Caller) -> dict[str, Any]:
        """Return all webhooks of the account, newest first."""
        with self._database.read() as connection:
            rows = webhooks.listed(connection, caller.account_id)
        return {"data": [_wire(row) for row in rows]}

    async def check_url(self, url: str) -> None:
        """Check an address before it is kept; it is checked again whenever something is sent.

        Raises
        ------
        ApiException
            ``VALIDATION_ERROR`` under ``url``.
        """
        try:
            await asyncio.wrap_future(self._net.check(url))
        except UnusableUrl as error:
            raise invalid({"url": str(error)}, "The URL of a webhook must be an HTTPS address") from None
        except RefusedAddress:
            raise invalid(
                {"url": "is a private, loopback, link-local or reserved address"},
                "Webhooks are sent to public addresses only. The operator of the service can allow others with "
                "PROMPTLIFT_ALLOW_PRIVATE_NETWORKS",
            ) from None

    def create(self, caller: Caller, body: WebhookCreate) -> dict[str, Any]:
        """Add a webhook and return it with its secret, which is not shown again.

        Raises
        ------
        ApiException
            ``INVALID_STATE`` when the account has too many, or the service has no key to make secrets from.
        """
        secrets = self._usable_secrets()
        webhook_id = new_id("whk")
        values = {
            "id": webhook_id,
            "account_id": caller.account_id,
            "url": body.url,
            "events": list(dict.fromkeys(body.events)),
            "description": body.description,
            "status": "active",
            "key_id": secrets.key_id,
            "created_at": clock.now(),
        }
        with self._database.write() as connection:
            accounts.lock(connection, caller.account_id)
            if webhooks.count(connection, caller.account_id) >= WEBHOOKS_MAX:
                raise ApiException(
                    "INVALID_STATE",
                    f"The account has the maximum of {WEBHOOKS_MAX} webhooks; delete one first",
                    details={"webhooks": f"at most {WEBHOOKS_MAX}"},
                )
            webhooks.add(connection, values)
            row = self._found(connection, caller, webhook_id)
        shown = {name: value for name, value in _wire(row).items() if name != "description"}
        return {**shown, "secret": secrets.secret(webhook_id)}

    def delete(self, caller: Caller, webhook_id: str) -> None:
        """Delete a webhook; what was not delivered to it never will be.

        Raises
        ------
        ApiException
            ``NOT_FOUND``.
        """
        with self._database.write() as connection:
            if not webhooks.remove(connection, caller.account_id, webhook_id):
                raise not_found("Webhook")

    def resume(self, caller: Caller, webhook_id: str) -> dict[str, Any]:
        """Make a failing webhook active again and return it; what waited meanwhile is delivered now.

        Raises
        ------
        ApiException
            ``NOT_FOUND``.
        """
        with self._database.write() as connection:
            if self._found(connection, caller, webhook_id).status == "failing":
                webhooks.resume(connection, webhook_id, now=clock.now())
            return _wire(self._found(connection, caller, webhook_id))

    def test(self, caller: Caller, webhook_id: str) -> dict[str, Any]:
        """Send an example of an event that the webhook subscribes to, once, and return what came of it.

        The event says ``"test": true``, is kept nowhere, and changes nothing about the webhook.

        Raises
        ------
        ApiException
            ``NOT_FOUND``, or ``INVALID_STATE`` when the service has another key than the one of the webhook's secret.
        """
        with self._database.read() as connection:
            row = self._found(connection, caller, webhook_id)
        secrets = self._usable_secrets()
        if row.key_id != secrets.key_id:
            raise ApiException(
                "INVALID_STATE",
                "The secret of this webhook was made from another key than the service has now: set "
                "PROMPTLIFT_SECRET_KEY to that one, or delete the webhook and create it again",
            )
        kind: EventKind = webhooks.subscribed_kinds(row)[0]
        envelope = {
            "id": new_id("evt"),
            "type": kind,
            "timestamp": clock.iso(clock.now()),
            "data": SAMPLES[kind],
            "test": True,
        }
        attempt = Sender(self._database, self._net, secrets).attempt(row, envelope)
        return {
            "success": attempt.problem is None,
            "eventId": envelope["id"],
            "statusCode": attempt.status_code,
            "problem": attempt.problem,
            "durationMs": round(attempt.seconds * 1_000),
        }

    def deliveries(self, caller: Caller, webhook_id: str, *, limit: int, offset: int) -> dict[str, Any]:
        """Return one page of the deliveries to a webhook, newest first.

        Raises
        ------
        ApiException
            ``NOT_FOUND``.
        """
        with self._database.read() as connection:
            webhook = self._found(connection, caller, webhook_id)
            rows, total = webhooks.page(connection, webhook_id, limit=limit, offset=offset)
        return {
            "data": [_delivery(row, is_paused=webhook.status != "active") for row in rows],
            "pagination": {"total": total, "limit": limit, "offset": offset},
        }

    def _usable_secrets(self) -> Secrets:
        if self._secrets is None:
            raise ApiException(
                "INVALID_STATE",
                "The service has no key to make the secrets of webhooks from: set PROMPTLIFT_SECRET_KEY where it runs",
            )
        return self._secrets

    @staticmethod
    def _found(connection: Connection, caller: Caller, webhook_id: str) -> AnyRow:
        row = webhooks.find(connection, caller.account_id, webhook_id)
        if row is None:
            raise not_found("Webhook")
        return row


def _wire(row: AnyRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "url": row.url,
        "events": webhooks.subscribed_kinds(row),
        "description": row.description,
        "status": row.status,
        "createdAt": clock.iso(row.created_at),
    }


def _delivery(row: AnyRow, *, is_paused: bool) -> dict[str, Any]:
    is_due = row.status == "pending" and not is_paused
    return {
        "id": row.id,
        "eventId": row.event_id,
        "eventType": row.type,
        "status": row.status,
        "attempts": row.attempts,
        "nextAttemptAt": clock.iso(row.due_at) if is_due else None,
        "attemptedAt": clock.iso(row.attempted_at),
        "statusCode": row.status_code,
        "problem": row.problem,
        "deliveredAt": clock.iso(row.delivered_at),
        "createdAt": clock.iso(row.created_at),
    }
