"""The logo of a report: size-limited, and re-encoded so that only its pixels are shared."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptlift.errors import ConfigError
from promptlift.report.document import Logo

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["LogoLike", "read_logo"]

LogoLike = str | os.PathLike[str] | bytes | None

_FILE_BYTES: Final = 5 * 1024 * 1024
_PIXELS: Final = 25_000_000
# Twice the size shown, for high-resolution screens.
_WIDTH, _HEIGHT = 640, 240
_NEED: Final = "A logo must be a PNG or JPEG image of at most 5 MB and 25 million pixels"


def read_logo(given: LogoLike) -> Logo | None:
    """Check an image and re-encode it: smaller if it is large, without comments, locations or other metadata.

    Parameters
    ----------
    given
        A file or its bytes; ``None`` returns ``None``.

    Raises
    ------
    ConfigError
        When it is not a PNG or JPEG image, cannot be read or is too large.
    """
    if given is None:
        return None
    data, name = (
        (given, "The logo") if isinstance(given, bytes) else (_read(Path(given)), f"The logo {given}")
    )
    if len(data) > _FILE_BYTES:
        raise ConfigError(f"{name} is larger than 5 MB. {_NEED}.")
    if not data.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")):
        more = "; SVG can contain scripts, so save it as PNG" if b"<svg" in data[:4096].lower() else ""
        raise ConfigError(f"{name} is not a PNG or JPEG image{more}. {_NEED}.")
    return _reencode(data, name)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"The logo {path} cannot be read: {reason}. {_NEED}.") from error


def _reencode(data: bytes, name: str) -> Logo:
    from PIL import Image, ImageFile, ImageOps  # noqa: PLC0415  only a report with a logo needs it

    # WeasyPrint makes Pillow accept truncated images in the whole process.
    lenient, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as opened:
            (width, height), photo = opened.size, opened.format == "JPEG"
            small = width * height <= _PIXELS
            image = _plain_pixels(ImageOps.exif_transpose(opened), photo=photo) if small else None
    except Exception as error:  # a broken image fails in many ways
        raise ConfigError(f"{name} is broken: {str(error)[:200]}. {_NEED}.") from error
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = lenient
    if image is None:
        raise ConfigError(f"{name} has {width} × {height} pixels. {_NEED}.")
    image.thumbnail((_WIDTH, _HEIGHT))
    out = io.BytesIO()
    if photo:
        image.save(out, "JPEG", quality=90)
    else:
        image.save(out, "PNG")
    return Logo(out.getvalue(), "jpeg" if photo else "png", image.width, image.height)


def _plain_pixels(opened: Image, *, photo: bool) -> Image:
    from PIL import Image  # noqa: PLC0415

    clear = not photo and (opened.mode in {"LA", "PA", "RGBA"} or "transparency" in opened.info)
    pixels = opened.convert("RGBA" if clear else "RGB")
    # A new image, without the metadata of the file.
    return Image.frombytes(pixels.mode, pixels.size, pixels.tobytes())
