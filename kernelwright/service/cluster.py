"""What the service asks of Ray: a cluster, its hosts, and processes on them.

Ray starts processes on hosts, moves objects between them, and says when one died. Order, priorities and
what is promised to clients are the coordinator's. A cluster that is started here is for this host alone;
one that spreads over hosts is started with Ray's own tools and joined by its address. Ray listens on all
interfaces; the versions that are allowed demand a token of their own there, which clients need not know.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from kernelwright.core.errors import EnvironmentFault, KernelwrightError, boundary, first_line
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.target import Target
from kernelwright.languages import build
from kernelwright.service.hosted import Hosted
from kernelwright.service.settings import Settings

NAMESPACE, COORDINATOR = "kernelwright", "verdicts"
READER = "kernelwright.service.reader:Reader"
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
OBJECT_STORE_BYTES = 80 << 20
"""Of a cluster that is started here: what travels is small."""


@dataclass(frozen=True)
class Place:
    """Where a lane may be."""

    node: str
    """Ray's id of the host."""
    gpu: bool
    number: int
    """Of the lane on its host."""
    cores: int


def require(*modules: str) -> None:
    """EnvironmentFault where one of these is not installed."""
    for name in modules:
        if find_spec(name) is None:
            raise EnvironmentFault(
                f"the verdict service needs {name}, which is not installed; "
                "run: pip install 'kernelwright[service]'"
            )


def join(address: str | None = None) -> None:
    """Be part of the cluster at `address`; None: of a new one on this host. Twice is once.

    EnvironmentFault if there is no Ray, or no cluster there.
    """
    require("ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        return
    own: dict[str, Any] = {
        "num_cpus": len(os.sched_getaffinity(0)),
        "include_dashboard": False,
        "object_store_memory": OBJECT_STORE_BYTES,
    }
    where = f"at {address}" if address else "on this host"
    with boundary(EnvironmentFault, f"no Ray cluster {where}"), _own_signals():
        ray.init(
            address=address or "local",
            namespace=NAMESPACE,
            log_to_driver=False,
            logging_level="ERROR",
            **({} if address else own),
        )


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep what SIGTERM does in this program: Ray puts an exit of its own there."""
    handler = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)


def leave() -> None:
    """Leave the cluster; one that was started here ends."""
    import ray

    ray.shutdown()


def places(target: Target) -> list[Place]:
    """Where lanes may be: one for each GPU; one for each host where the target is a CPU."""
    import ray

    found = []
    for node in ray.nodes():
        if not node["Alive"]:
            continue
        resources = node["Resources"]
        count = 1 if target.name == "cpu" else int(resources.get("GPU", 0))
        cores = max(1, int(resources.get("CPU", 1)))
        found += [Place(node["NodeID"], target.name != "cpu", number, cores) for number in range(count)]
    return found


def lane_at(place: Place, desk: str, target: Target) -> Any:
    """Begin a lane's process, with an object of the class `desk` in it (`module:name`)."""
    return _hosted(desk, place.node, target, gpus=1 if place.gpu else 0)


def reader(target: Target) -> Any:
    """Begin the process that reads requests, on this host."""
    import ray

    return _hosted(READER, ray.get_runtime_context().get_node_id(), target)


def build_at(place: Place, kernel: Kernel, target: Target) -> Any:
    """Begin to compile on the host of a lane, into its cache; one core is taken as long as it lasts."""
    return _build().options(scheduling_strategy=_on(place.node)).remote(kernel, target)


def coordinator(settings: Settings, at_once: int) -> Any:
    """Begin the coordinator on this host; EnvironmentFault if the cluster has one."""
    import ray

    from kernelwright.service.coordinator import Coordinator

    here = ray.get_runtime_context().get_node_id()
    try:
        return (
            ray.remote(Coordinator)
            .options(
                name=COORDINATOR, num_cpus=0, max_restarts=-1, max_task_retries=-1,
                max_concurrency=at_once, scheduling_strategy=_on(here),
            )
            .remote(settings)
        )  # fmt: skip
    except ValueError as error:
        raise EnvironmentFault(
            "a verdict service runs in this Ray cluster already; connect to it, or end it first"
        ) from error


def running_coordinator() -> Any:
    """The coordinator that another program began; EnvironmentFault if there is none."""
    import ray

    try:
        return ray.get_actor(COORDINATOR, namespace=NAMESPACE)
    except ValueError as error:
        raise EnvironmentFault(
            "no verdict service runs in this Ray cluster; start one with `kernelwright serve-verdicts`"
        ) from error


def answer_of(reference: Any) -> tuple[Any, str]:
    """The same as `answered`, for programs without an event loop; no time limit."""
    import ray
    from ray.exceptions import RayError

    try:
        return ray.get(reference), ""
    except RayError as error:
        return None, _explained(error)


async def answered(reference: Any, limit_s: float) -> tuple[Any, str]:
    """Wait for what a process was asked: its answer and an empty text, or None and why there is none.

    An error of ours that was raised there is raised here.
    """
    from ray.exceptions import RayError

    try:
        return await asyncio.wait_for(reference, limit_s), ""
    except asyncio.TimeoutError:
        return None, f"no answer within {limit_s:g} s"
    except RayError as error:
        return None, _explained(error)


def _explained(error: Any) -> str:
    """Why there is no answer; raises the error of ours that was raised in the other process."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, KernelwrightError):
        raise cause from error
    if cause is not None:
        return f"{type(cause).__name__}: {first_line(cause)}"
    lines = [line.strip().rstrip(".") for line in _COLORS.sub("", str(error)).splitlines() if line.strip()]
    said = dict.fromkeys([lines[0], lines[-1]]) if lines else [type(error).__name__]
    return f"its process is gone: {'; '.join(said)}"


def end(actor: Any) -> None:
    """End an actor's process; its workers end with it."""
    import ray

    ray.kill(actor)


@lru_cache(maxsize=1)
def _build() -> Any:
    import ray

    return ray.remote(num_cpus=1, max_retries=2)(_compiled)


def _hosted(path: str, node: str, target: Target, gpus: int = 0) -> Any:
    import ray

    made = ray.remote(Hosted).options(
        num_cpus=0, num_gpus=gpus, max_restarts=0, scheduling_strategy=_on(node)
    )
    return made.remote(path, target)


def _compiled(kernel: Kernel, target: Target) -> Build:
    return build(kernel, target)


def _on(node: str) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)
