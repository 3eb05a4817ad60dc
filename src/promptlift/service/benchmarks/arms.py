"""The arms of a benchmark: which text each has, and on which model it runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from promptlift.service.deployments.current_version import version_id, version_seq
from promptlift.service.errors import invalid
from promptlift.service.simulations.tasks import PromptText
from promptlift.service.store import benchmarks, prompts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.benchmarks import ArmCreate
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.tables import AnyRow
    from promptlift.service.store.tables.prompts import PromptRow, VersionRow
    from promptlift.service.store.tables.runs import RunRow

__all__ = ["Arm", "resolve"]


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm as it was when the benchmark was asked for: later changes of the prompt do not affect it.

    Attributes
    ----------
    llm_model
        The model that it runs on; ``None`` leaves it to the endpoint.
    """

    name: str
    prompt_id: str
    version_id: str | None
    variant_id: str | None
    content: str
    llm_model: str | None
    temperature: float | None
    max_tokens: int | None

    def prompt_text(self) -> PromptText:
        """Return how its text is run."""
        return PromptText(self.content, self.llm_model, self.temperature, self.max_tokens)

    @classmethod
    def of(cls, row: RunRow) -> list[Arm]:
        """Return the arms of a benchmark."""
        return [cls(**state) for state in row.settings["arms"]]

    def to_wire(self, number: int, *, content: bool) -> dict[str, Any]:
        """Return it in its API form."""
        found = {
            "number": number,
            "name": self.name,
            "promptId": self.prompt_id,
            "versionId": self.version_id,
            "variantId": self.variant_id,
            "llmModel": self.llm_model,
            "temperature": self.temperature,
            "maxTokens": self.max_tokens,
        }
        return {**found, "content": self.content} if content else found


def resolve(
    connection: Connection, caller: Caller, wanted: Sequence[ArmCreate], *, agent_model: str | None
) -> list[Arm]:
    """Find the texts of the arms that a request names.

    Parameters
    ----------
    agent_model
        The model that plays every assistant, where the operator named one; an arm's own model wins.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` with everything that is not there, or has no text.
    """
    problems: dict[str, str] = {}
    arms: list[Arm] = []
    for at, one in enumerate(wanted):
        try:
            arms.append(_arm(connection, caller, one, agent_model))
        except _Unusable as error:
            problems[f"arms[{at}].{error.field}"] = str(error)
    if problems:
        raise invalid(problems)
    return _named_apart(arms)


class _Unusable(ValueError):
    """An arm that cannot be used: the field that is wrong, and what is wrong with it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field


def _arm(connection: Connection, caller: Caller, wanted: ArmCreate, agent_model: str | None) -> Arm:
    if wanted.prompt_id and wanted.agent_id and wanted.prompt_id != wanted.agent_id:
        raise _Unusable("agentId", "must be the same as promptId, or absent")
    if wanted.variant_id and wanted.version_id:
        raise _Unusable("variantId", "must be absent where versionId is given: an arm has one text")
    variant = _variant(connection, caller, wanted)
    prompt_id = wanted.linked_id or (variant.prompt_id if variant is not None else None)
    link = "agentId" if wanted.agent_id and not wanted.prompt_id else "promptId"
    if prompt_id is None:
        raise _Unusable(link, "Required field, unless variantId is given")
    prompt = prompts.find(connection, caller.account_id, prompt_id)
    if prompt is None:
        raise _Unusable(link, "no such prompt")
    if variant is not None:
        return _of(wanted, prompt, variant.content, agent_model, name=f"{prompt.name}: {variant.name}")
    version, is_current = _version(connection, prompt, wanted)
    if not version.content_known:
        raise _Unusable(link, "has no known text yet; set it first with PATCH")
    shown = version_id(version.seq)
    name = prompt.name if is_current else f"{prompt.name} ({shown})"
    return _of(wanted, prompt, version.content, agent_model, name=name, version=shown)


def _variant(connection: Connection, caller: Caller, wanted: ArmCreate) -> AnyRow | None:
    if wanted.variant_id is None:
        return None
    found = benchmarks.find_variant(connection, caller.account_id, wanted.variant_id)
    if found is None:
        raise _Unusable("variantId", "no such variant")
    if wanted.linked_id not in (None, found.prompt_id):
        raise _Unusable("variantId", "is not a variant of this prompt")
    return found


def _version(connection: Connection, prompt: PromptRow, wanted: ArmCreate) -> tuple[VersionRow, bool]:
    """Return the version of an arm, and whether it is the current one."""
    current = prompts.current_version(connection, prompt.account_id, prompt.id)
    if wanted.version_id is None:
        return current, True
    seq = version_seq(wanted.version_id)
    found = None if seq is None else prompts.version(connection, prompt.account_id, prompt.id, seq)
    if found is None:
        raise _Unusable("versionId", "is not a version of this prompt; see its versions")
    return found, found.seq == current.seq


def _of(
    wanted: ArmCreate,
    prompt: PromptRow,
    content: str,
    agent_model: str | None,
    *,
    name: str,
    version: str | None = None,
) -> Arm:
    model = wanted.llm_model or agent_model or prompt.llm_model
    return Arm(
        name=wanted.name or (f"{name} on {wanted.llm_model}" if wanted.llm_model else name),
        prompt_id=prompt.id,
        version_id=version,
        variant_id=wanted.variant_id,
        content=content,
        llm_model=model,
        temperature=prompt.temperature,
        max_tokens=prompt.max_tokens,
    )


def _named_apart(arms: Sequence[Arm]) -> list[Arm]:
    """Add numbers to arms of the same name, so that a picture can tell them apart."""
    seen: dict[str, int] = {}
    found = []
    for arm in arms:
        count = seen[arm.name] = seen.get(arm.name, 0) + 1
        name = arm.name if count == 1 else f"{arm.name} ({count})"
        found.append(Arm(**{**asdict(arm), "name": name}))
    return found
