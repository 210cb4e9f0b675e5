"""Whole models: what is proven of them, what is refused, and one that goes the whole way."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from integrate_cases import ROWS, WIDTH, RootMeanSquare, installed, small
from torch import nn

import kernelwright as kw
from kernelwright.core.errors import UsageError
from kernelwright.integrate import model as in_place
from kernelwright.integrate import proof
from kernelwright.integrate.batch import Batch
from kernelwright.measure.stopping import Rule


@pytest.fixture
def batches() -> list[Batch]:
    return [Batch.of(torch.randn(ROWS, WIDTH)), Batch.of(torch.randn(3, WIDTH))]


def test_results_of_the_whole_are_compared_with_float64(batches: list[Batch]) -> None:
    model = small()
    rows = proof.compared(model, installed(model), batches)
    assert [(row.batch, row.result) for row in rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert not any(row.why for row in rows)
    assert 0 < (rows[0].relative_error or 0) < 1e-6 and (rows[0].original_error or 0) > 0


def test_a_whole_that_is_wrong_is_seen(batches: list[Batch], monkeypatch: pytest.MonkeyPatch) -> None:
    model = small()
    found = installed(model)
    kernel = found.guards["last"].kernel
    answer = kernel.answer
    monkeypatch.setattr(kernel, "answer", lambda *call: answer(*call) * (1 + 1e-4))
    assert "times what is allowed" in proof.compared(model, found, batches)[0].why
    monkeypatch.setattr(kernel, "answer", lambda *call: answer(*call) / 0.0)
    assert "not finite" in proof.compared(model, found, batches)[0].why


def test_a_model_that_does_not_run_in_float64_is_compared_with_itself(batches: list[Batch]) -> None:
    class Narrow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = small()

        def forward(self, x: torch.Tensor) -> Any:
            return self.inner(x)["hidden"].float()

    model = Narrow().eval()
    found = installed(model.inner)
    rows = proof.compared(model, found, batches)
    assert [row.why for row in rows] == ["", ""] and rows[0].relative_error is None


def test_whole_calls_are_timed_beside_the_baselines(
    batches: list[Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(proof.BASELINES, "cpu", ("eager", "channels_last"))
    monkeypatch.setattr(
        proof, "RULE", Rule("model", min_rounds=6, max_rounds=12, max_seconds=1.0, half_width=0.1)
    )
    model = small()
    timed = proof.timed(model, installed(model), batches, "cpu")
    assert [each.baseline for each in timed.speedups] == ["eager"]
    assert "four dimensions" in timed.unavailable["channels_last"]
    assert set(timed.latency_us) == {"kernels", "eager"} and timed.strongest.baseline == "eager"
    ratio = timed.latency_us["eager"] / timed.latency_us["kernels"]
    assert timed.speedups[0].ratio == pytest.approx(ratio, rel=0.5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: kw.optimize_model(small().train(), [torch.ones(2, WIDTH)]), "eval"),
        (lambda: kw.optimize_model(torch.relu, [torch.ones(2)]), "use optimize"),  # type: ignore[arg-type]
        (lambda: kw.optimize_model(small(), torch.ones(2, WIDTH)), "batches"),  # type: ignore[arg-type]
        (lambda: kw.optimize_model(small(), [torch.ones(2, 5)]), "raises"),
        (lambda: kw.optimize_model(small(), [torch.ones(2, WIDTH)], against="all"), "strongest"),  # type: ignore
        (lambda: kw.optimize_model(small().to("meta"), [torch.ones(2, WIDTH)]), "meta"),
        (lambda: kw.optimize_model(installed(small()).model, [torch.ones(2, WIDTH)]), "undo"),
        (lambda: kw.optimize_model(small(), [torch.ones(2, WIDTH)], target="tpu"), "tpu"),
        (lambda: kw.optimize_model(small(), [torch.ones(2, WIDTH)], budget_s=1.0), "5 s"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        given()
    assert "\n" not in str(error.value)


def test_a_model_goes_the_whole_way(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A norm of many operations in a model: found, searched, put in, proven, undone."""
    monkeypatch.setenv("KERNELWRIGHT_DATA", str(tmp_path_factory.mktemp("data")))
    monkeypatch.setitem(proof.BASELINES, "cpu", ("eager",))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 1024), RootMeanSquare(1024), nn.Linear(1024, 8)).eval()
    x = torch.randn(8192, 8)
    before = model(x).detach()
    said: list[str] = []
    same = kw.optimize_model(
        model, [x], budget_s=5.0, against="eager", on_progress=lambda event: said.append(event["stage"])
    )
    assert same is model and {"survey", "site", "problem", "trial"} <= set(said)
    installation = model.kernelwright
    with torch.no_grad():
        torch.testing.assert_close(model(x), before, rtol=1e-4, atol=1e-5)
    said_of_it = installation.status()
    if installation.guards:  # as it should be, unless others keep the machine busy
        (site,) = installation.sites()
        assert site.name in ("", "1") and site.served == 1 and site.speedup > 1.02
        assert installation.report["whole"]["speedup_ci"]["eager"][0] >= 1.0
    else:
        assert "nothing stays in" in said_of_it or "nothing was put in" in said_of_it
    print(said_of_it)
    installation.undo()
    assert "kernelwright" not in vars(model) and torch.equal(model(x), before)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_is_not_proven_does_not_stay(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    model = small()
    found = installed(model)
    found.undo()
    monkeypatch.setattr(in_place._Search, "go", lambda search: found)

    def stopped(*args: Any) -> Any:
        raise error

    monkeypatch.setattr(in_place, "compared", stopped)
    with pytest.raises(error):
        kw.optimize_model(model, [torch.ones(2, WIDTH)])
    assert "kernelwright" not in vars(model)
    assert all("forward" not in vars(part) for part in model.modules())


def test_a_model_that_returns_no_tensor_is_not_taken_as_right(batches: list[Batch]) -> None:
    class Silent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = small()

        def forward(self, x: torch.Tensor) -> str:
            return str(self.inner(x))

    model = Silent().eval()
    assert "no tensor" in proof.compared(model, installed(model.inner), batches)[0].why
