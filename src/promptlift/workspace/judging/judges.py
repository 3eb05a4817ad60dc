"""Custom judges, by name: created in versions, applied to logged conversations, and aligned with labels."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.optimizations import not_offered
from promptlift.client.reads.read_list import RowsRead
from promptlift.errors import NotFound
from promptlift.schema import endpoints
from promptlift.schema.judges import JudgeRun
from promptlift.workspace.runs import ResumableRun, part
from promptlift.workspace.session import Room

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    import pandas as pd

    from promptlift.schema.judges import Judge, JudgePlan, LearnedJudge
    from promptlift.schema.model import Done, Page
    from promptlift.workspace.session import Session

    Row = dict[str, Any]

__all__ = ["BackfillPlan", "Judges", "JudgingRun"]


@dataclass(frozen=True)
class BackfillPlan:
    """What putting a judge to conversations will take. Printed, it says so in a sentence.

    Attributes
    ----------
    plan
        Conversations, calls, tokens and cost.
    """

    plan: JudgePlan
    _start: Callable[[], JudgingRun]

    def run(self, *, wait: bool = True) -> JudgingRun:
        """Judge the conversations, those that this version has not judged yet, and wait for the end.

        The run continues in the background and after a restart of the service, and keeps every verdict as it comes.

        Parameters
        ----------
        wait
            Whether to wait for the end; if not, :meth:`JudgingRun.wait` does.

        Raises
        ------
        InvalidState
            No language model is configured; the message says what to set.
        RunFailed
            It failed; the message says why, and how to continue.
        """
        run = self._start()
        return run.wait() if wait else run

    def __str__(self) -> str:
        plan = self.plan
        cost = "" if plan.cost is None else f", at a cost of about {plan.cost:,.2f}"
        asked = f" of {plan.model}" if plan.model else ""
        work = f"{plan.conversations:,} conversations to judge, {plan.calls:,} calls{asked}, about {plan.tokens:,} tokens{cost}"
        said = [
            f"{plan.judge} (version {plan.judge_version}): {work}; {plan.already_judged:,} are judged already."
        ]
        if plan.without_content:
            said.append(f"{plan.without_content:,} have no transcript any more and are left out.")
        if plan.model is None:
            said.append(
                "No language model is configured: set PROMPTLIFT_LLM_BASE_URL and PROMPTLIFT_LLM_MODEL first."
            )
        return " ".join(said)

    __repr__ = __str__


_PAGE: Final = 100


class JudgingRun(ResumableRun[JudgeRun]):
    """A judge at work: a backfill of logged conversations, or an alignment with labels."""

    _noun = "run"
    _group = "judge_runs"
    _unit = "conversations judged"
    _call = "lift.judges.run({})"
    _endpoint = endpoints.JUDGE_RUNS_GET

    def _counts(self, state: Row) -> tuple[Any, Any]:
        done, failed, total = (part(state, "progress", name) for name in ("done", "failed", "total"))
        return (done + failed if isinstance(done, int) and isinstance(failed, int) else None), total


class Judges(Room):
    """Your own judges: a yes/no question with a rubric, in versions. The embedded service keeps and runs them.

    Parameters
    ----------
    lift
        The workspace whose ``judges`` this is.

    Examples
    --------
    ``lift.judges.create("refund promised", "Did the assistant promise a refund?")``
    """

    def __init__(self, lift: Session) -> None:
        super().__init__(lift)
        self._api = self.client.judges

    def __repr__(self) -> str:
        return f"<judges of {self.client.config.base_url}: create, plan, align, learn, verdicts, runs>"

    def create(
        self,
        name: str,
        question: str,
        *,
        rubric: str | None = None,
        examples: Sequence[Mapping[str, Any] | tuple[str, bool]] | None = None,
        model: str | None = None,
    ) -> Judge:
        """Create a judge, or a new version of the judge of this name. The same text again changes nothing.

        Nothing is judged yet: :meth:`plan` says what that takes.

        Parameters
        ----------
        name
            By which labels name its question.
        question
            A question about a conversation that yes or no answers.
        rubric
            How to decide: what counts as yes, what as no, what to do in doubt.
        examples
            Conversations, or parts of them, with the right answer: pairs of text and answer, or dicts with ``text``,
            ``answer`` and perhaps ``reason``.
        model
            The model to ask; by default the service's own.

        Returns
        -------
        Judge
            The version: ``id``, ``name``, ``version``, ``question``, ``rubric``, ``examples`` …
        """
        given = None if examples is None else [_example(one) for one in examples]
        try:
            return self._api.create(
                name=name, question=question, rubric=rubric, examples=given, llm_model=model
            )
        except NotFound as error:
            raise not_offered(error, "judges.create") from None

    def edit(
        self,
        judge: str,
        *,
        question: str | None = None,
        rubric: str | None = None,
        examples: Sequence[Mapping[str, Any] | tuple[str, bool]] | None = None,
        model: str | None = None,
    ) -> Judge:
        """Make a new version of a judge with some of its texts changed; what is left out stays.

        The verdicts of former versions stay theirs.

        Parameters
        ----------
        judge
            Name or id.
        question, rubric, examples, model
            As for :meth:`create`.
        """
        now = self.get(judge)
        kept = [one.to_wire() for one in now.examples or []]
        return self.create(
            now.name,
            now.question if question is None else question,
            rubric=now.rubric if rubric is None else rubric,
            examples=kept if examples is None else examples,
            model=now.llm_model if model is None else model,
        )

    def __call__(self) -> pd.DataFrame:
        """Return the judges, each in its newest version, newest first.

        Returns
        -------
        DataFrame
            judge_id, judge (its name), judge_version, question, rubric, llm_model, origin, n_versions, n_verdicts, created_at.
        """
        return self._offered("judges", endpoints.JUDGES_LIST)

    def get(self, judge: str, *, version: int | None = None) -> Judge:
        """Return a version of a judge.

        Parameters
        ----------
        judge
            Name or id.
        version
            The version, by default the newest.
        """
        return self._api.get(self.id_of(judge), version=version)

    def versions(self, judge: str) -> pd.DataFrame:
        """Return the versions of a judge, newest first, with the columns of ``lift.judges()``.

        Parameters
        ----------
        judge
            Name or id.
        """
        judge_id = self.id_of(judge)

        def read() -> RowsRead:
            rows = _all_pages(partial(self._api.versions, judge_id))
            return RowsRead(rows, len(rows), 1 + len(rows) // _PAGE, complete=True)

        return self._table("judges", read, {"judge": judge})

    def delete(self, judge: str) -> Done:
        """Delete a judge with its versions, verdicts and runs.

        Parameters
        ----------
        judge
            Name or id.
        """
        return self._api.delete(self.id_of(judge))

    def plan(
        self,
        judge: str,
        *,
        version: int | None = None,
        prompt: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        max_conversations: int | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        price: Mapping[str, float] | None = None,
    ) -> BackfillPlan:
        """Estimate what a judge will take on logged conversations: calls, tokens, cost. No model is called.

        Parameters
        ----------
        judge
            Name or id.
        version
            Its version, by default the newest.
        prompt
            Only conversations of this prompt: its name or id.
        since, until
            Only conversations that started from the one to before the other.
        max_conversations
            Judge so many at most, the newest first.
        max_tokens, max_cost
            Begin no conversation once so much is used up. Calls under way then still end, at most a dozen.
        price
            Price of a million tokens: ``{"input": 0.15, "output": 0.60}``, in any currency.

        Returns
        -------
        BackfillPlan
            Printed, it is a sentence; ``.plan`` has the figures, ``.run()`` does it. Tokens are an estimate, a quarter of the
            characters.
        """
        fields = {
            "version": version, "since": since, "until": until, "max_conversations": max_conversations,
            "max_tokens": max_tokens, "max_cost": max_cost,
            "prompt_id": None if prompt is None else self._names.known_id(prompt),
            "price": None if price is None else dict(price),
        }  # fmt: skip
        judge_id = self.id_of(judge)
        plan = self._api.plan(judge_id, **fields)

        def start() -> JudgingRun:
            begun = self._api.backfill(judge_id, **{**fields, "version": plan.judge_version})
            return JudgingRun(self._lift, begun)

        return BackfillPlan(plan, start)

    def align(
        self,
        judge: str,
        labels: Any,
        *,
        seed: int = 0,
        generations: int | None = None,
        max_tokens: int | None = None,
        wait: bool = True,
    ) -> JudgingRun:
        """Improve a judge's rubric by labels, measured only on labels that the improvement never saw.

        The labels are split at random. A model reads conversations of the first half on which the judge is wrong, and
        proposes edits of the rubric; what makes the judge right more often there is kept. The second half is judged at the
        end, by the old rubric and the new one. Only if the new one is right more often by an exact one-sided test at 5% does
        the judge get a new version; otherwise it stays as it is, and the result says so with figures.

        Parameters
        ----------
        judge
            Name or id.
        labels
            Table of labels: conversation_id and value, with question the judge's name; or with the judge's name as a column.
            At least 20, with 6 of either answer. They need no ``chance``: kappa is then that of these conversations.
        seed
            Another number splits the labels in another way. Split them once: the best of several splits is no measurement.
        generations
            How often edits are asked for at most (default 4).
        max_tokens
            Stop once so many tokens are used up.
        wait
            Whether to wait for the end; if not, :meth:`JudgingRun.wait` does.

        Returns
        -------
        JudgingRun
            ``.alignment.sentence`` is the result in words; ``.alignment`` has ``improved``, ``new_version``, agreement and kappa
            before and after on the second half with intervals, the test's ``p``, and every edit with its evidence.
        """
        found = _answers(self.get(judge).name, labels)
        begun = self._api.align(
            self.id_of(judge), labels=found, seed=seed, generations=generations, max_tokens=max_tokens
        )
        run = JudgingRun(self._lift, begun)
        return run.wait() if wait else run

    def learn(
        self,
        question: str = "completion",
        *,
        prompt: str,
        labels: Any = None,
        group: str | None = None,
        seed: int = 0,
    ) -> LearnedJudge:
        """Learn from labels whether conversations of a prompt completed their task, and judge all of them where that can be told.

        No language model is asked: a penalised logistic regression weighs what is known of a conversation anyway (turns, lengths, tools
        and their errors, words of the last turns, what the judge so far found). Labelled conversations are judged by models that saw
        neither their label nor one of their group. Where the labels do not show that it beats the majority, nothing is judged by it. What
        is logged later is judged too; an outcome of the logs stays stronger; :meth:`forget` takes it away.

        Parameters
        ----------
        question
            ``"completion"``: whether the task was completed. For another question see :meth:`create` and :meth:`align`.
        prompt
            Name or id.
        labels
            Table of labels of ``task_completed``, by default ``lift.labels(prompt_id=prompt)``: at least 20, with 6 of either answer. They need
            no ``chance``; drawn at random (``analysis.label_plan``) they also correct rates, with this judge as their helper.
        group
            Column of the labels or of the conversations with the task or user of each, such as ``"metadata.taskId"``. Give it where the
            same task is there more than once: what is learned of one tells too much of the other.
        seed
            Another number divides the labels in another way. Divide them once: the best of several is no measurement.

        Returns
        -------
        LearnedJudge
            Printed, it says what was learned: accuracy and AUC beside the majority and the judge so far, whether it judges, what 20 more
            labels would gain, and whether the newest conversations look unlike the labelled ones.

        Raises
        ------
        ValidationError
            When there are too few labels.
        ValueError
            When the question is another, or no column has the name of the group.
        """
        if question not in ("completion", "task_completed"):
            raise ValueError(
                f'question is {question!r}, and only "completion" is learned without a model. Others need one: lift.judges.create.'
            )
        prompt_id = self._names.known_id(prompt)
        table = self._lift.labels(prompt_id=prompt_id) if labels is None else labels
        answers = _answers("task_completed", table)
        given = [{"conversation_id": one["conversation_id"], "completed": one["value"]} for one in answers]
        if not given:
            raise ValueError(
                f"There are no labels of task_completed for {prompt!r} to learn from. Label at least 20 conversations: "
                "analysis.label_plan(conversations) draws them, and widgets.ConversationBrowser or lift.labels.add keeps the answers."
            )
        if group is not None:
            groups = self._groups(table, prompt_id, group)
            given = [one | {"group": groups.get(one["conversation_id"])} for one in given]
        found = self.client.prompts.learn(prompt_id, labels=given, seed=seed)
        self._lift._wait_for_verdicts(prompt_id)  # noqa: SLF001 - of the workspace
        return found

    def _groups(self, labels: Any, prompt_id: str, column: str) -> dict[str, str]:
        """Return the group of each conversation, by a column of the labels or of the conversations."""
        from promptlift.analysis.reading import collect, names_of  # noqa: PLC0415 - pandas takes longer to load than all else

        table = labels if column in names_of(labels) else self._lift.conversations(prompt_id)
        if column not in names_of(table):
            raise ValueError(
                f"Neither the labels nor the conversations have a column {column!r} to group by."
            )
        frame = collect(table, ["conversation_id", column]).dropna()
        return dict(zip(frame["conversation_id"].astype("str"), frame[column].astype("str"), strict=True))

    def learned(self, prompt: str) -> LearnedJudge:
        """Return the judge that :meth:`learn` made, beside today's conversations: ``drift`` says whether they look unlike the labelled ones.

        Parameters
        ----------
        prompt
            Name or id.
        """
        return self.client.prompts.learned_judge(self._names.known_id(prompt))

    def forget(self, prompt: str) -> Done:
        """Take the judge away that :meth:`learn` made; conversations get the verdicts of before.

        Parameters
        ----------
        prompt
            Name or id.
        """
        prompt_id = self._names.known_id(prompt)
        done = self.client.prompts.forget(prompt_id)
        self._lift._wait_for_verdicts(prompt_id)  # noqa: SLF001 - of the workspace
        return done

    def verdicts(
        self,
        judge: str,
        *,
        version: int | None = None,
        all_versions: bool = False,
        prompt: str | None = None,
    ) -> pd.DataFrame:
        """Return what a judge of your own answered, one row per conversation. Offered by the embedded service and by snapshots.

        The table goes where a table of conversations goes: ``analysis.completion``, ``completion_trend``, ``compare``,
        ``segments`` and ``prompt_overview`` and the plots of the first four read ``verdict`` as the outcome, ``label_plan`` draws
        from it, labels whose ``question`` is the judge's name correct its rates, and ``analysis.judge_agreement`` compares it
        with them. Joined to a table of conversations it brings their columns: ``outcome="verdict"`` says that it counts.

        Parameters
        ----------
        judge
            Name or id of the judge.
        version
            Its version, by default the newest. Verdicts of two versions are never in one table unless ``all_versions``
            asks for it.
        all_versions
            Take of each conversation the newest verdict there is, whichever version gave it. A trend of such a table marks
            where the version changes, and where the model does that answers.
        prompt
            Only conversations of this prompt: its name or id.

        Returns
        -------
        DataFrame
            conversation_id, prompt_id, prompt, status, judge, judge_version, verdict, reason, analyser, problem, started_at,
            created_at, judged_at. ``verdict`` is missing where the conversation could not be judged; ``problem`` says why.

        Raises
        ------
        NotFound
            There is no such judge, or the service offers none.
        """
        judge_id = self.id_of(judge)
        prompt_id = None if prompt is None else self._names.known_id(prompt)
        filters = {"version": version, "all_versions": all_versions or None, "prompt_id": prompt_id}
        return self._read_verdicts(judge_id, filters, {"judge": judge, **filters})

    def _read_verdicts(self, judge_id: str, filters: dict[str, Any], shown: dict[str, Any]) -> pd.DataFrame:
        """Read the verdicts of a judge; ``shown`` is what the table says that it was asked for."""
        return self._offered(
            "verdicts", endpoints.JUDGES_VERDICTS, judge_id, filters, filters=shown, unit="verdicts read"
        )

    def runs(self, judge: str | None = None) -> pd.DataFrame:
        """Return backfills and alignments, newest first.

        Parameters
        ----------
        judge
            Only of this judge: its name or id.

        Returns
        -------
        DataFrame
            run_id, kind, judge_id, judge, judge_version, status, prompt_id, n_done, n_failed, n_total, model_calls, tokens, cost,
            failure, stop_reason, created_at, started_at, completed_at.
        """
        asked = {"judge_id": None if judge is None else self.id_of(judge)}
        return self._offered("judge_runs", endpoints.JUDGE_RUNS_LIST, asked=asked, filters={"judge": judge})

    def run(self, run_id: str) -> JudgingRun:
        """Return a run: a backfill or an alignment, with its state.

        Parameters
        ----------
        run_id
            The run, as :meth:`runs` has it.
        """
        return JudgingRun(self._lift, self.client.judge_runs.get(run_id))

    def id_of(self, judge: str) -> str:
        """Return the id of a judge by its name or id.

        Parameters
        ----------
        judge
            Name or id.

        Raises
        ------
        NotFound
            There is no such judge; the message has near names.
        """
        try:
            names: dict[str, str] = {row["id"]: row["name"] for row in _all_pages(self._api.list)}
        except NotFound as error:
            raise not_offered(error, "judges.list") from None
        if judge in names:
            return judge
        found = next((one for one, name in names.items() if name == judge), None)
        if found is not None:
            return found
        near = difflib.get_close_matches(judge, names.values(), n=3)
        hint = f"Near names: {', '.join(near)}." if near else "lift.judges() has those there are."
        raise NotFound(f"There is no judge {judge!r:.80}. {hint}", status=404, code="NOT_FOUND")


def _all_pages(ask: Callable[..., Page[Judge]]) -> list[Row]:
    rows: list[Row] = []
    while True:
        page = ask(limit=_PAGE, offset=len(rows))
        rows += [one.to_wire() for one in page.data]
        if len(page.data) < _PAGE:
            return rows


def _example(given: Mapping[str, Any] | tuple[str, bool]) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return {name: value for name, value in given.items() if value is not None}
    text, answer = given
    return {"text": text, "answer": answer}


def _answers(name: str, labels: Any) -> list[Row]:
    """Return the labels of a judge's question as a request has them; the majority counts, and disputed ones are left out."""
    from promptlift.analysis.verdicts import labels_of  # noqa: PLC0415 - pandas takes longer to load than all else

    answers = labels_of(labels, name)
    return [{"conversation_id": str(one), "value": bool(value)} for one, value in zip(*answers, strict=True)]
