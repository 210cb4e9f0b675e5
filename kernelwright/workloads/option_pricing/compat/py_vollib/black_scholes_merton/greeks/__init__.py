"""Greeks under Black-Scholes-Merton; `analytical` has them."""
