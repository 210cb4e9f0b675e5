"""Every example problem: its default kernel at small, odd sizes, and golden text of the generated source."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest
import torch
from propose_cases import CPU, problem_of, run_choice

from kernelwright.propose.proposals import Proposals

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "problems").glob("*.py"))
GOLDEN = ROOT / "tests" / "golden" / "cpp"
SMALL = {"batch": 3, "tokens": 37, "height": 9, "width": 11, "queries": 7, "keys": 65, "vocabulary": 1003}


def example(path: Path, sizes: dict[str, int]) -> ModuleType:
    """The problem's file with other sizes."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, value in sizes.items():
        if hasattr(module, name):
            setattr(module, name, value)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_default_kernel_is_as_precise_as_eager(path: Path) -> None:
    torch.manual_seed(0)
    file = example(path, SMALL)
    module, args = file.Model(*file.get_init_inputs()), file.get_inputs()
    problem, captured = problem_of(module, args)
    proposals = Proposals.open(problem, captured, CPU)
    found, *mutated = run_choice(proposals, proposals.space.default(), module, args)
    wide = file.Model(*file.get_init_inputs())
    wide.load_state_dict(module.state_dict())
    with torch.no_grad():
        exact = wide.double()(*[value.double() for value in args])
        eager = module(*args)
    assert (found - exact).norm() <= 2 * (eager - exact).norm()
    for name, value in zip(problem.mutated, mutated, strict=True):
        torch.testing.assert_close(value, module.state_dict()[name])


@pytest.mark.parametrize("name", ["rmsnorm_gelu", "column_sum_squares", "batchnorm_relu", "swiglu"])
def test_generated_source_is_as_recorded(name: str) -> None:
    """Set KERNELWRIGHT_GOLDEN=write to record; the difference is then reviewed."""
    file = example(ROOT / "examples" / "problems" / f"{name}.py", {})
    with torch.device("meta"):
        module, args = file.Model(*file.get_init_inputs()), file.get_inputs()
    problem, captured = problem_of(module, args)
    proposals = Proposals.open(problem, captured, CPU)
    text = proposals.kernel(proposals.space.default()).sources[0].text
    entries = text[text.index('extern "C"') :]
    recorded = GOLDEN / f"{name}.cpp"
    if os.environ.get("KERNELWRIGHT_GOLDEN") == "write":
        GOLDEN.mkdir(exist_ok=True)
        recorded.write_text(entries)
    assert entries == recorded.read_text()
