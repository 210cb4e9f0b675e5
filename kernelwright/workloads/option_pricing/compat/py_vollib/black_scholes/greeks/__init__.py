"""Greeks under Black-Scholes; `analytical` has them."""
