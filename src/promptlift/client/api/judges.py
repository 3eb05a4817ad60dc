"""Custom judges, their runs, and people's labels. The embedded service supports them; others may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.client.api.group import Group, given
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from promptlift.schema.judges import Judge, JudgePlan, JudgeRun, JudgeVerdict, Label, LabelsAnswer
    from promptlift.schema.model import Done, Page


class Judges(Group):
    """Judges: a yes/no question with a rubric, in versions. ``Workspace.judges`` is the same by name."""

    def list(self, *, limit: int | None = None, offset: int | None = None) -> Page[Judge]:
        """Return one page of judges, each in its newest version."""
        return self._send(endpoints.JUDGES_LIST, limit=limit, offset=offset)

    def create(
        self,
        *,
        name: str,
        question: str,
        rubric: str | None = None,
        examples: Sequence[Mapping[str, Any]] | None = None,
        llm_model: str | None = None,
    ) -> Judge:
        """Create a judge, or a new version of the judge with this name; the same text again returns the existing version.

        An example is a dict with text, answer and optionally reason.
        """
        fields = given(rubric=rubric, examples=None if examples is None else [*examples], llm_model=llm_model)
        return self._send(endpoints.JUDGES_CREATE, name=name, question=question, **fields)

    def get(self, judge_id: str, *, version: int | None = None) -> Judge:
        """Return a version of a judge, by default the newest."""
        return self._send(endpoints.JUDGES_GET, judge_id, version=version)

    def delete(self, judge_id: str) -> Done:
        """Delete a judge with its versions, verdicts and runs."""
        return self._send(endpoints.JUDGES_DELETE, judge_id)

    def versions(self, judge_id: str, *, limit: int | None = None, offset: int | None = None) -> Page[Judge]:
        """Return one page of the versions of a judge, newest first."""
        return self._send(endpoints.JUDGES_VERSIONS, judge_id, limit=limit, offset=offset)

    def verdicts(
        self,
        judge_id: str,
        *,
        version: int | None = None,
        all_versions: bool | None = None,
        prompt_id: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Page[JudgeVerdict]:
        """Return one page of verdicts: of a version, or the newest of each conversation."""
        return self._send(
            endpoints.JUDGES_VERDICTS,
            judge_id,
            version=version,
            all_versions=all_versions,
            prompt_id=prompt_id,
            limit=limit,
            offset=offset,
        )

    def plan(self, judge_id: str, **fields: Any) -> JudgePlan:
        """Return the cost of a backfill, without calling the model. ``fields`` are those of :meth:`backfill`."""
        return self._send(endpoints.JUDGES_PLAN, judge_id, **given(**fields))

    def backfill(self, judge_id: str, **fields: Any) -> JudgeRun:
        """Judge logged conversations. The request is never repeated after a failure.

        ``fields`` may be version, prompt_id, since, until, max_conversations, max_tokens, max_cost and price (a dict with
        input and output).
        """
        return self._send(endpoints.JUDGES_BACKFILL, judge_id, **given(**fields))

    def align(
        self,
        judge_id: str,
        *,
        labels: Sequence[Mapping[str, Any]],
        seed: int | None = None,
        generations: int | None = None,
        max_tokens: int | None = None,
    ) -> JudgeRun:
        """Improve a judge by labels, dicts with conversation_id and value. Never repeated after a failure."""
        fields = given(seed=seed, generations=generations, max_tokens=max_tokens)
        return self._send(endpoints.JUDGES_ALIGN, judge_id, labels=[*labels], **fields)


class JudgeRuns(Group):
    """Backfills and alignments of judges."""

    def list(
        self, *, judge_id: str | None = None, limit: int | None = None, offset: int | None = None
    ) -> Page[JudgeRun]:
        """Return one page of runs, newest first."""
        return self._send(endpoints.JUDGE_RUNS_LIST, judge_id=judge_id, limit=limit, offset=offset)

    def get(self, run_id: str) -> JudgeRun:
        """Return one run."""
        return self._send(endpoints.JUDGE_RUNS_GET, run_id)

    def stop(self, run_id: str, *, reason: str | None = None) -> JudgeRun:
        """Stop a run; its verdicts stay."""
        return self._send(endpoints.JUDGE_RUNS_STOP, run_id, **given(reason=reason))

    def resume(self, run_id: str) -> JudgeRun:
        """Resume a stopped or failed run."""
        return self._send(endpoints.JUDGE_RUNS_RESUME, run_id)


class Labels(Group):
    """People's labels of conversations. The embedded service supports them; others may not."""

    def list(
        self,
        *,
        prompt_id: str | None = None,
        conversation_id: str | None = None,
        optimization_id: str | None = None,
        question: str | None = None,
        labeller: str | None = None,
        draw_id: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Page[Label]:
        """Return one page of labels, newest first."""
        return self._send(
            endpoints.LABELS_LIST,
            prompt_id=prompt_id,
            conversation_id=conversation_id,
            optimization_id=optimization_id,
            question=question,
            labeller=labeller,
            draw_id=draw_id,
            limit=limit,
            offset=offset,
        )

    def create(self, labels: Sequence[Mapping[str, Any]]) -> LabelsAnswer:
        """Store up to 500 labels, all or none; repeated labels are stored once.

        Each has ``conversation_id``, ``question``, ``value`` (``None`` removes the label) and ``labeller``,
        and may have ``labelled_at``, ``chance`` and ``draw_id``. A person's earlier label for the same
        question is replaced.
        """
        return self._send(endpoints.LABELS_CREATE, labels=[dict(one) for one in labels])
