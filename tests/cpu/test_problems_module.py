"""Problems from modules and functions: importable by path, or live objects pickled by value."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch import nn

from kernelwright.core.config import cache_dir
from kernelwright.core.errors import EnvironmentFault, ProblemError
from kernelwright.problems import Reference, load_problem

SOURCE = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.dropout = nn.Dropout(0.5)
    def forward(self, x, y):
        return torch.relu(self.linear(x)) + y

ready = Block().eval()

def plain(x, y):
    return x * y

def example_inputs():
    return torch.rand(6, 8), torch.rand(6, 8)

number = 3
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a_users_model.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNELWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("a_users_model", None)


@pytest.mark.parametrize(
    ("source", "mode"),
    [("a_users_model:Block", "train"), ("a_users_model:ready", "eval"), ("a_users_model.py:Block", "train")],
)
def test_module_by_path(package: Path, source: str, mode: str) -> None:
    problem = load_problem(source, "a_users_model:example_inputs")
    assert problem.mode == mode
    assert problem.axis_sizes == {"batch": 6}
    assert [spec.shape for spec in problem.inputs] == [("batch", 8), ("batch", 8)]
    assert problem.outputs[0].shape == ("batch", 8)
    assert [spec.name for spec in problem.weights] == ["linear.weight", "linear.bias"]
    larger = next(workload for workload in problem.workloads if workload.axes["batch"] == 7)
    reference = Reference.open(problem, larger)
    args = reference.draw(1)
    assert [tuple(arg.shape) for arg in args] == [(7, 8), (7, 8)]
    assert float(args[0].min()) >= 0
    assert reference.forward(args)[0].shape == (7, 8)


def test_function_by_path_has_axes_of_its_own(package: Path) -> None:
    problem = load_problem("a_users_model:plain", "a_users_model:example_inputs")
    assert problem.name == "plain"
    assert problem.axis_sizes == {"batch": 6, "d1": 8}
    assert "def plain" in problem.source


@pytest.mark.parametrize(
    ("source", "inputs", "part"),
    [
        ("a_users_model:Blok", "a_users_model:example_inputs", "did you mean 'Block'?"),
        ("no_such_module:Block", "a_users_model:example_inputs", "'no_such_module' cannot be imported"),
        ("a_users_model:Block", None, "needs example inputs of the form module:function (--inputs)"),
        ("a_users_model:Block", "a_users_model:inputs", "no attribute 'inputs'"),
        (
            "a_users_model:number",
            "a_users_model:example_inputs",
            "name a module class, a module or a function",
        ),
        ("missing.py:Block", "a_users_model:example_inputs", "'missing.py' cannot be imported"),
        (3, None, "give a file, 'module:attribute'"),
        (nn.Linear, (torch.zeros(2),), "give a file, 'module:attribute'"),
        (nn.Linear(2, 2), None, "given without inputs"),
        (nn.Linear(2, 2), (torch.zeros(3, 5),), "raises"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(
    package: Path, source: object, inputs: object, part: str
) -> None:
    with pytest.raises(ProblemError) as raised:
        load_problem(source, inputs)  # type: ignore[arg-type]
    assert part in str(raised.value)
    assert "\n" not in str(raised.value)


def test_live_module_keeps_its_weights(package: Path) -> None:
    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4))
    x = torch.rand(10, 8)
    problem = load_problem(module, (x,))
    assert problem.entry.kind == "object"
    assert problem.axis_sizes == {"batch": 10}
    assert problem.mutated == ("1.num_batches_tracked", "1.running_mean", "1.running_var")
    reference = Reference.open(problem)
    assert torch.equal(reference.weights()["0.weight"], module[0].weight)
    found = reference.forward([x])
    module.train()
    with torch.no_grad():
        assert torch.equal(found[0], module(x))
    assert int(Reference.open(problem).weights()["1.num_batches_tracked"]) == 0


def test_live_module_in_eval_mode(package: Path) -> None:
    module = nn.BatchNorm1d(4).eval()
    assert load_problem(module, (torch.rand(10, 4),)).mutated == ()
    assert load_problem(module, (torch.rand(10, 4),), mode="train").mutated != ()


def test_inputs_from_a_function_are_drawn_by_it(package: Path) -> None:
    problem = load_problem(torch.nn.functional.gelu, lambda: [torch.full((4, 4), 2.0) + torch.rand(())])
    reference = Reference.open(problem)
    (x,), (y,) = reference.draw(1), reference.draw(2)
    assert 2 <= float(x.min()) == float(x.max()) <= 3
    assert not torch.equal(x, y)


def test_integers_stay_the_examples(package: Path) -> None:
    index = torch.tensor([3, 1, 2])
    problem = load_problem(lambda table, index: table[index] * 2, (torch.rand(5, 2), index))
    reference = Reference.open(problem)
    table, drawn = reference.draw(7)
    assert torch.equal(drawn, index)
    assert torch.equal(reference.forward([table, drawn])[0], table[index] * 2)


def test_same_object_is_the_same_problem(package: Path) -> None:
    module, x = nn.Linear(4, 4), torch.rand(3, 4)
    assert load_problem(module, (x,)).hash == load_problem(module, (x,)).hash
    assert load_problem(module, (x,)).hash != load_problem(nn.Linear(4, 4), (x,)).hash


def test_object_loads_in_a_process_without_the_users_code(package: Path) -> None:
    sys.path.insert(0, str(package))
    import a_users_model  # type: ignore[import-not-found]

    problem = load_problem(a_users_model.Block().eval(), a_users_model.example_inputs())
    script = """
        import sys
        from kernelwright.core.problem import Problem
        from kernelwright.problems import Reference
        problem = Problem.model_validate_json(sys.stdin.read())
        reference = Reference.open(problem)
        print(tuple(reference.forward(reference.draw(1))[0].shape), "a_users_model" in sys.modules)
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        input=problem.model_dump_json(),
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    assert found.stdout.strip() == "(6, 8) False"


