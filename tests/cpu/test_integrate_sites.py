"""Which parts become problems, what becomes of those that cannot, and a model with first kernels in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from integrate_cases import CPU, ROWS, WIDTH, hidden, norm_kernel, small
from torch import nn

from kernelwright.core.errors import ProblemError, UsageError
from kernelwright.execute.reports import KernelFault
from kernelwright.integrate import sites as sites_module
from kernelwright.integrate.batch import Batch
from kernelwright.integrate.first_kernels import first_kernels
from kernelwright.integrate.proof import compared
from kernelwright.integrate.sites import NO_ROOM, UNFORESEEN, Sites, guards
from kernelwright.integrate.survey import Part, survey


@pytest.fixture(autouse=True)
def fast_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One on which memory costs nothing, so that every part has something to gain."""
    monkeypatch.setattr(sites_module, "ceilings", lambda target: SimpleNamespace(copy_gbs=1e9))


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Classes of the parts that were made problems; nothing is traced."""
    made: list[str] = []

    def load(module: nn.Module, arguments: Any, mode: str) -> Any:
        made.append(type(module).__name__)
        return SimpleNamespace(mutated=(), degenerate=())

    monkeypatch.setattr(sites_module, "load_problem", load)
    monkeypatch.setattr(sites_module, "open_proposals", lambda problem, target: None)
    return made


def sites_of(model: nn.Module) -> Sites:
    batches = [Batch.of(torch.randn(ROWS, WIDTH))]
    return Sites(model, batches, survey(model, batches), CPU)


def test_no_more_is_loaded_than_there_is_room_for(stubbed: list[str]) -> None:
    sites = sites_of(small())
    assert sites.loaded(0)[0] == [] and not stubbed
    (first,), left = sites.loaded(1)
    assert len(stubbed) == 1 and NO_ROOM in left.values()
    assert sites.problem(first) is not None
    rest, left = sites.loaded(9, done={first.parts[0].name})
    assert first not in rest and NO_ROOM not in left.values()
    assert len(stubbed) == 1 + len(rest), "each is loaded once"


def test_every_part_is_taken_or_left(stubbed: list[str]) -> None:
    sites = sites_of(small())
    for room in range(3):
        groups, left = sites.loaded(room)
        taken = {part.name for group in groups for part in group.parts}
        assert taken | set(left) == {part.name for part in sites.parts} and not taken & set(left)


@pytest.mark.parametrize("error", [ProblemError("no template"), ZeroDivisionError("ours"), RecursionError()])
def test_what_fails_on_a_part_costs_that_part_alone(
    stubbed: list[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(problem: Any, target: Any) -> None:
        if stubbed[-1] == "Block":
            raise error

    monkeypatch.setattr(sites_module, "open_proposals", fails)
    groups, left = sites_of(small()).loaded(9)
    taken = {part.name for group in groups for part in group.parts}
    assert "blocks.0.norm" in taken, "parts inside have their turn"
    assert left["blocks.0"].startswith(UNFORESEEN) == (not isinstance(error, UsageError))
    assert "\n" not in left["blocks.0"]


@pytest.mark.parametrize("error", [UsageError("another"), KernelFault("no memory"), IndexError("ours")])
def test_a_site_that_a_kernel_cannot_be_fitted_to_is_left(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    kernel, made, problem = norm_kernel()
    model, fitted = small(), sites_module.fitted

    def fails(module: nn.Module, *rest: Any) -> Any:
        if module is model.last:
            raise error
        return fitted(module, *rest)

    monkeypatch.setattr(sites_module, "fitted", fails)
    parts = [Part(name, model.get_submodule(name)) for name in ("blocks.0.norm", "last")]
    found, unfit = guards(parts, kernel, made, problem)
    assert list(found) == ["blocks.0.norm"] and list(unfit) == ["last"] and unfit["last"]


def test_a_model_with_first_kernels_is_compared_called_and_undone() -> None:
    model, x = small(), torch.randn(ROWS, WIDTH)
    before = hidden(model, x)
    held = {name: dict(vars(part)) for name, part in model.named_modules()}
    installed = first_kernels(model, [x], most=2)
    assert installed.guards and installed.left
    assert not any(why.startswith(UNFORESEEN) for why in installed.left.values())
    assert [row.why for row in compared(model, installed, [Batch.of(x)])] == ["", ""]
    torch.testing.assert_close(hidden(model, x), before)
    assert all(site.served for site in installed.sites())
    installed.undo()
    assert {name: dict(vars(part)) for name, part in model.named_modules()} == held
    assert torch.equal(hidden(model, x), before)
