"""The template that `docs/how-to-add-a-template.md` shows fits the contract, builds and computes."""

from __future__ import annotations

import dataclasses
import random
import re
import shutil
from typing import Any

import pytest
import torch
from propose_cases import function_proposals, run_choice

from docs.generate import ROOT
from kernelwright.propose import TEMPLATES

PAGE = (ROOT / "docs" / "how-to-add-a-template.md").read_text()


def shown() -> Any:
    """An object of the class that the page shows."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    scope: dict[str, Any] = {"__name__": "shown"}
    exec(compile(code, "how-to-add-a-template.md", "exec"), scope)
    return scope["CppFlat"]()


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
@pytest.mark.parametrize("shape", [(), (1,), (7, 33), (3, 1, 5)])
def test_the_shown_template_computes(shape: tuple[int, ...]) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.relu(x) * y + 1, x > y

    args = (torch.randn(shape), torch.randn(shape))
    found = function_proposals(function, args)
    template = shown()
    proposals = dataclasses.replace(found, templates=((template,),) * len(found.templates))
    for choice in (proposals.space.default(), proposals.space.random(random.Random(1))):
        for made, expected in zip(run_choice(proposals, choice, None, args), function(*args), strict=True):
            torch.testing.assert_close(made, expected)


def test_what_the_page_names_is_there() -> None:
    for path in re.findall(r"`((?:kernelwright|tests)/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"`((?:cpp|cuda)/\w+\.py)`", PAGE):
        assert (ROOT / "kernelwright" / "propose" / "templates" / path).exists(), path
    assert shown().name not in TEMPLATES.names()
