"""``promptlift vacuum`` and ``promptlift migrate`` as a user runs them."""

from __future__ import annotations

import json

import promptlift
from promptlift.local import wait_for_insights
from support.command_line import failed_in_one_line, promptlift_command


def test_old_transcripts_are_deleted_and_the_copy_has_the_rest(start_service, tmp_path, postgres_url):
    data = tmp_path / "data"
    service = start_service(data=data)
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt = lift.client.prompts.create(name="n", content="c", llm_model="gpt-4o")
        turns = [{"role": "user", "content": "hi", "timestamp": "2020-01-01T00:00:00Z"}]
        made = lift.client.conversations.log_many(
            [
                {"content": json.dumps({"messages": turns}), "source_id": "s1"},
                {"content": "User: new"},
            ],
            prompt_id=prompt.id,
        )
        old, new = (row.id for row in made.data)
        wait_for_insights(lift, [prompt.id], progress=False)
        # The service runs meanwhile.
        done = promptlift_command("vacuum", "--keep", "400d", "--data", str(data))
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[0] == "Transcripts deleted: 1"
        assert lift.client.conversations.get(old).content is None
        assert lift.client.conversations.get(new).content == "User: new"
        # What has grown at its source since does not come back, nor does it come twice.
        grown = lift.log([{"messages": [*turns, *turns], "source_id": "s1"}], prompt_id=prompt.id)
        assert (grown.already_there, grown.failed) == (1, [])
        both = promptlift_command("vacuum", "--keep", "400d", "--keep-insights", "800d", "--data", str(data))
        assert "Conversations deleted with their insights: 1" in both.stdout
        assert [one.id for one in lift.client.conversations.deleted().data] == [old]
    service.stop()
    for wrong in (("--keep", "400"), ("--keep", "-1d"), ("--keep-insights", "9d")):
        refused = promptlift_command("vacuum", *wrong, "--data", str(data))
        assert refused.returncode != 0
        assert "Traceback" not in refused.stderr
    file = data / "promptlift.db"
    copied = promptlift_command("migrate", "--from", f"sqlite:///{file}", "--to", postgres_url)
    assert copied.returncode == 0, copied.stderr
    lines = [line.split() for line in copied.stdout.splitlines()]
    assert ["conversations", "1"] in [line[:2] for line in lines]
    again = promptlift_command("migrate", "--from", f"sqlite:///{file}", "--to", postgres_url)
    assert "has accounts already" in failed_in_one_line(again)
    missing = promptlift_command(
        "migrate", "--from", f"sqlite:///{tmp_path / 'none.db'}", "--to", postgres_url
    )
    assert "There is no file" in failed_in_one_line(missing)
    assert not (tmp_path / "none.db").exists()
