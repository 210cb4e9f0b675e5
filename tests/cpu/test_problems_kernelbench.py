"""KernelBench-form files: what is read off them, and what a file that does not fit gets."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch

from kernelwright.core.errors import ProblemError
from kernelwright.problems import Reference, load_problem
from kernelwright.problems.degenerate import FIXED

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import os, math, collections
rows, cols = 6, 8
"""


def written(folder: Path, body: str, name: str = "problem.py") -> Path:
    path = folder / name
    path.write_text(HEAD + textwrap.dedent(body))
    return path


def model(forward: str, inputs: str = "[torch.randn(6, 8)]", init: str = "[]", setup: str = "pass") -> str:
    return (
        "class Model(nn.Module):\n"
        "    def __init__(self, *args):\n"
        "        super().__init__()\n"
        f"        {setup}\n"
        f"    def forward(self, {forward.split('->')[0].strip()}):\n"
        f"        {forward.split('->')[1].strip()}\n"
        f"def get_inputs():\n    return {inputs}\n"
        f"def get_init_inputs():\n    return {init}\n"
    )


def refused(path: Path | str, *parts: str) -> None:
    with pytest.raises(ProblemError) as raised:
        load_problem(path)
    text = str(raised.value)
    assert "\n" not in text
    for part in parts:
        assert part in text


def test_missing_file_names_its_neighbour(tmp_path: Path) -> None:
    written(tmp_path, model("x -> return x"), "softmax.py")
    refused(tmp_path / "sofmax.py", "does not exist", "softmax.py")


def test_file_that_is_not_python(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text("")
    refused(tmp_path / "kernel.cu", "neither a .py problem file")


def test_file_that_does_not_parse(tmp_path: Path) -> None:
    refused(written(tmp_path, "def forward(:"), "does not parse", "line")


def test_file_without_model(tmp_path: Path) -> None:
    refused(written(tmp_path, "def get_inputs():\n    return []\n"), "no 'Model'", "get_inputs")


def test_file_without_inputs(tmp_path: Path) -> None:
    body = model("x -> return x").replace("def get_inputs", "def inputs")
    refused(written(tmp_path, body), "no 'get_inputs'")


def test_file_that_raises_when_run(tmp_path: Path) -> None:
    refused(
        written(tmp_path, model("x -> return x") + "raise RuntimeError('no luck')\n"),
        "cannot be run",
        "no luck",
    )


def test_model_that_is_not_callable(tmp_path: Path) -> None:
    body = model("x -> return x").replace("class Model(nn.Module)", "class Other(nn.Module)")
    refused(written(tmp_path, body + "def Model():\n    return 3\n"), "must be an nn.Module")


def test_constructor_that_raises(tmp_path: Path) -> None:
    refused(
        written(tmp_path, model("x -> return x", setup="raise KeyError('w')")),
        "Model(*get_init_inputs()) raises",
    )


@pytest.mark.parametrize("inputs", ["[]", "[torch.randn(2), torch.randn(2)]"])
def test_wrong_number_of_inputs(tmp_path: Path, inputs: str) -> None:
    refused(written(tmp_path, model("x -> return x", inputs)), "do not fit", "forward takes (x)")


def test_inputs_of_the_wrong_shape(tmp_path: Path) -> None:
    body = model("x, y -> return x @ y", "[torch.randn(3, 4), torch.randn(5, 6)]")
    refused(written(tmp_path, body), "raises", "reference of 'problem'")


def test_forward_that_raises(tmp_path: Path) -> None:
    refused(written(tmp_path, model("x -> raise ValueError('bad day')")), "bad day")


def test_reference_out_of_memory(tmp_path: Path) -> None:
    body = model("x -> return torch.ones(int(x.sum()) * 0 + 2**50).sum() + x")
    refused(written(tmp_path, body), "runs out of memory")


def test_output_without_a_tensor(tmp_path: Path) -> None:
    refused(written(tmp_path, model("x -> return 3")), "returns no tensor")


def test_unsupported_element_type(tmp_path: Path) -> None:
    body = model("x -> return x", "[torch.randn(4, dtype=torch.complex64)]")
    refused(written(tmp_path, body), "complex64", "allowed: float64")


def test_inputs_argument_is_refused_for_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, model("x -> return x"))
    with pytest.raises(ProblemError, match="brings its own inputs"):
        load_problem(path, "module:function")


