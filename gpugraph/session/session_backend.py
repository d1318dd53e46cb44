"""The interface between a session and the runtime, which each kind of session implements."""

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
    """Return the error. If the client's graph has an operation with the name of the failed node,
    set `op` to this operation.
    """
    name = getattr(error, "node_name", None) or getattr(error._node_def, "name", None)
    op = graph._by_name.get(name) if graph is not None and name is not None else None
    if op is None or error.op is not None:
        return error
    return same_kind(error, op._record, op, error.message)


class Runner(ABC):
    """One set of feeds, fetches and targets of a session, which can be run with different
    values.
    """

    @abstractmethod
    def run(self, values: Sequence[Any]) -> list[Any]:
        """Run the graph with these arrays as feeds, and return the values of the fetches. The
        arrays must have the dtypes of the feeds.
        """

    @abstractmethod
    def run_with(
        self, values: Sequence[Any], options: RunOptions | None, metadata: RunMetadata | None
    ) -> list[Any]:
        """Run the graph as `run` does, with options. Set the statistics in `metadata`."""

    @abstractmethod
    def explain(self, values: Sequence[Any]) -> Any:
        """Return an explanation of a run whose feeds have the shapes of `values`."""

    def report(self, values: Sequence[Any]) -> Any:
        """Run the graph once with these values, and return a report. Raises UnimplementedError if
        the backend has no reports.
        """
        raise UnimplementedError.of_no_node(f"A {type(self).__name__} does not report its runs")


class SessionBackend(ABC):
    """The runtime side of a session."""

    @abstractmethod
    def create(self, graph: Graph) -> None:
        """Set the session's graph. Raises AlreadyExistsError if the session has a graph."""

    @abstractmethod
    def prepare(
        self,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        connections: Mapping[Tensor, Tensor] = NO_CONNECTIONS,
        done: Sequence[Operation] = (),
    ) -> Runner:
        """Return the runner for these tensors and operations. This does not compile anything.

        Args:
          connections: tensors that are fed with the values of other tensors, which the run
            computes.
          done: operations that have already run, in earlier parts of a partial run.
        """

    @property
    def kept_tensors(self) -> KeptTensors | None:
        """The tensors that the session keeps for `tf.get_session_handle`, or None if this is not
        supported.
        """
        return None

    def last_report(self) -> Any:
        """Return the report of the last traced run. Raises UnimplementedError if reports are not
        supported.
        """
        raise UnimplementedError.of_no_node(f"A {type(self).__name__} does not report its runs")

    @abstractmethod
    def list_devices(self) -> list[DeviceAttributes]:
        """Return the attributes of the session's devices."""

    @abstractmethod
    def memory_stats(self) -> dict[str, Any]:
        """Return a dict from full device names to AllocatorStats."""

    def release_memory(self) -> int:
        """Free the memory that is kept for later runs, and return the number of freed bytes. The
        method of this base class frees nothing.
        """
        return 0

    def plan_rows(self) -> list[tuple[str, str, int]]:
        """For each plan that this process has compiled, return its fetches, the shapes of its
        feeds, and its number of runs.
        """
        return []

    @abstractmethod
    def reset(self, containers: Sequence[str]) -> None:
        """Clear these resource containers. If the list is empty, clear all containers."""

    @abstractmethod
    def close(self) -> None:
        """Release everything. Every later call raises CancelledError."""
