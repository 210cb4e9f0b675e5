"""Guards in a model: who answers, what stays as it was, and the ways back."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from integrate_cases import ROWS, WIDTH, RootMeanSquare, hidden, installed, norm_kernel, served, small
from torch import nn

from kernelwright.core.errors import UsageError
from kernelwright.execute.forms import form_of
from kernelwright.execute.module import KernelModule
from kernelwright.execute.reports import KernelFault
from kernelwright.integrate import guard as guard_module


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(ROWS, WIDTH)


def test_kernels_answer_and_the_model_keeps_its_form(x: torch.Tensor) -> None:
    model, plain = small(), small()
    names, types = list(plain.state_dict()), [type(part) for part in plain.modules()]
    found = installed(model)
    torch.testing.assert_close(hidden(model, x), hidden(plain, x))
    assert served(found) == 3
    assert list(model.state_dict()) == names
    assert [name for name, _ in model.named_parameters()] == [name for name, _ in plain.named_parameters()]
    assert [type(part) for part in model.modules()] == types
    model.load_state_dict(small(1).state_dict())
    torch.testing.assert_close(hidden(model, x), hidden(small(1), x))
    assert served(found) == 6, "new weights are served too"


def test_undo_leaves_what_was_given(x: torch.Tensor) -> None:
    model = small()
    before, held = hidden(model, x), {name: dict(vars(part)) for name, part in model.named_modules()}
    found = installed(model)
    hidden(model, x)
    assert found.undo() is model
    assert {name: dict(vars(part)) for name, part in model.named_modules()} == held
    assert torch.equal(hidden(model, x), before)
    installed(model).undo()


def test_removed_is_without_guards_for_a_while(x: torch.Tensor) -> None:
    model = small()
    before, found = hidden(model, x), installed(model)
    with found.removed():
        assert torch.equal(hidden(model, x), before)
    assert served(found) == 0
    hidden(model, x)
    assert served(found) == 3


def other_calls(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {
        "float64": x.double(),
        "bfloat16": x.bfloat16(),
        "more dimensions": x.view(2, -1, 4, WIDTH),
        "no rows": x[:0],
    }


@pytest.mark.parametrize("name", other_calls(torch.zeros(ROWS, WIDTH)))
def test_what_was_not_proven_is_the_originals(name: str, x: torch.Tensor) -> None:
    given_x = other_calls(x)[name]
    model, plain = small().to(given_x.dtype), small().to(given_x.dtype)
    found = installed_as_float(model, given_x.dtype)
    assert torch.equal(hidden(model, given_x), hidden(plain, given_x))
    assert served(found) == 0 or name == "no rows"


def installed_as_float(model: Any, dtype: torch.dtype) -> Any:
    """Guards fitted to a model in float32, which is then of another type."""
    model.float()
    found = installed(model)
    model.to(dtype)
    return found


def test_gradients_training_autocast_and_tracing_are_the_originals(x: torch.Tensor) -> None:
    model, plain = small(), small()
    found = installed(model)
    for each in (model, plain):
        each(x)["hidden"].sum().backward()
    for (name, mine), (_, wanted) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        torch.testing.assert_close(mine.grad, wanted.grad, msg=name)
    model.train()
    hidden(model, x)
    model.eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden(model, x)
    with torch.no_grad():
        program = torch.export.export(model, (x,))
    torch.testing.assert_close(program.module()(x)["hidden"], hidden(plain, x))
    assert served(found) == 0
    hidden(model, x)
    assert served(found) == 3


def test_compiled_models_trace_the_original(x: torch.Tensor) -> None:
    model = small()
    found = installed(model)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(hidden(compiled, x), hidden(small(), x))
    assert served(found) == 0


def test_a_changed_part_or_hook_is_seen(x: torch.Tensor) -> None:
    model, plain = small(), small()
    found = installed(model)
    for each in (model, plain):
        each.last.eps = 0.5
        each.blocks[0].norm.register_forward_hook(lambda module, args, result: result * 2)
    assert torch.allclose(hidden(model, x), hidden(plain, x), atol=1e-5)
    state = {site.name: site for site in found.sites()}
    assert state["last"].served == 0 and "changed" in next(iter(state["last"].passed_on))
    assert state["blocks.1.norm"].served == 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    turned=st.booleans(), grad=st.booleans(), scale=st.sampled_from([None, 2.0]), named=st.booleans(),
)  # fmt: skip
def test_random_calls_are_never_wrong(
    rows: list[int], dtype: torch.dtype, turned: bool, grad: bool, scale: float | None, named: bool
) -> None:
    model, plain = SITE
    x = torch.randn(*rows, WIDTH, dtype=dtype)
    x = x.transpose(0, -2).contiguous().transpose(0, -2) if turned else x
    arguments: dict[str, Any] = {"scale": scale} if named or scale is not None else {}
    with torch.set_grad_enabled(grad):
        found, wanted = model(x, **arguments), plain(x, **arguments)
    assert found.dtype == wanted.dtype and found.requires_grad == wanted.requires_grad
    torch.testing.assert_close(found, wanted)


def one_site() -> tuple[nn.Module, nn.Module]:
    model, plain = small(), small()
    installed(model)
    return model.last, plain.last


@pytest.fixture(autouse=True, scope="module")
def site() -> None:
    global SITE
    SITE = one_site()


def test_copies_and_pickles_have_kernels_of_their_own(x: torch.Tensor) -> None:
    model, plain = small(), small()
    found = installed(model)
    other = copy.deepcopy(model)
    loaded = pickle.loads(pickle.dumps(model))
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    saved = torch.load(file, weights_only=False)
    with torch.no_grad():
        model.last.weight.mul_(2)
    for each in (other, loaded, saved):
        for _ in range(2):  # the first call shows a copy what its original returns
            torch.testing.assert_close(hidden(each, x), hidden(plain, x))
        assert served(each.kernelwright) == 3
        each.kernelwright.undo()
        torch.testing.assert_close(hidden(each, x), hidden(plain, x))
    assert served(found) == 0
    torch.testing.assert_close(hidden(model, x), 2 * hidden(plain, x))


def test_one_variable_turns_everything_off(monkeypatch: pytest.MonkeyPatch, x: torch.Tensor) -> None:
    model = small()
    found = installed(model)
    monkeypatch.setenv(guard_module.OFF, "1")
    assert torch.equal(hidden(model, x), hidden(small(), x))
    assert served(found) == 0


def test_in_shadow_a_share_of_calls_is_compared(x: torch.Tensor) -> None:
    model, plain = small(), small()
    found = installed(model)
    found.shadow(0.5)
    for _ in range(4):
        torch.testing.assert_close(hidden(model, x), hidden(plain, x))
    assert [site.shadowed for site in found.sites()] == [2, 2, 2]
    assert [site.retreat for site in found.sites()] == ["", "", ""]
    with pytest.raises(UsageError, match="from 0"):
        found.shadow(2.0)


def test_a_kernel_that_is_wrong_on_a_live_call_goes(x: torch.Tensor) -> None:
    model, plain = small(), small()
    found = installed(model)
    found.shadow(1.0)
    with torch.no_grad():
        hidden(model, x)
        for each in (model, plain):
            each.last.weight.data.mul_(3)  # torch counts no change: the kernel has prepared for what was
    stale = served(found)
    assert torch.equal(hidden(model, x), hidden(plain, x)), "the original's answer counts"
    hidden(model, x)
    assert served(found) >= stale
    retreats = {site.name: site.retreat for site in found.sites()}
    assert not retreats["blocks.0.norm"]
    if retreats["last"]:
        assert "did not agree" in retreats["last"]


def test_a_kernel_that_is_slower_goes(monkeypatch: pytest.MonkeyPatch, x: torch.Tensor) -> None:
    model = small()
    found = installed(model)
    guard = found.guards["last"]
    answer = guard.kernel.answer

    def slow(*call: Any) -> Any:
        for _ in range(20):
            answer(*call)
        return answer(*call)

    monkeypatch.setattr(guard.kernel, "answer", slow)
    found.shadow(1.0)
    for _ in range(guard_module.ENOUGH + 1):
        hidden(model, x)
    assert "times as long" in guard.retreat
    count = guard.kernel.served
    assert torch.equal(hidden(model, x), hidden(small(), x)) or count == guard.kernel.served


def test_a_site_in_two_models_is_one_site() -> None:
    norm = RootMeanSquare().eval()
    model = nn.Sequential(norm, nn.Linear(WIDTH, WIDTH), norm).eval()
    assert len([name for name, part in model.named_modules() if part is norm]) == 1


class Branches(RootMeanSquare):
    """Computes something else for many rows, which tracing at few does not see."""

    def forward(self, x: torch.Tensor, scale: float | None = None) -> torch.Tensor:
        """As the norm; twice as much for more than a hundred rows."""
        normed = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
        return normed * 2 if x.shape[0] > 100 else normed


def guarded(site: nn.Module) -> guard_module.Guard:
    """The norm's kernel in a part, whether it fits or not."""
    kernel, made, problem = norm_kernel()
    like = torch.zeros(ROWS, WIDTH)
    guard = guard_module.Guard(site, KernelModule(site, kernel, made, problem, like=like))
    guard.put_in()
    return guard


