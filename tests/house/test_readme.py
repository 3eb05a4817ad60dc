"""Rules about the README: what it says is what is there."""

from __future__ import annotations

import re
import runpy
import subprocess

import pytest

from support.source_tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_there_are_two_commands_and_a_shell_can_read_them():
    """One sets up and runs the main job, one sets up and passes the tests; each is one line."""
    commands = runpy.run_path(str(ROOT / ".ci" / "readme_commands.py"))["commands"](README)
    assert len(commands) == 2
    for command in commands:
        assert "\n" not in command
        subprocess.run(["bash", "-n", "-c", command], check=True, timeout=30)
    assert commands[0].endswith("promptlift demo")
    assert commands[1].endswith("-m pytest -n auto --dist loadfile")


def test_the_python_of_the_readme_compiles():
    """Every Python block compiles."""
    blocks = re.findall(r"^```python$(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        compile(block, "README.md", "exec")


def test_the_readme_is_short_and_every_file_that_it_links_is_there():
    """A stranger reads all of it."""
    assert len(README.splitlines()) <= 125
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def test_the_formats_and_commands_of_the_readme_are_there():
    """The README names some formats and commands, counts the other formats, and invents none."""
    from promptlift import transcripts
    from promptlift.cli.commands import app

    named = set(re.findall(r"`([a-z-]+)`", README)) & set(transcripts.FORMATS)
    assert len(named) == 5
    assert len(transcripts.FORMATS) - len(named) == 17, "the README says how many more there are"
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    commands |= {group.name for group in app.registered_groups}
    shown = set(re.findall(r"(?:^|`|/bin/)promptlift ([a-z]+)", README, re.MULTILINE))
    assert shown <= commands
    assert len(shown) == 5
