"""Rewrites: other graphs that compute the same for all inputs. One file for each kind of rule."""

from __future__ import annotations

from kernelwright.graph.rewrites.absorbed import ABSORBED
from kernelwright.graph.rewrites.base import Rule
from kernelwright.graph.rewrites.clamps import CLAMPS
from kernelwright.graph.rewrites.constants import CONSTANTS
from kernelwright.graph.rewrites.diagonal import DIAGONAL
from kernelwright.graph.rewrites.pools import POOLED_MAXIMA, POOLED_MEANS
from kernelwright.graph.rewrites.repeated import REPEATED
from kernelwright.graph.rewrites.reshaped import RESHAPED
from kernelwright.graph.rewrites.single import ONE_LOGSUMEXP, SINGLE
from kernelwright.graph.rewrites.sums import SUMS
from kernelwright.graph.rewrites.triangular import TRIANGULAR

SIMPLER: tuple[Rule, ...] = (
    REPEATED, RESHAPED, SINGLE, ONE_LOGSUMEXP, CONSTANTS, CLAMPS, POOLED_MAXIMA, POOLED_MEANS, DIAGONAL,
)  # fmt: skip
"""Rules whose result never costs more."""
MOVED: tuple[Rule, ...] = (ABSORBED, SUMS, TRIANGULAR)
"""Rules that move something across a product, or cut one; they are kept where the graph costs less."""
