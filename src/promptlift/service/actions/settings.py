"""The settings of an account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.service import clock
from promptlift.service.errors import invalid, tokens_used_up
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.store import accounts, usage
from promptlift.service.websites.company import without_sentences
from promptlift.service.websites.visit import UnreadableWebsite

if TYPE_CHECKING:
    from promptlift.schema.settings import SettingsChange, SyncContextRequest
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.websites.read import CompanyReading, Websites

_FROM_WEBSITE: Final = ("industry", "objectives", "kpis")


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


def read_website(
    database: Database, websites: Websites, caller: Caller, body: SyncContextRequest
) -> CompanyReading:
    """Read a website; takes up to half a minute and keeps nothing.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` under ``url`` for a website that cannot be read.
    """
    # unspecified: what happens without tokens. The page's own words are kept, as for a model in trouble.
    now = clock.now()
    with database.read() as connection:
        limit = usage.token_limit_reached(connection, caller.account_id, now=now)
    no_model = None if limit is None else tokens_used_up(limit, now=now)
    try:
        return websites.read(body.url, no_model=no_model)
    except UnreadableWebsite as error:
        # unspecified: the error of a website that cannot be read.
        raise invalid({"url": str(error)}, "The website could not be read") from None


def fill_context(
    database: Database, caller: Caller, body: SyncContextRequest, reading: CompanyReading
) -> dict[str, Any]:
    """Fill industry, objectives and KPIs from what a website says; existing values stay unless ``overwrite``."""
    with database.write() as connection:
        accounts.lock(connection, caller.account_id)
        settings = accounts.settings(connection, caller.account_id)
        general = settings["general"]
        exclusions = read_exclusions(general["excludedDataAndTopics"])
        extracted = {
            name: without_sentences(getattr(reading.company, name), lambda one: exclusions.clean(one) != one)
            for name in _FROM_WEBSITE
        }
        applied = {
            name: value
            for name, value in extracted.items()
            if value and value != general[name] and (body.overwrite or not general[name].strip())
        }
        if applied:
            accounts.save_settings(
                connection, caller.account_id, {**settings, "general": {**general, **applied}}
            )
        if reading.tokens:
            usage.add(connection, caller.account_id, "tokens", reading.tokens, now=clock.now())
    return {
        "success": True,
        "extracted": extracted,
        "applied": list(applied),
        "analyser": reading.analyser,
        "url": reading.url,
        "problem": reading.problem,
    }


def merge(whole: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the provided fields changed; the arguments are not modified."""
    merged = dict(whole)
    for name, value in change.items():
        before = merged.get(name)
        merged[name] = merge(before, value) if isinstance(value, dict) and isinstance(before, dict) else value
    return merged
