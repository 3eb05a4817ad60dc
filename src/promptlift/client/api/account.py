"""Endpoints of the account, its usage and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.client.api.group import Group
from promptlift.schema import endpoints
from promptlift.schema.settings import Settings, SettingsChange

if TYPE_CHECKING:
    from promptlift.schema.account import Account, Usage


class SettingsGroup(Group):
    """Settings of the account."""

    def get(self) -> Settings:
        """All settings."""
        return self._ask(endpoints.SETTINGS_GET)

    def update(
        self, *, general: dict[str, Any] | None = None, optimization: dict[str, Any] | None = None
    ) -> Settings:
        """Change the given fields, nested as in the API, and give all settings."""
        values = {"general": general, "optimization": optimization}
        given = {name: value for name, value in values.items() if value is not None}
        body = self._body(SettingsChange, given)
        return self._ask(endpoints.SETTINGS_UPDATE, body=body).settings


class AccountGroup(Group):
    """The account."""

    def get(self) -> Account:
        """Account and plan."""
        return self._ask(endpoints.ACCOUNT_GET)


class UsageGroup(Group):
    """Usage against the plan."""

    def get(self) -> Usage:
        """Usage of the current billing period."""
        return self._ask(endpoints.USAGE_GET)
