"""`Seen`: what became of the outputs that were read while a kernel was timed; gate `timed` reads it."""

from __future__ import annotations

from kernelwright.measure.witness import Witness


class Seen(Witness):
    """Counts of rounds and of pieces of outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.compared = 0
        self.wrong = 0
        self.rounds = 0
        """Rounds with contents of their own."""
        self.moved = 0
        """Those of them in which outputs moved with the inputs."""
        self.drawn_anew = 0
        """Those of them whose contents are new altogether."""
        self.scribbled = False
        """Whether the last call has written into its inputs."""
        self.why: str = ""
        """Why contents were not changed, or samples not compared, in the last round where it was so."""
