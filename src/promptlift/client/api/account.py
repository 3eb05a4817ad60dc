"""Endpoints of the account, its usage and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.client.api.group import Group, given
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from promptlift.schema.account import Account, Usage
    from promptlift.schema.settings import Settings, SyncContextAnswer


class SettingsGroup(Group):
    """Settings of the account."""

    def get(self) -> Settings:
        """Return all settings."""
        return self._send(endpoints.SETTINGS_GET)

    def update(
        self,
        *,
        general: dict[str, Any] | None = None,
        optimization: dict[str, Any] | None = None,
        business: dict[str, Any] | None = None,
    ) -> Settings:
        """Update the given fields, nested as in the API, and return all settings.

        ``business`` (``valuePerConversation``, ``currency``) is offered by the embedded service.
        """
        fields = given(general=general, optimization=optimization, business=business)
        return self._send(endpoints.SETTINGS_UPDATE, **fields).settings

    def sync_context(self, url: str, *, overwrite: bool = False) -> SyncContextAnswer:
        """Fill industry, objectives and KPIs from a company's website, and return the result.

        Parameters
        ----------
        url
            Address of the website.
        overwrite
            Whether existing values are replaced.
        """
        return self._send(endpoints.SETTINGS_SYNC_CONTEXT, url=url, overwrite=overwrite)


class AccountGroup(Group):
    """The account."""

    def get(self) -> Account:
        """Return the account and its plan."""
        return self._send(endpoints.ACCOUNT_GET)


class UsageGroup(Group):
    """Usage against the plan."""

    def get(self) -> Usage:
        """Return usage of the current billing period."""
        return self._send(endpoints.USAGE_GET)