def test_a_branch_on_a_size_is_met_by_the_first_call_of_that_size(x: torch.Tensor) -> None:
    site, plain = Branches().eval(), Branches().eval()
    site.load_state_dict(plain.state_dict())
    guard = guarded(site)
    with torch.no_grad():
        for rows in (ROWS, ROWS, 101, ROWS):
            given = torch.randn(rows, WIDTH)
            torch.testing.assert_close(site(given), plain(given))
    assert "did not agree" in guard.retreat and guard.shadowed == 2


def test_what_is_wrapped_later_has_the_original_after_undo(x: torch.Tensor) -> None:
    site, plain = RootMeanSquare().eval(), RootMeanSquare().eval()
    site.load_state_dict(plain.state_dict())
    guard = guarded(site)
    inner = site.forward
    site.forward = lambda *args: inner(*args)  # type: ignore[method-assign]
    guard.take_out()
    with torch.no_grad():
        assert torch.equal(site(x), plain(x))
    assert guard.kernel.served == 0


def set_a_bias(site: Any) -> None:
    site.register_parameter("bias", nn.Parameter(torch.ones(1)))


def swap_the_class(site: Any) -> None:
    site.__class__ = Branches


def change_a_dictionary(site: Any) -> None:
    site.config["k"] = 2


def change_a_nested_tuple(site: Any) -> None:
    site.pairs = ((1, 2), (3, 5))


