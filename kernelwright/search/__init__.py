"""Strategies that choose what to try next, on one ask/tell contract and one budget."""
