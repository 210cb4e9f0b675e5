"""Options on a CUDA device: the CPU's results, types, shapes, streams, faults, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU", allow_module_level=True)

from kernelwright.core.errors import UsageError  # noqa: E402
from kernelwright.workloads import option_pricing as op  # noqa: E402
from kernelwright.workloads.option_pricing.kernels.results import RESULTS  # noqa: E402

EPS = 2.0**-52


def book(count: int, dtype: Any = torch.float64) -> dict[str, Any]:
    rng = np.random.default_rng(count)
    columns = {
        "flag": np.where(rng.random(count) < 0.5, 1.0, -1.0), "underlying": rng.uniform(80, 120, count),
        "strike": rng.uniform(80, 120, count), "years": rng.uniform(0.05, 2, count),
        "rate": rng.uniform(-0.01, 0.08, count), "volatility": rng.uniform(0.1, 0.8, count),
        "dividend_yield": rng.uniform(0, 0.04, count),
    }  # fmt: skip
    return {name: torch.as_tensor(column).to(dtype) for name, column in columns.items()}


def there(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value.cuda() if isinstance(value, torch.Tensor) else value for name, value in given.items()}


def arrays(given: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in given.items()
    }


@pytest.mark.parametrize("count", [1, 255, 256, 257, 10_000])
@pytest.mark.parametrize("model", ["black", "black_scholes_merton"])
def test_results_are_those_of_the_cpu(count: int, model: str) -> None:
    given = book(count) if model != "black" else book(count) | {"dividend_yield": 0.0}
    for names in (("price",), RESULTS[:6], RESULTS, ("zomma", "delta")):
        wanted, got = (op.evaluate(names, **side, model=model) for side in (arrays(given), there(given)))
        for name in names:
            assert got[name].is_cuda and got[name].dtype == torch.float64
            np.testing.assert_allclose(
                got[name].cpu().numpy(), wanted[name], rtol=1e-12, atol=1e-12 * np.abs(wanted[name]).max()
            )
    paid, vega = (getattr(op, name)(**there(given), model=model) for name in ("price", "vega"))
    without = {name: value for name, value in there(given).items() if name != "volatility"}
    found = op.implied_volatility(paid, **without, model=model)
    # As precise as the price determines it: eps of underlying and strike, by vega.
    assert ((found - given["volatility"].cuda()).abs() * vega).max().item() <= 8 * EPS * 240


def test_types() -> None:
    given = book(5000, torch.float32)
    got, wanted = op.price(**there(given)), op.price(**arrays(given))
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got.cpu().numpy(), wanted, rtol=2.0**-22)
    mixed = there(given) | {"strike": given["strike"].double().cuda()}
    assert op.price(**mixed).dtype == torch.float64
    whole = there(given) | {"strike": torch.full((5000,), 100, device="cuda")}
    assert op.price(**whole).dtype == torch.float32


def test_numbers_beside_tensors_and_shapes() -> None:
    strikes = torch.linspace(80, 120, 41, dtype=torch.float64, device="cuda")
    wanted = op.price("p", 100.0, strikes.cpu().numpy(), 0.5, 0.03, 0.2)
    np.testing.assert_allclose(
        op.price("p", 100.0, strikes, 0.5, 0.03, 0.2).cpu().numpy(), wanted, rtol=1e-12
    )
    square = op.price(
        "p", 100.0, strikes[:, None], torch.tensor([0.5, 1.0], device="cuda").double(), 0.03, 0.2
    )
    assert square.shape == (41, 2)
    np.testing.assert_allclose(square[:, 0].cpu().numpy(), wanted, rtol=1e-12)
    assert op.price(-1, 100.0, strikes[::2], 0.5, np.float64(0.03), torch.tensor(0.2)).shape == (21,)
    assert op.price("c", 100.0, strikes[:0], 0.5, 0.03, 0.2).shape == (0,)
    assert op.price("c", 100.0, strikes[0], 0.5, 0.03, 0.2).shape == ()


def test_the_current_stream_is_used() -> None:
    side, strikes = torch.cuda.Stream(), torch.full((1 << 20,), 90.0, dtype=torch.float64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        strikes.fill_(110.0)
        got = op.price("c", 100.0, strikes, 0.5, 0.03, 0.2, on_error="ignore")
    side.synchronize()
    assert (
        got[0].item()
        == got[-1].item()
        == pytest.approx(op.price("c", 100.0, 110.0, 0.5, 0.03, 0.2), rel=1e-12)
    )


def test_faults() -> None:
    prices = torch.full((30_000,), 10.0, dtype=torch.float64, device="cuda")
    prices[5], prices[20_000], prices[29_999] = -1.0, -1.0, 1000.0
    with pytest.raises(UsageError, match=r"option 5 has a price below.*2 below intrinsic, 1 at or above"):
        op.implied_volatility(prices, "c", 100.0, 100.0, 1.0, 0.0)
    with pytest.warns(op.OptionWarning, match="option 5 has"):
        op.implied_volatility(prices, "c", 100.0, 100.0, 1.0, 0.0, on_error="warn")
    found = op.implied_volatility(prices, "c", 100.0, 100.0, 1.0, 0.0, on_error="ignore")
    assert torch.isnan(found).nonzero().flatten().tolist() == [5, 20_000, 29_999]
    assert op.implied_volatility(prices[10:100], "c", 100.0, 100.0, 1.0, 0.0).isfinite().all()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"strike": np.full(3, 100.0)}, "ndarray was given beside tensors on cuda:0"),
        ({"flag": np.array(["c", "p", "c"])}, "ndarray was given beside tensors on cuda:0"),
        ({"flag": "x"}, "neither call nor put"),
        ({"strike": torch.full((3,), 100.0)}, "Tensor was given beside tensors on cuda:0"),
        ({"strike": torch.full((4,), 100.0, device="cuda")}, "do not broadcast"),
        ({"strike": torch.full((3,), 100.0, device="cuda", requires_grad=True)}, "gradient"),
        ({"strike": torch.full((3,), 1j, device="cuda")}, "real numbers"),
        ({"strike": -1.0}, "not an option"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], words: str) -> None:
    given = there(book(3)) | changed
    with pytest.raises(UsageError, match=words) as caught:
        op.price(**given)
    assert "\n" not in str(caught.value)
