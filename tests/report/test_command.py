"""Options of ``promptlift report`` that cannot be used."""

from __future__ import annotations

import pytest

from promptlift.cli.reporting import report
from promptlift.errors import ConfigError
from support.sentences import REPORT


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": "r.docx"}, REPORT["not a docx"]),
        ({"period": "soon"}, "--period 'soon' cannot be used: give a number of days"),
        ({"period": "2026-02-01..2026-01-01"}, "cannot be used"),
        ({"period": ""}, "cannot be used"),
        ({"logo": "no.png"}, "The logo .*no.png cannot be read"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_before_a_service_is_asked(tmp_path, options, message):
    nowhere = "http://127.0.0.1:1"
    out = tmp_path / options.pop("out", "r.html")
    with pytest.raises(ConfigError, match=message):
        report(["x"], out=out, base_url=nowhere, **options)
