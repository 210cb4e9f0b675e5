"""Black-Scholes prices of a book of calls and puts: `sign` is +1 for a call and -1 for a put.

Every desk reprices its book whenever a quote moves.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    """Prices from spots, strikes, years to expiry, volatilities and signs; one rate for the whole book."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(
        self,
        spot: torch.Tensor,
        strike: torch.Tensor,
        years: torch.Tensor,
        volatility: torch.Tensor,
        sign: torch.Tensor,
    ) -> torch.Tensor:
        """Prices, shape (options,)."""
        s = volatility * torch.sqrt(years)
        d1 = (torch.log(spot / strike) + self.rate * years) / s + 0.5 * s
        first = spot * torch.special.ndtr(sign * d1)
        second = strike * torch.exp(-self.rate * years) * torch.special.ndtr(sign * (d1 - s))
        price: torch.Tensor = sign * (first - second)
        return price


options = 1048576


def get_inputs() -> list[torch.Tensor]:
    """A book of options within a few deviations of the money."""
    draw = torch.rand(4, options, dtype=torch.float64)
    sign = torch.where(torch.rand(options) < 0.5, 1.0, -1.0).double()
    return [80 + 40 * draw[0], 80 + 40 * draw[1], 0.05 + 1.95 * draw[2], 0.1 + 0.5 * draw[3], sign]


def get_init_inputs() -> list[float]:
    """The rate."""
    return [0.03]