def test_axes_are_constants_that_shapes_depend_on(tmp_path: Path) -> None:
    body = "unused = 12\nfactor: int = 2 ** 2\nshape = (3, 5)\n" + model(
        "x -> return x * 2", "[torch.randn(rows, cols * factor, *shape)]"
    )
    problem = load_problem(written(tmp_path, body))
    assert problem.axis_sizes == {"rows": 6, "cols": 8, "factor": 4, "shape_0": 3, "shape_1": 5}
    assert problem.inputs[0].shape == ("rows", "cols * factor", "shape_0", "shape_1")
    assert problem.outputs[0].shape == problem.inputs[0].shape


def test_output_sizes_of_a_strided_window(tmp_path: Path) -> None:
    body = "length = 33\n" + model("x -> return F.max_pool1d(x, 3, 2)", "[torch.randn(rows, cols, length)]")
    problem = load_problem(written(tmp_path, body))
    assert problem.outputs[0].shape == ("rows", "cols", "(length - 1) // 2")


def test_workloads_keep_the_graph(tmp_path: Path) -> None:
    body = model("x -> return x.relu() if x.shape[0] == 6 else x.tanh()", "[torch.randn(rows, cols)]")
    problem = load_problem(written(tmp_path, body))
    assert problem.base.axes == {"rows": 6, "cols": 8}
    assert len(problem.workloads) > 2
    assert all(workload.axes["rows"] == 6 for workload in problem.workloads)


def test_scalars_lists_and_none_among_inputs(tmp_path: Path) -> None:
    body = model(
        "x, factor, others, bias -> return x * factor + others[0] + others[1]",
        "[torch.randn(6, 8), 3, [torch.randn(8), torch.randn(1)], None]",
    )
    problem = load_problem(written(tmp_path, body))
    assert [spec.name for spec in problem.inputs] == ["x", "others_0", "others_1"]
    assert [(spec.name, spec.value, spec.position) for spec in problem.scalars] == [
        ("factor", 3, 1), ("bias", None, 3),
    ]  # fmt: skip
    reference = Reference.open(problem)
    args = reference.draw(1)
    assert torch.equal(reference.forward(args)[0], args[0] * 3 + args[2][0] + args[2][1])


def test_init_inputs_of_any_kind(tmp_path: Path) -> None:
    body = model("x -> return x + 1", init="[None, [1, 2], {'eps': 1e-5}, True, 'same', torch.float16]")
    problem = load_problem(written(tmp_path, body))
    assert problem.init_args == ("None", "[1, 2]", "{'eps': 1e-05}", "True", "'same'", "dtype")


@pytest.mark.parametrize(
    ("returned", "names", "dtypes"),
    [
        ("x.argmax(dim=1)", ["out"], ["int64"]),
        ("x.sum()", ["out"], ["float32"]),
        ("(x * 2, x.max(dim=1))", ["out0", "out1", "out2"], ["float32", "float32", "int64"]),
        ("{'a': x + 1, 'b': [x > 0]}", ["out0", "out1"], ["float32", "bool"]),
        ("(x * 2, x.shape[0])", ["out"], ["float32"]),
    ],
)
def test_outputs_of_any_structure(tmp_path: Path, returned: str, names: list[str], dtypes: list[str]) -> None:
    problem = load_problem(written(tmp_path, model(f"x -> return {returned}")))
    assert [spec.name for spec in problem.outputs] == names
    assert [spec.dtype for spec in problem.outputs] == dtypes
    reference = Reference.open(problem)
    found = reference.forward(reference.draw(1))
    assert [str(tensor.dtype) for tensor in found] == [f"torch.{dtype}" for dtype in dtypes]


