"""The settings of an account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.service.store import accounts

if TYPE_CHECKING:
    from promptlift.schema.settings import SettingsChange
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database


def view(database: Database, caller: Caller) -> dict[str, Any]:
    """Return all settings."""
    with database.read() as connection:
        return accounts.settings(connection, caller.account_id)


def update(database: Database, caller: Caller, body: SettingsChange) -> dict[str, Any]:
    """Update the provided settings and return all of them."""
    with database.write() as connection:
        accounts.lock(connection, caller.account_id)
        merged = merge(accounts.settings(connection, caller.account_id), body.to_wire())
        accounts.save_settings(connection, caller.account_id, merged)
    return {"success": True, "settings": merged}


def merge(whole: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the provided fields changed; the arguments are not modified."""
    merged = dict(whole)
    for name, value in change.items():
        before = merged.get(name)
        merged[name] = merge(before, value) if isinstance(value, dict) and isinstance(before, dict) else value
    return merged
