"""Tables of optimizations through a workspace: complete or said not to be, filters, attributes."""

from __future__ import annotations

import pandas as pd
import pytest

import promptlift
from promptlift import plots
from promptlift.errors import ConfigError, NotFound
from promptlift.workspace import MayBeIncomplete
from support.foreign_optimizations import RESULTS, OptimizationService
from support.foreign_service import KEY

pytestmark = pytest.mark.slow


@pytest.fixture
def service():
    with OptimizationService() as running:
        yield running


@pytest.fixture
def lift(service):
    with promptlift.connect(service.base_url, KEY, progress=False) as opened:
        yield opened


def test_optimizations_of_the_bare_specification(service, lift):
    service.add(1, status="failed")
    service.add(2)
    frame = lift.optimizations("p1")
    assert frame["optimization_id"].tolist() == ["o00003", "o00002", "o00001"]
    assert frame["lift_pct"].tolist()[:2] == [12.5, 12.5]
    assert frame["variant_count"].tolist() == [2, 2, pd.NA]
    assert frame[["lift_low", "n_pairs", "rehearsal", "deployment_state"]].isna().all(axis=None)
    told = frame.attrs["promptlift"]
    assert (told["total"], told["filters"], told["complete"]) == (None, {"prompt_id": "p1"}, True)
    assert (told["requests"], told["rehearsal"]) == (3, None)
    with pytest.raises(ConfigError, match="queued, running, completed, failed, stopped"):
        lift.optimizations(status="done")


def test_what_cannot_be_proven_is_a_warning_and_stands_on_the_table(service, lift):
    service.add(15)
    with pytest.warns(MayBeIncomplete, match="more than these 15"):
        frame = lift.optimizations("p1", status="completed")
    told = frame.attrs["promptlift"]
    assert (told["complete"], told["rows"]) == (False, 15)
    assert "of one prompt or one status" in told["completeness"]


def test_variants_of_a_prompt_leave_out_what_has_none_yet(service, lift):
    service.add(2)
    service.add(1, status="queued")
    service.add(1, promptId="p2")
    frame = lift.variants(prompt_id="p1")
    assert frame["optimization_id"].tolist() == ["o00002"] * 3 + ["o00001"] * 3
    assert lift.variants(["o00001", "o00001"])["variant_id"].tolist() == ["v0", "va", "vb"]
    assert list(frame.attrs["promptlift"]["optimizations"]) == ["o00002", "o00001"]
    # The results came with the list's details: one request for each, and one for its variants.
    assert frame.attrs["promptlift"]["requests"] == 5


def test_what_names_no_optimization_says_what_to_give(service, lift):
    for given, named in (((), {}), (("o1",), {"prompt_id": "p1"}), (([],), {}), ((5,), {}), (([""],), {})):
        with pytest.raises(ConfigError, match=r"lift\.optimizations\(\) lists them"):
            lift.variants(*given, **named)
    assert service.seen == []
    with pytest.raises(NotFound, match="Optimization"):
        lift.variants("o9")


def test_production_metrics_are_a_row_each_and_read_once(service, lift):
    seen = {
        "metric": "abandonment",
        "before": 5.0,
        "after": 25.0,
        "conversationsBefore": 200,
        "conversations": 60,
        "regressed": True,
        "p": 0.001,
        "level": 0.0042,
    }
    production = {"conversations": 60, "metrics": [{**seen, "metric": "quality", "regressed": False}, seen]}
    service.add(1, deployment={"id": "d", "state": "rolled_back", "production": production})
    service.add(1)
    assert lift.optimizations["o00002"].production_metrics().empty
    frame = (run := lift.optimizations["o00001"]).production_metrics()
    assert frame["metric"].tolist() == ["quality", "abandonment"]
    assert frame.iloc[1][["before", "after", "conversations_before", "regressed"]].tolist() == [
        5.0,
        25.0,
        200,
        True,
    ]
    assert frame.attrs["promptlift"]["requests"] == 0
    assert run.production_metrics().equals(frame)
    assert [path for _, path, _ in service.seen] == ["/optimizations/o00002", "/optimizations/o00001"]


def test_what_only_the_embedded_service_offers_is_named(service, lift):
    service.add(1)
    for read, name in (
        (lift.personas, "personas.list"),
        (lambda: lift.versions("p1"), "prompts.versions"),
        (lift.optimizations["o00001"].simulations, "optimizations.simulations"),
    ):
        with pytest.raises(NotFound, match=f"embedded service offers {name}"):
            read()


def test_a_rehearsal_stands_on_the_tables(service, lift):
    service.add(1, rehearsal=True, results=RESULTS | {"rehearsal": True})
    service.add(1)
    assert lift.variants("o00001").attrs["promptlift"]["rehearsal"] is True
    assert lift.variants("o00001")["rehearsal"].all()
    assert lift.optimizations().attrs["promptlift"]["rehearsal"] is True
    targets = lift.optimizations["o00001"].targets()
    assert targets.attrs["promptlift"]["rehearsal"] is True
    assert "REHEARSAL" in [text.get_text() for text in plots.targets(targets).texts]
    assert lift.variants("o00002").attrs["promptlift"]["rehearsal"] is None