def test_input_named_like_a_weight_or_an_output(tmp_path: Path) -> None:
    body = model(
        "x, weight, out -> return x * weight * out * self.weight",
        "[torch.randn(6, 8)] * 3",
        setup="self.weight = nn.Parameter(torch.ones(cols))",
    )
    problem = load_problem(written(tmp_path, body))
    names = [spec.name for spec in (*problem.inputs, *problem.weights, *problem.outputs)]
    assert names == ["x", "weight_", "out_", "weight", "out"]


def test_file_that_names_its_device(tmp_path: Path) -> None:
    body = "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n" + model(
        "x -> return x * self.scale",
        "[torch.randn(rows, cols, device='cuda')]",
        setup="self.scale = nn.Parameter(torch.ones(cols, device='cuda:0')).cuda()",
    )
    problem = load_problem(written(tmp_path, body))
    reference = Reference.open(problem)
    assert reference.forward(reference.draw(1))[0].device.type == "cpu"


def test_inputs_from_numpy(tmp_path: Path) -> None:
    body = "import numpy as np\n" + model(
        "x -> return x + 1", "[torch.from_numpy(np.ones((rows, cols), dtype=np.float32))]"
    )
    problem = load_problem(written(tmp_path, body))
    assert problem.axis_sizes == {"rows": 6, "cols": 8}
    assert any("same for two draws" in finding or "same value" in finding for finding in problem.degenerate)


def test_control_flow_on_values_loads_without_a_graph(tmp_path: Path) -> None:
    problem = load_problem(written(tmp_path, model("x -> return x * 2 if x.sum() > 0 else x * 3")))
    assert "not_captured" in problem.notes
    assert problem.outputs[0].shape == (6, 8)
    reference = Reference.open(problem)
    assert len(reference.forward(reference.draw(1))) == 1


def test_train_mode_buffers_are_outputs(tmp_path: Path) -> None:
    body = model("x -> return self.norm(x)", setup="self.norm = nn.BatchNorm1d(cols)")
    problem = load_problem(written(tmp_path, body))
    assert problem.mode == "train"
    assert problem.mutated == ("norm.num_batches_tracked", "norm.running_mean", "norm.running_var")
    reference = Reference.open(problem)
    args = reference.draw(1)
    first = reference.forward(args)
    second = reference.forward(args)
    assert [int(found[1]) for found in (first, second)] == [1, 2]
    assert not torch.equal(first[2], second[2])
    reference.reset()
    for a, b in zip(first, reference.forward(args), strict=True):
        assert torch.equal(a, b)


def test_eval_mode_on_request(tmp_path: Path) -> None:
    path = written(tmp_path, model("x -> return self.norm(x)", setup="self.norm = nn.BatchNorm1d(cols)"))
    evaluated, trained = load_problem(path, mode="eval"), load_problem(path)
    assert evaluated.mutated == ()
    assert evaluated.hash != trained.hash


def test_mutated_input(tmp_path: Path) -> None:
    problem = load_problem(written(tmp_path, model("x -> x.add_(1); return x * 2")))
    assert problem.mutated == ("x",)
    assert (problem.random, problem.degenerate) == ("none", ())
    reference = Reference.open(problem)
    args = reference.draw(1)
    before = args[0].clone()
    out, x = reference.forward(args)
    assert torch.equal(x, before + 1)
    assert torch.equal(out, x * 2)


def test_random_steps_of_a_mutated_input_are_reproduced(tmp_path: Path) -> None:
    assert (
        load_problem(written(tmp_path, model("x -> x.add_(torch.rand_like(x)); return x * 2"))).random
        == "reproduced"
    )


