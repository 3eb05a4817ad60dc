"""lift.compare and lift.this_week on a real service: prompts, versions, models, periods; and what they refuse."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pytest

import promptlift
from promptlift import analysis
from promptlift.analysis import two_groups
from promptlift.analysis.what_else import what_else
from promptlift.errors import ConfigError, FrameError
from promptlift.local import log_samples, wait_for_insights
from promptlift.workspace import Comparison, NothingMatchesWarning
from support.hostile import HTML

pytestmark = pytest.mark.slow

V1, V2 = "Support assistant v1", "Support assistant v2"


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    with promptlift.local(tmp_path_factory.mktemp("samples"), progress=False) as lift:
        prompts = log_samples(lift, ending=date(2026, 11, 1))
        wait_for_insights(lift, prompts.values(), progress=False)
        yield lift


@pytest.fixture(scope="module")
def of_prompts(samples):
    return samples.compare(V1, V2)


def test_two_prompts_the_sentence_first(samples, of_prompts):
    row = of_prompts.table.iloc[0]
    assert (row["variant"], row["control"], row["verdict"]) == (V2, V1, "winner")
    points, low, high = (round(row[f"difference_points{end}"]) for end in ("", "_low", "_high"))
    assert of_prompts.sentence == (
        f"{V2} completes {points} points more than {V1} ({low} to {high}); clearly higher. "
        f"{points} more of 100 users get their task done."
    )
    assert str(of_prompts).startswith(of_prompts.sentence)
    assert "not an experiment" in of_prompts.notes[-1]
    df = samples.conversations(insights=True)
    for prompt, rate in ((V1, row["rate_control"]), (V2, row["rate"])):
        part = df[df["prompt"] == prompt]
        assert analysis.completion(part).iloc[0]["rate"] == rate

    other = samples.compare(V2, V1)
    assert other.table["difference_points"].iloc[0] == pytest.approx(-row["difference_points"])
    assert "; clearly lower." in other.sentence


def test_in_a_notebook_the_picture_and_the_table_follow(of_prompts):
    shown = of_prompts._repr_html_()
    assert shown.index(of_prompts.sentence) < shown.index("<svg") < shown.index("<table>")
    assert "[data-jp-theme-light='false'] .promptlift-figure" in shown
    assert "not an experiment" in shown
    assert "<td>higher</td>" in shown
    others = of_prompts.others
    assert {"issue", "measure"} <= set(others["kind"])
    assert len(of_prompts.what_else) == others["verdict"].ne("unclear").sum()
    holds = (others["difference_low"] <= 0) & (others["difference_high"] >= 0)
    assert (others["verdict"] == "unclear")[holds | (others["p_holm"] >= 0.05)].all()


def test_two_models_and_what_is_not_there(samples):
    found = samples.compare("gpt-4o-mini", "gpt-4.1-mini", by="llm_model")
    assert sides(found) == samples.conversations()["llm_model"].value_counts().to_dict()
    with pytest.raises(ValueError, match=r"No conversation has 'x' in llm_model.*'gpt-4o-mini'"):
        samples.compare("x", "gpt-4o-mini", by="llm_model")
    with pytest.raises(ValueError, match=r"No conversation has 'chat' in metadata\.channel.*'mobile', 'web'"):
        samples.compare("web", "chat", by="metadata.channel")
    with pytest.raises(FrameError, match=r"metadata\.chanel"):
        samples.compare("web", "api", by="metadata.chanel")
    with pytest.raises(ConfigError, match="prompt="):
        samples.compare(1, 2)
    with pytest.raises(ValueError, match="two different"):
        samples.compare(V1, V1)


def sides(found):
    return found.conversations["compared"].value_counts().to_dict()


def test_filters_of_conversations_hold_for_both_sides(samples):
    wanted = {"since": "2026-09-15", "until": "2026-10-15", "where": {"metadata.channel": ["web", "mobile"]}}
    found = samples.compare(V1, V2, **wanted)
    assert sides(found) == {name: len(samples.conversations(name, **wanted)) for name in (V1, V2)}
    assert set(found.conversations["metadata.channel"]) == {"web", "mobile"}
    with pytest.warns(NothingMatchesWarning, match=r"'chat' in metadata\.channel.*'web'"):
        empty = samples.compare(V1, V2, where={"metadata.channel": "chat"})
    assert empty.table.empty
    with pytest.raises(ConfigError, match="Versions are those of one prompt"):
        samples.compare(1, 2, prompt=[V1, V2])


def test_two_periods(samples):
    cut = "2026-10-10"
    found = samples.compare((None, cut), (cut, None), prompt=V2)
    began = samples.conversations(V2)["started_at"]
    before = int((began < pd.Timestamp(cut, tz="UTC")).sum())
    assert sides(found) == {f"{cut} and before": before, f"{cut} and later": len(began) - before}
    with pytest.raises(ValueError, match="overlap"):
        samples.compare(("2026-10-01", "2026-10-10"), ("2026-10-09", "2026-10-20"))


def test_two_versions_are_told_apart_by_when_they_were_live(lift):
    prompt = lift.client.prompts.create(name="Versions", content="One.", llm_model="gpt-4o").id
    lift.client.prompts.update(prompt, content="Two.")
    with pytest.raises(ValueError, match=r"no version 7 of this prompt. It has: v1, v2"):
        lift.compare(1, 7, prompt="Versions")
    found = lift.compare(1, 2, prompt="Versions")
    assert found.table.empty
    assert found.sentence == "v2 and v1 cannot be compared: there are no conversations of v1 and v2."
    assert not any("not an experiment" in note for note in found.notes)
    live = lift.versions(prompt).set_index("number")["created_at"]
    table = pd.DataFrame(
        {
            "started_at": [live[1], live[2] - pd.Timedelta("1us"), live[2], live[2] + pd.Timedelta("1D")],
            "created_at": live[2],
        }
    )
    names, sides = two_groups.of_versions(table, lift.versions(prompt), "v1", 2)
    assert names == ("v1", "v2")
    assert sides["compared"].tolist() == ["v1", "v1", "v2", "v2"]


def test_this_week_against_the_week_before(samples):
    found = samples.this_week(V2, until="2026-11-02")
    began = samples.conversations(V2)["started_at"]
    end, week = pd.Timestamp("2026-11-02", tz="UTC"), pd.Timedelta("7D")
    assert sides(found)["this week"] == ((began >= end - week) & (began < end)).sum() > 0
    assert sides(found)["the week before"] == ((began >= end - 2 * week) & (began < end - week)).sum() > 0
    assert found.notes[0] == "This week: 2026-10-26 00:00 to 2026-11-02 00:00 UTC."
    web = samples.this_week([V1, V2], until="2026-11-02", where={"metadata.channel": "web"})
    assert set(web.conversations["metadata.channel"]) == {"web"}
    assert set(web.conversations["prompt"]) == {V1, V2}
    empty = samples.this_week(V2, until="2027-03-01")
    assert empty.sentence == (
        "This week and the week before cannot be compared: there are no conversations of the week before and this week."
    )
    assert "The last conversation began at 2026-1" in empty.notes[0]
    assert "until=" in empty.notes[0]
    assert "<table>" not in empty._repr_html_()


def many(rng, n=1200):
    """Conversations of two sides: b is slower, has the issue, and is better on the web only."""
    side, channel = rng.choice(["a", "b"], n), rng.choice(["web", "phone"], n)
    better = np.where((side == "b") & (channel == "web"), 0.9, 0.6)
    slow = rng.random(n) < np.where(side == "b", 0.3, 0.1)
    return pd.DataFrame(
        {
            "compared": side,
            "metadata.channel": channel,
            "task_completed": pd.array(rng.random(n) < better, "boolean"),
            "issues": [[{"title": "Slow answer", "severity": "low"}] if one else [] for one in slow],
            "n_turns": rng.poisson(np.where(side == "b", 9, 7)),
            "cost": rng.random(n),
        }
    )


def test_what_else_finds_issue_length_and_the_segment_where_the_difference_is_another():
    others = what_else(many(np.random.default_rng(5)), by="compared", variant="b", control="a")
    clear = others[others["verdict"] != "unclear"]
    assert set(clear["name"].str.replace(" phone| web", "", regex=True)) == {
        "Slow answer", "n_turns", "metadata.channel",
    }  # fmt: skip
    said = " ".join(others.attrs["promptlift"]["sentences"][: len(clear)])
    assert "b has the issue “Slow answer”" in said
    assert "more often than a" in said
    assert "mean number of turns of b is 1.7 higher" in said
    assert "The difference between b and a depends on metadata.channel" in said


@pytest.mark.parametrize("analyser", ["lexicon", "llm:gpt-4o"])
def test_what_else_compares_no_topics_of_prompts_that_each_have_their_own(analyser):
    table = many(np.random.default_rng(5)).assign(analyser=analyser)
    b = table["compared"] == "b"
    table["topics"] = np.where(b, "refund · card", "card · refund")
    table["topics"] = table["topics"].map(lambda one: [one])
    one = what_else(table.assign(prompt_id="prm_1"), by="compared", variant="b", control="a")
    two = what_else(
        table.assign(prompt_id=np.where(b, "prm_1", "prm_2")), by="compared", variant="b", control="a"
    )
    assert one["kind"].eq("topic").sum() == 2
    assert two["kind"].eq("topic").sum() == (0 if analyser == "lexicon" else 2)


def test_what_else_is_silent_where_nothing_differs():
    """40 tables without any difference: more than 8 false alarms of a true rate of 0.05 have a probability of 0.0005."""
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = many(rng, 400).assign(compared=rng.choice(["a", "b"], 400))
        alarms += what_else(table, by="compared", variant="b", control="a")["verdict"].ne("unclear").any()
    assert alarms <= 8


@pytest.mark.parametrize("name", HTML[:2])
def test_nothing_shown_is_raw(name):
    table = many(np.random.default_rng(1), 200).replace({"compared": {"b": name}})
    found = Comparison(*two_groups.answer(table, ("a", name), outcome="task_completed", level=0.95, tz="UTC"))
    assert name not in found._repr_html_()
