"""Greeks under Black-76; `analytical` has them."""
