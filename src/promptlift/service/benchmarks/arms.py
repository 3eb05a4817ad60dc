"""The arms of a benchmark: the text and the model of each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from promptlift.schema.benchmarks import BenchmarkArm, Price
from promptlift.schema.model import ApiModel
from promptlift.schema.settings import GeneralSettings
from promptlift.service.deployments.current_version import version_id, version_seq
from promptlift.service.errors import invalid
from promptlift.service.store import optimizations, prompts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.benchmarks import ArmCreate
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.tables.prompts import PromptRow, VersionRow
    from promptlift.service.store.tables.runs import VariantRow

__all__ = ["BenchmarkSettings", "resolve"]


class BenchmarkSettings(ApiModel):
    """The settings of a benchmark at the time of the request: later changes to prompts do not affect it."""

    name: str
    objective: str | None
    arms: list[BenchmarkArm]
    max_turns: int
    prices: dict[str, Price]
    general: GeneralSettings
    """The account's general settings."""


def resolve(
    connection: Connection, caller: Caller, wanted: Sequence[ArmCreate], *, agent_model: str | None
) -> list[BenchmarkArm]:
    """Find the texts of the arms in a request.

    Parameters
    ----------
    agent_model
        The model for every assistant, if the operator set one; an arm's own model takes precedence.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` listing everything that does not exist or has no text.
    """
    problems: dict[str, str] = {}
    arms: list[BenchmarkArm] = []
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


def _arm(connection: Connection, caller: Caller, wanted: ArmCreate, agent_model: str | None) -> BenchmarkArm:
    if wanted.prompt_id and wanted.agent_id and wanted.prompt_id != wanted.agent_id:
        raise _Unusable("agentId", "must be the same as promptId, or absent")
    if wanted.variant_id and wanted.version_id:
        raise _Unusable("variantId", "must be absent where versionId is given: an arm has one text")
    variant, of_variant = _variant(connection, caller, wanted)
    prompt_id = wanted.linked_id or of_variant
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


def _variant(
    connection: Connection, caller: Caller, wanted: ArmCreate
) -> tuple[VariantRow, str] | tuple[None, None]:
    """Return the variant of an arm and the id of its prompt, if the arm has a variant."""
    if wanted.variant_id is None:
        return None, None
    found = optimizations.find_variant(connection, caller.account_id, wanted.variant_id)
    if found is None:
        raise _Unusable("variantId", "no such variant")
    prompt_id = optimizations.get(connection, found.optimization_id).prompt_id
    if wanted.linked_id not in (None, prompt_id):
        raise _Unusable("variantId", "is not a variant of this prompt")
    return found, prompt_id


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
) -> BenchmarkArm:
    model = wanted.llm_model or agent_model or prompt.llm_model
    return BenchmarkArm(
        number=0,
        name=wanted.name or (f"{name} on {wanted.llm_model}" if wanted.llm_model else name),
        prompt_id=prompt.id,
        version_id=version,
        variant_id=wanted.variant_id,
        content=content,
        llm_model=model,
        temperature=prompt.temperature,
        max_tokens=prompt.max_tokens,
    )


def _named_apart(arms: Sequence[BenchmarkArm]) -> list[BenchmarkArm]:
    """Assign numbers and unique names to the arms, so that plots can distinguish them."""
    seen: Counter[str] = Counter()
    found = []
    for number, arm in enumerate(arms):
        seen[arm.name] += 1
        name = arm.name if seen[arm.name] == 1 else f"{arm.name} ({seen[arm.name]})"
        found.append(arm.model_copy(update={"number": number, "name": name}))
    return found
