"""The buffers of a region as parameters of a kernel, with the cache hints of their loads and stores.

A pointer may be assumed to lie at a multiple of 16 bytes, and two buffers not to overlap.
"""

from __future__ import annotations

from kernelwright.core.plan import BufferArg
from kernelwright.graph.loops import Access, Load, Region
from kernelwright.propose.templates.cuda.emit import STORED

LOAD_HINTS = {"cached": 0, "once": 1, "past_l1": 2}
STORE_HINTS = {"cached": 0, "once": 1}
_COHERENT = 3


class Pointers:
    """The buffers of a region as kernel parameters."""

    def __init__(self, region: Region, load_hint: str, store_hint: str) -> None:
        self._read = {node.access.buffer: node.dtype for node in region.nodes if isinstance(node, Load)}
        self._written = {store.access.buffer: store.dtype for store in region.stores}
        self.buffers = list(dict.fromkeys([*self._read, *self._written]))
        self._hints = LOAD_HINTS[load_hint], STORE_HINTS[store_hint]

    def name(self, buffer: str) -> str:
        """The parameter that points to `buffer`."""
        return f"p{self.buffers.index(buffer)}"

    def load_hint(self, access: Access, again: bool = False) -> int:
        """The hint for loads: coherent where the kernel writes too, cached where elements serve twice."""
        if access.buffer in self._written:
            return _COHERENT
        if 0 in access.strides:
            return LOAD_HINTS["cached"]
        return LOAD_HINTS["past_l1"] if again and self._hints[0] == LOAD_HINTS["once"] else self._hints[0]

    @property
    def store_hint(self) -> int:
        """The hint for stores."""
        return self._hints[1]

    @property
    def parameters(self) -> list[str]:
        """Declarations in order; a buffer that is read and written is neither const nor restrict."""
        found = []
        for buffer in self.buffers:
            stored = STORED[self._read.get(buffer) or self._written[buffer]]
            constant = "" if buffer in self._written else "const "
            restrict = "" if buffer in self._written and buffer in self._read else " __restrict__"
            found.append(f"{constant}{stored}*{restrict} {self.name(buffer)} /* {buffer} */")
        return found

    @property
    def arguments(self) -> list[BufferArg]:
        """Arguments in the same order."""
        return [BufferArg(buffer=buffer) for buffer in self.buffers]


def aliasing(region: Region) -> str | None:
    """Why reading and writing the same buffer in one kernel would race, or None."""
    stores = {store.access.buffer: store.access for store in region.stores}
    for node in region.nodes:
        if isinstance(node, Load) and stores.get(node.access.buffer, node.access) != node.access:
            return f"buffer '{node.access.buffer}' is read and written at different places"
    return None
