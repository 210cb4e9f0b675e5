"""What the documentation tells a reader to do works: commands, files, names, generated pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import kernelwright
from docs.generate import PAGES, ROOT
from kernelwright.cli.main import COMMANDS
from kernelwright.core.target import Target

PAGES_OF_USERS = [
    ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "results" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]  # fmt: skip


def commands(text: str) -> list[list[str]]:
    """Command lines that begin with `kernelwright`, without what stands two spaces after them."""
    return [line.strip().split("  ")[0].split() for line in re.findall(r"^    kernelwright .*$", text, re.M)]


def headings(page: Path) -> set[str]:
    """What links call the headings of a page."""
    return {line.lower().replace(" ", "-") for line in re.findall(r"^#+ (.*)$", page.read_text(), re.M)}


@pytest.mark.parametrize("page", PAGES_OF_USERS, ids=lambda page: page.name)
def test_links_and_commands_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target, heading in re.findall(r"\]\(([^)#]+)(#[^)]*)?\)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
        assert not heading or heading[1:] in headings(page.parent / target), f"{target} has no {heading}"
    for words in commands(text):
        assert words[1] in COMMANDS
        for word in words:
            if word.startswith("examples/"):
                assert (ROOT / word).exists(), f"{page.name} names {word}"


def test_generated_pages_are_fresh() -> None:
    """In a process of its own: what other tests did to commands or to the terminal says nothing of pages."""
    command = [sys.executable, "-m", "docs.generate", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"run `make docs`; generated: {', '.join(PAGES)}: {done.stdout}{done.stderr}"


def test_python_page_names_what_there_is() -> None:
    named = set(re.findall(r"`kw\.(\w+)[(`]", (ROOT / "docs" / "python.md").read_text()))
    assert named == set(kernelwright.__all__) - {"__version__"}


def test_the_example_kernel_fits_its_problem_and_builds() -> None:
    from kernelwright.languages import build
    from kernelwright.languages.kernel_file import read_kernel
    from kernelwright.problems import load_problem

    problem = load_problem(ROOT / "examples" / "problems" / "softmax.py")
    target = Target.parse("cpu")
    made = build(read_kernel(ROOT / "examples" / "kernels" / "softmax.cpp", problem, target), target)
    assert made.status == "built", made.log