@pytest.mark.parametrize(
    "change",
    [set_a_bias, swap_the_class, change_a_dictionary, change_a_nested_tuple],
    ids=lambda f: f.__name__,
)
def test_whatever_is_built_in_is_watched(change: Any, x: torch.Tensor) -> None:
    site: Any = RootMeanSquare().eval()
    site.register_parameter("bias", None)
    site.config, site.pairs = {"k": 1}, ((1, 2), (3, 4))
    guard = guarded(site)
    with torch.no_grad():
        for _ in range(3):
            site(x)
        served_before = guard.kernel.served
        change(site)
        site(x)
    assert served_before == 3 and guard.kernel.served == 3
    assert any("changed" in reason for reason in guard.kernel.passed_on)


def test_weights_that_cannot_be_watched_are_the_originals(x: torch.Tensor) -> None:
    for weight in (torch.randn(2 * WIDTH)[::2], torch.inference_mode()(torch.randn)(WIDTH)):
        site = RootMeanSquare().eval()
        site.weight = nn.Parameter(weight, requires_grad=False)
        guard = guarded(site)
        with torch.no_grad():
            site(x), site(x)
        assert guard.kernel.served == 0
        assert any("weight" in reason for reason in guard.kernel.passed_on)


def test_tracers_and_negated_views_have_the_original(x: torch.Tensor) -> None:
    site, plain = RootMeanSquare().eval(), RootMeanSquare().eval()
    site.load_state_dict(plain.state_dict())
    guarded(site)
    with torch.no_grad():
        traced = torch.jit.trace(site, (x,))
        torch.testing.assert_close(traced(x), plain(x))
        symbolic = torch.fx.symbolic_trace(nn.Sequential(site))
        torch.testing.assert_close(symbolic(x), plain(x))
        negated = torch._neg_view(x)
        for _ in range(2):
            torch.testing.assert_close(site(negated), plain(negated))
        assert site.to("meta")(x.to("meta")).shape == x.shape


def test_reasons_do_not_grow_without_end() -> None:
    site = RootMeanSquare().eval()
    guard = guarded(site)
    for number in range(200):
        guard.kernel._count(f"size {number}")
    assert len(guard.kernel.passed_on) <= 65 and sum(guard.kernel.passed_on.values()) == 200


def test_a_kernel_that_fails_on_a_live_call_goes(monkeypatch: pytest.MonkeyPatch, x: torch.Tensor) -> None:
    site, plain = RootMeanSquare().eval(), RootMeanSquare().eval()
    site.load_state_dict(plain.state_dict())
    guard = guarded(site)

    def fails(*args: Any, **kwargs: Any) -> Any:
        raise KernelFault("no memory for buffer 'out'")

    with torch.no_grad():
        site(x), site(x)
        monkeypatch.setattr(guard.kernel, "answer", fails)
        assert torch.equal(site(x), plain(x)) and "no memory" in guard.retreat


def test_arguments_by_name_have_a_form_as_those_by_position_have(x: torch.Tensor) -> None:
    forms = [
        form_of((), {"x": value})
        for value in (
            x,
            x[:3],
            x.double(),
            x.t(),
            None,
            1,
            [x],
            [x.double()],
            torch.fx.Proxy(torch.fx.Graph().placeholder("x")),
        )
    ]
    assert forms[-1] is None and len(set(forms)) == len(forms)
