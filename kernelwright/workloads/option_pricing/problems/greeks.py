"""Price, delta, gamma, vega, theta and rho of a book of calls and puts under Black-Scholes.

A risk run asks for all of them for every option.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    """Greeks from spots, strikes, years to expiry, volatilities and signs; one rate for the whole book."""

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
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Price, delta, gamma, vega (1.00), theta (a year) and rho (1.00), each of shape (options,)."""
        root = torch.sqrt(years)
        s = volatility * root
        d1 = (torch.log(spot / strike) + self.rate * years) / s + 0.5 * s
        first, second = torch.special.ndtr(sign * d1), torch.special.ndtr(sign * (d1 - s))
        cash = strike * torch.exp(-self.rate * years) * second
        density = torch.exp(-0.5 * d1 * d1) * 0.3989422804014327
        vega = spot * density * root
        theta = -vega * volatility / (2 * years) - sign * self.rate * cash
        price = sign * (spot * first - cash)
        return price, sign * first, density / (spot * s), vega, theta, sign * years * cash


options = 1048576


def get_inputs() -> list[torch.Tensor]:
    """A book of options within a few deviations of the money."""
    draw = torch.rand(4, options, dtype=torch.float64)
    sign = torch.where(torch.rand(options) < 0.5, 1.0, -1.0).double()
    return [80 + 40 * draw[0], 80 + 40 * draw[1], 0.05 + 1.95 * draw[2], 0.1 + 0.5 * draw[3], sign]


def get_init_inputs() -> list[float]:
    """The rate."""
    return [0.03]
