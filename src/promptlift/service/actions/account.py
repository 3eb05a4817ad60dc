"""The account, its usage and its settings."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from promptlift.schema import endpoints
from promptlift.schema.account import (
    Account,
    BillingPeriod,
    OptimizationsUsed,
    PlanLimits,
    PlanView,
    Usage,
    Used,
)
from promptlift.schema.settings import ExtractedContext, Settings, SettingsAnswer, SyncContextAnswer
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.errors import invalid, invalid_state, tokens_used_up
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.store import accounts, optimizations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.schema.settings import SettingsChange, SyncContextRequest
    from promptlift.service.call import AnyCall
    from promptlift.service.websites.company import CompanyReading

_FROM_WEBSITE: Final = ("industry", "objectives", "kpis")
# A website and a model may take half a minute to answer, so they do not occupy the threads that every other
# request needs.
_WEBSITES: Final = ThreadPoolExecutor(max_workers=8, thread_name_prefix="websites")
# Accounts for which a website is being read: at most one each, so that slow websites of one account do not
# delay the others.
_reading: Final[set[str]] = set()


@answers(endpoints.ACCOUNT_GET)
def account(call: Call) -> Account:
    """Return the account with its plan."""
    with call.read() as rows:
        row = accounts.get(rows.core, call.account_id)
    plan = call.caller.limits
    limits = PlanLimits(**{name: getattr(plan, name) for name in PlanLimits.model_fields})
    return row.shown(Account, plan=PlanView(name=plan.name, limits=limits))


@answers(endpoints.USAGE_GET)
def used(call: Call) -> Usage:
    """Return the account's usage in the billing period, with the limits of its plan."""
    now = clock.now()
    start, end = map(clock.to_datetime, clock.billing_period(now))
    plan, account_id = call.caller.limits, call.account_id
    with call.read() as rows:
        connection = rows.core
        count = {
            kind: accounts.used_in_period(connection, account_id, kind, now=now)
            for kind in ("optimizations", "conversations", "tokens")
        }
        return Usage(
            period=BillingPeriod(start=start, end=end),
            prompts=Used(used=accounts.active_prompts(connection, account_id), limit=plan.prompts),
            optimizations=OptimizationsUsed(
                used=count["optimizations"],
                limit=plan.optimizations_per_month,
                running=optimizations.running_count(connection, account_id),
            ),
            conversations=Used(used=count["conversations"], limit=plan.conversations_per_month),
            tokens=Used(used=count["tokens"], limit=plan.tokens_per_month),
        )


@answers(endpoints.SETTINGS_GET)
def settings(call: Call) -> Settings:
    """Return all settings."""
    with call.read() as rows:
        return Settings.from_wire(accounts.settings(rows.core, call.account_id))


async def _check_model(call: AnyCall) -> None:
    general = call.body.general
    if general is not None and general.preferred_llm:
        await call.context.check_model(general.preferred_llm, field="general.preferredLLM")


@answers(endpoints.SETTINGS_UPDATE, check=_check_model)
def update_settings(call: Call[SettingsChange]) -> SettingsAnswer:
    """Update the provided settings and return all of them."""
    with call.write() as rows:
        accounts.lock(rows.core, call.account_id)
        merged = merge(accounts.settings(rows.core, call.account_id), call.body.to_wire())
        accounts.save_settings(rows.core, call.account_id, merged)
    return SettingsAnswer(success=True, settings=Settings.from_wire(merged))


@answers(endpoints.SETTINGS_SYNC_CONTEXT)
async def sync_context(call: Call[SyncContextRequest]) -> SyncContextAnswer:
    """Fill industry, objectives and KPIs from what a website says.

    Raises
    ------
    ApiException
        ``INVALID_STATE`` while another website is being read for the account.
    """
    # unspecified: when the model is asked. At once, because the answer has what it found: this is the one request
    # that waits for a model, for a bounded time.
    if call.account_id in _reading:
        raise invalid_state("A website is being read for this account; ask again when that has ended")
    _reading.add(call.account_id)
    try:
        found = await asyncio.get_running_loop().run_in_executor(_WEBSITES, _read_website, call)
    finally:
        _reading.discard(call.account_id)
    # Separate from the reading, which may continue briefly when the service stops: then nothing is filled in.
    return await to_thread.run_sync(_fill_context, call, found)


def _read_website(call: Call[SyncContextRequest]) -> CompanyReading:
    """Read a website; takes up to half a minute and keeps nothing.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` under ``url`` for a website that cannot be read.
    """
    from promptlift.service.websites.company import read_company  # noqa: PLC0415 - few read websites
    from promptlift.service.websites.visit import UnreadableWebsite  # noqa: PLC0415 - as above

    # unspecified: what happens without tokens. The page's own words are kept, as for a model in trouble.
    now = clock.now()
    with call.read() as rows:
        limit = accounts.token_limit_reached(rows.core, call.account_id, now=now)
    no_model = None if limit is None else tokens_used_up(limit, now=now)
    try:
        calls = call.context.models.calls_in_time()
        return read_company(call.context.net, call.body.url, calls, no_model=no_model)
    except UnreadableWebsite as error:
        # unspecified: the error of a website that cannot be read.
        raise invalid({"url": str(error)}, "The website could not be read") from None


def _fill_context(call: Call[SyncContextRequest], reading: CompanyReading) -> SyncContextAnswer:
    """Fill industry, objectives and KPIs from what a website says; existing values stay unless ``overwrite``."""
    from promptlift.service.websites.company import without_sentences  # noqa: PLC0415 - few read websites

    with call.write() as rows:
        connection, caller, body = rows.core, call.caller, call.body
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
            accounts.add_usage(connection, caller.account_id, "tokens", reading.tokens, now=clock.now())
    return SyncContextAnswer(
        success=True,
        extracted=ExtractedContext(**extracted),
        applied=list(applied),
        analyser=reading.analyser,
        url=reading.url,
        problem=reading.problem,
    )


def merge(whole: Mapping[str, object], change: Mapping[str, object]) -> dict[str, object]:
    """Return the settings with the provided fields changed; the arguments are not modified."""
    merged = dict(whole)
    for name, value in change.items():
        before = merged.get(name)
        merged[name] = merge(before, value) if isinstance(value, dict) and isinstance(before, dict) else value
    return merged