def test_lost_pickle_is_said(package: Path) -> None:
    problem = load_problem(nn.Linear(2, 2), (torch.rand(3, 2),))
    Path(problem.entry.location).unlink()
    with pytest.raises(ProblemError, match="which is gone; load it again"):
        Reference.open(problem)


@pytest.mark.parametrize("name", ["random", "json", "typing"])
def test_a_file_called_as_a_module_of_the_library_is_its_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = sys.modules[name]
    before = dict(vars(library))
    text = (
        "import torch\n\n\ndef twice(x):\n    return x * 2\n\n\ndef inputs():\n    return [torch.ones(4)]\n"
    )
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    problem = load_problem(f"{name}.py:twice", f"{name}.py:inputs")
    assert "return x * 2" in problem.source
    assert sys.modules[name] is library and vars(library) == before


def test_a_home_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", "~nobody_of_that_name/cache")
    with pytest.raises(EnvironmentFault, match=r"no home directory .* set KERNELWRIGHT_CACHE to a folder"):
        cache_dir()


LIVE = """
import enum
import torch
from torch import nn

SCALE = 1.0


class Kind(enum.Enum):
    SUM = 1


class Live(nn.Module):
    registry = {}
    kind = Kind.SUM

    def forward(self, x):
        return x * SCALE
"""


def test_classes_of_the_user_are_left_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "live_model.py").write_text(LIVE)
    import live_model

    before = dict(vars(live_model.Live))
    members = dict(vars(live_model.Kind))
    model, x = live_model.Live(), torch.ones(4, 4)
    for _ in range(2):
        problem = load_problem(model, (x,))
        loaded = Reference.open(problem).module
        assert torch.equal(loaded(x), x)
    assert dict(vars(live_model.Live)) == before
    assert all(vars(live_model.Live)[name] is value for name, value in before.items())
    assert {name: id(value) for name, value in vars(live_model.Kind).items()} == {
        name: id(value) for name, value in members.items()
    }
    monkeypatch.setattr(live_model, "SCALE", 3.0)
    assert torch.equal(model(x), 3 * x) and torch.equal(live_model.Live()(x), 3 * x)
