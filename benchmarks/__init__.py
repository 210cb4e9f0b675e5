"""The platform's own speed, and the series behind the ledgers in `results/`."""
