"""What a session is built on: the interface that a session factory's sessions fill."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from gpugraph.base.errors import OpError, UnimplementedError
from gpugraph.config import RunMetadata, RunOptions
from gpugraph.devices import DeviceAttributes, KeptTensors
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.runtime.step_failure import same_kind

NO_CONNECTIONS: Mapping[Tensor, Tensor] = MappingProxyType({})


def with_operation(graph: Graph | None, error: OpError) -> OpError:
    """The error with the client's operation, where its node is one."""
    name = getattr(error, "node_name", None) or getattr(error._node_def, "name", None)
    op = graph._by_name.get(name) if graph is not None and name is not None else None
    if op is None or error.op is not None:
        return error
    return same_kind(error, op._record, op, error.message)


class Runner(ABC):
    """One set of feeds, fetches and targets, ready to run with values."""

    @abstractmethod
    def run(self, values: Sequence[Any]) -> list[Any]:
        """The fetches' values for these arrays, which have the feeds' dtypes."""

    @abstractmethod
    def run_with(
        self, values: Sequence[Any], options: RunOptions | None, metadata: RunMetadata | None
    ) -> list[Any]:
        """As `run`, with options, and with statistics into `metadata`."""

    @abstractmethod
    def explain(self, values: Sequence[Any]) -> Any:
        """How values of these shapes are run."""

    def report(self, values: Sequence[Any]) -> Any:
        """Runs these values once, and reports the run; UnimplementedError where that can't be."""
        raise UnimplementedError.of_no_node(f"A {type(self).__name__} does not report its runs")


class SessionBackend(ABC):
    """The runtime side of a session."""

    @abstractmethod
    def create(self, graph: Graph) -> None:
        """Takes the graph; AlreadyExistsError when it has one."""

    @abstractmethod
    def prepare(
        self,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        connections: Mapping[Tensor, Tensor] = NO_CONNECTIONS,
        done: Sequence[Operation] = (),
    ) -> Runner:
        """What runs these; compiles nothing yet. A connected tensor is fed with its other.

        done: operations that have run before, in other parts of a partial run.
        """

    @property
    def kept_tensors(self) -> KeptTensors | None:
        """The tensors that the session keeps between runs; None where it keeps none."""
        return None

    def last_report(self) -> Any:
        """The report of the last run that was traced; UnimplementedError where that can't be."""
        raise UnimplementedError.of_no_node(f"A {type(self).__name__} does not report its runs")

    @abstractmethod
    def list_devices(self) -> list[DeviceAttributes]:
        """The session's devices."""

    @abstractmethod
    def memory_stats(self) -> dict[str, Any]:
        """Each device's AllocatorStats, by full device name."""

    def release_memory(self) -> int:
        """Gives memory back that is kept for later runs; its bytes. A backend may keep none."""
        return 0

    @abstractmethod
    def reset(self, containers: Sequence[str]) -> None:
        """Clears these resource containers (all, if none are named)."""

    @abstractmethod
    def close(self) -> None:
        """Gives everything back; every later call raises CancelledError."""
