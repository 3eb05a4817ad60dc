"""``promptlift webhooks``: list webhooks, and resume those that failed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptlift.cli.target import Target


def show(target: Target) -> None:
    """Print one line for each webhook.

    Parameters
    ----------
    target
        Which service.
    """
    with target.open() as lift:
        webhooks = lift.client.webhooks.list().data
    if not webhooks:
        sys.stdout.write("There are no webhooks.\n")
    for one in webhooks:
        sys.stdout.write(f"{one.id}  {one.status:7}  {one.url}  {', '.join(one.events)}\n")


def resume(webhook_id: str, target: Target) -> None:
    """Make a failing webhook active again.

    Parameters
    ----------
    webhook_id
        As `show` prints it.
    target
        Which service.
    """
    with target.open() as lift:
        webhook = lift.client.webhooks.resume(webhook_id)
    sys.stdout.write(f"The webhook {webhook.id} is {webhook.status}: what waited is delivered now.\n")