def test_dropout_is_reproduced(tmp_path: Path) -> None:
    problem = load_problem(written(tmp_path, model("x -> return F.dropout(x, 0.5)", "[torch.randn(64, 64)]")))
    assert problem.random == "reproduced"
    reference = Reference.open(problem)
    args = reference.draw(1)
    first, other = reference.forward(args, seed=3)[0], reference.forward(args, seed=4)[0]
    assert torch.equal(first, reference.forward(args, seed=3)[0])
    assert not torch.equal(first, other)


def test_randomness_outside_torch_is_stochastic(tmp_path: Path) -> None:
    body = "import random\n" + model("x -> return x * (random.random() if float(x.sum()) else 1)")
    assert load_problem(written(tmp_path, body)).random == "stochastic"


@pytest.mark.parametrize(
    ("forward", "inputs", "finding"),
    [
        ("x -> return x * 0 + 1", "[torch.randn(6, 8)]", "same value"),
        ("x -> return torch.softmax(x[:, :1], dim=1)", "[torch.randn(6, 8)]", "same value"),
        ("x, y -> return x + 1", "[torch.randn(6, 8), torch.randn(6)]", "depends on input 'y'"),
        ("x, y -> return x + y.clamp(2, 2)", "[torch.randn(6, 8), torch.randn(6, 8)]", "'y' is drawn again"),
        ("x -> return torch.arange(5.0) + 0 * x.sum()", "[torch.randn(6, 8)]", "same for two draws"),
        ("x -> return F.group_norm(x, 2).mean((1, 2))", "[torch.randn(6, 8, 16)]", "but rounding error"),
        ("x -> return x * self.w", "[torch.randn(6, 8)]", "same value"),
    ],
)  # fmt: skip
def test_degenerate_tasks(tmp_path: Path, forward: str, inputs: str, finding: str) -> None:
    body = model(forward, inputs, setup="self.w = nn.Parameter(torch.zeros(cols))")
    problem = load_problem(written(tmp_path, body))
    assert any(finding in text for text in problem.degenerate), problem.degenerate


@pytest.mark.parametrize(
    "inputs",
    [
        "[torch.manual_seed(1) and torch.randn(6, 8)]",
        "[torch.randn(6, 8, generator=torch.Generator().manual_seed(1))]",
        "[torch.arange(48.0).reshape(6, 8)]",
        "[MADE_ONCE]",
    ],
)
def test_inputs_that_never_vary_are_named_as_the_reason(tmp_path: Path, inputs: str) -> None:
    once = "import torch\nMADE_ONCE = torch.randn(6, 8)\n"
    problem = load_problem(written(tmp_path, once + model("x -> return torch.sigmoid(x)", inputs)))
    assert problem.degenerate == (FIXED,)


def test_so_are_those_of_a_function_beside_a_module() -> None:
    def seeded() -> list[torch.Tensor]:
        torch.manual_seed(1)
        return [torch.randn(6, 8)]

    assert load_problem(torch.nn.Sigmoid(), seeded).degenerate == (FIXED,)
    assert load_problem(torch.nn.Sigmoid(), lambda: [torch.randn(6, 8)]).degenerate == ()


def test_sound_tasks_are_not_degenerate(tmp_path: Path) -> None:
    for forward in ("x -> return x.mean()", "x -> return torch.sigmoid(x)", "x -> return x.argmax()"):
        assert load_problem(written(tmp_path, model(forward, "[torch.randn(64, 64)]"))).degenerate == ()


def test_neighbour_module_is_importable(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_a_problem.py").write_text("WIDTH = 5\n")
    body = "from neighbour_of_a_problem import WIDTH\n" + model(
        "x -> return x + 1", "[torch.randn(rows, WIDTH)]"
    )
    assert load_problem(written(tmp_path, body)).inputs[0].shape == ("rows", 5)
