"""People's reviews of variants. The endpoints are ours."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, StringConstraints

from promptlift.schema import limits
from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel, RequestModel, UtcTime
from promptlift.schema.texts import LongText, not_blank

Verdict = Literal["keep", "reject"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)


class VariantReview(ApiModel):
    """People's review of one variant."""

    variant_id: Annotated[str, Column()]
    """The variant."""
    verdict: Annotated[str | None, Column(categories=VERDICTS)] = None
    """``keep``, ``reject``, or ``None`` while undecided."""
    note: Annotated[str | None, Column()] = None
    """What people noted."""
    updated_at: Annotated[UtcTime | None, Column()] = None
    """When the verdict or the note last changed."""


class ReviewUpdate(RequestModel):
    """Body of ``PATCH /optimizations/:id/review``: the variant, and what of it changes."""

    variant_id: Annotated[str, StringConstraints(max_length=limits.KEY_CHARS), AfterValidator(not_blank)]
    verdict: Verdict | None = None
    """``null`` removes the verdict."""
    note: LongText | None = None
    """``null`` or blank removes the note."""
