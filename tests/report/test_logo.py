"""A logo is a picture and nothing else."""

from __future__ import annotations

import base64
import io
import re
import struct
import zlib

import openpyxl
import pytest
from PIL import Image, PngImagePlugin

from promptlift import report
from promptlift.errors import ConfigError
from promptlift.report.logo import read_logo
from support.report_page import clock, conversations, read_page
from support.sentences import REPORT


def picture(kind="PNG", size=(300, 100), mode="RGB", **more):
    out = io.BytesIO()
    Image.new(mode, size, 0).save(out, kind, **more)
    return out.getvalue()


def noise(kind="PNG"):
    out = io.BytesIO()
    Image.effect_noise((300, 100), 80).save(out, kind)
    return out.getvalue()


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


SIGNATURE = b"\x89PNG\r\n\x1a\n"
BOMB = SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
BOMB += chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


def write(path, logo):
    return report.write(conversations(8), "p1", path, clock=clock, logo=logo)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_the_picture_is_inside_the_page(tmp_path, kind):
    page = read_page(write(tmp_path / "r.html", picture(kind)))
    (image,) = [attrs for tag, attrs in page.tags if tag == "img"]
    head, _, data = image["src"].partition(",")
    assert head == f"data:image/{kind.lower()};base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as shown:
        assert (shown.format, shown.size) == (kind, (300, 100))


def test_a_workbook_shows_it_and_a_file_is_the_same_as_its_bytes(tmp_path):
    book = openpyxl.load_workbook(write(tmp_path / "r.xlsx", picture()))
    assert len(book["Summary"]._images) == 1
    (tmp_path / "logo.png").write_bytes(picture())
    first = read_logo(tmp_path / "logo.png")
    assert read_logo(str(tmp_path / "logo.png")) == read_logo(picture()) == first


def test_what_a_file_says_besides_its_pixels_stays_behind():
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", "secret <script>")
    exif = Image.Exif()
    exif[0x010E] = "secret place"
    for data in (
        picture(pnginfo=info) + b"<script>secret</script>",
        picture("JPEG", exif=exif, comment=b"secret") + b"<script>secret</script>",
    ):
        logo = read_logo(data)
        assert b"secret" in data
        assert b"secret" not in logo.data
        assert b"script" not in logo.data


@pytest.mark.slow
def test_a_large_picture_is_made_smaller():
    logo = read_logo(picture(size=(4000, 3000)))
    assert (logo.width, logo.height) == (320, 240)
    assert len(logo.data) < 10_000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>", "SVG can contain scripts, so save it as PNG"),
        (b"GIF89a" + bytes(40), REPORT["not an image"]),
        (b"", REPORT["not an image"]),
        (SIGNATURE + bytes(60), "is broken"),
        (b"\xff\xd8\xff" + b"<script>" * 9, "is broken"),
        (noise()[:5000], "is broken"),
        (SIGNATURE + bytes(6 * 1024 * 1024), "larger than 5 MB"),
        (BOMB, "pixels|is broken"),
        (picture(size=(6000, 5000), mode="1"), r"has 6000 × 5000 pixels. A logo must be a PNG or JPEG image"),
    ],
    ids=["svg", "gif", "nothing", "zeros", "markup", "cut", "heavy", "bomb", "large"],
)  # fmt: skip
def test_what_is_no_picture_is_refused_before_anything_is_read(tmp_path, data, message):
    with pytest.raises(ConfigError, match=message):
        report.write(None, "p1", tmp_path / "r.html", logo=data)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path / 'no.png'} cannot be read: No such file")):
        report.write(None, "p1", tmp_path / "r.html", logo=tmp_path / "no.png")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        report.write(None, "p1", tmp_path / "r.html", logo=tmp_path)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
def test_every_kind_of_png_is_read(mode):
    logo = read_logo(picture(mode=mode))
    with Image.open(io.BytesIO(logo.data)) as shown:
        assert shown.mode == ("RGBA" if mode in {"LA", "RGBA"} else "RGB")
