"""`call_for_each_replica`: calls a function once for each replica, in separate threads that run one
at a time.

The threads run in the order of the replicas. Each thread runs until it calls `merge_call` or ends.
When all threads have called `merge_call`, the caller's thread runs the function that the replicas
passed to `merge_call`, and the threads continue with its result. So ops are always built in the
same order. A thread starts in the caller's scopes: names, devices, control dependencies, variable
scope.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from gpugraph.building.replication.replica_context import ReplicaContext
from gpugraph.building.replication.replica_contexts import ContextEntry, entered
from gpugraph.building.replication.replicated_values import PerReplica, regroup, select_replica
from gpugraph.building.variable_scope import get_variable_scope, variable_scope
from gpugraph.building.variables.variable_creators import variable_creator_scope
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.default_stacks import session_stack


class _AbandonedError(BaseException):
    """The exception that ends the thread of a replica after another replica has failed."""


class _Merge:
    """A replica's call of `merge_call`: the function, the arguments, and the scopes that are active
    at the call.
    """

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        graph = get_default_graph()
        self.function, self.args, self.kwargs = function, args, kwargs
        self.name_scope = graph.get_name_scope()
        self.variable_scope = get_variable_scope()
        self.controls = graph._scope.controls


class _Replica(ReplicaContext):
    """One replica during one call of `call_for_each_replica`, and its thread."""

    def __init__(self, strategy: Any, number: int, device_name: str) -> None:
        super().__init__(strategy, number)
        self._device_name = device_name
        self._may_run, self._has_paused = threading.Event(), threading.Event()
        self._is_abandoned = False
        self._merged: Any = None
        self.merge: _Merge | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_done = False

    def start(self, main: _MainScopes, function: Callable[[], Any], creator: Any) -> None:
        """Start the thread. The thread waits for the first call of `run`."""

        def call() -> None:
            try:
                self._wait()
                with main.entered(self, self._device_name, creator):
                    self.result = function()
            except _AbandonedError:
                pass
            except BaseException as error:
                self.error = error
            finally:
                self.is_done = True
                self._has_paused.set()

        name = f"replica {self._replica_id}"
        self._thread = threading.Thread(target=call, name=name, daemon=True)
        self._thread.start()

    def run(self, merged: Any = None) -> None:
        """Resume the thread, and wait until it pauses or ends. If the thread raised an error, raise
        the error in the calling thread.

        Args:
          merged: the return value of the replica's `merge_call`.
        """
        self._merged, self.merge = merged, None
        self._has_paused.clear()
        self._may_run.set()
        self._has_paused.wait()
        if self.error is not None:
            raise self.error

    def abandon(self) -> None:
        """End the thread, if it is still alive, and wait until it has ended."""
        self._is_abandoned = True
        self._may_run.set()
        self._thread.join()

    def _wait(self) -> None:
        self._may_run.wait()
        self._may_run.clear()
        if self._is_abandoned:
            raise _AbandonedError

    def _merge_call(self, merge_fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.merge = _Merge(merge_fn, args, kwargs)
        self._has_paused.set()
        self._wait()
        return self._merged


class _MainScopes:
    """The graph scopes of the caller's thread, which the replicas' threads enter too."""

    def __init__(self) -> None:
        graph = self.graph = get_default_graph()
        state = graph._scope
        self._state = {name: getattr(state, name) for name in state.__slots__}
        self._variable_scope = get_variable_scope()
        self._sessions = list(session_stack.stack)

    def entered(self, replica: _Replica, device_name: str, creator: Any) -> ExitStack:
        """Enter the caller's scopes and the scopes of the replica, in the replica's thread."""
        number, graph = replica._replica_id, self.graph
        session_stack.stack.extend(self._sessions)
        for name, value in self._state.items():
            setattr(graph._scope, name, value)
        stack = ExitStack()
        stack.enter_context(graph.as_default())
        stack.enter_context(replica)
        stack.enter_context(graph.device(device_name))
        scope = self._state["name"]
        prefix = f"{scope}/" if scope else ""
        stack.enter_context(graph.name_scope(f"{prefix}replica_{number}/" if number else prefix))
        reuse = True if number else None
        stack.enter_context(variable_scope(self._variable_scope, reuse=reuse))
        stack.enter_context(variable_creator_scope(creator))
        return stack


def call_for_each_replica(
    strategy: Any, devices: Sequence[str], fn: Any, args: Any, kwargs: Any
) -> Any:
    """Call `fn` once for each replica, on the replica's device. Return the results as a structure
    of per-replica values.
    """
    main, created = _MainScopes(), _CreatedVariables()
    replicas = [_Replica(strategy, number, name) for number, name in enumerate(devices)]
    for number, replica in enumerate(replicas):
        own_args, own_kwargs = select_replica(number, args), select_replica(number, kwargs)
        replica.start(main, _bound(fn, own_args, own_kwargs), created.creator(number))
    try:
        merged: list[Any] = [None] * len(replicas)
        while True:
            for replica, result in zip(replicas, merged):
                replica.run(result)
            if all(replica.is_done for replica in replicas):
                return regroup([replica.result for replica in replicas], PerReplica, devices)
            if any(replica.is_done for replica in replicas):
                raise RuntimeError("Some replicas made a different number of replica_context()."
                                   "merge_call() calls.")  # fmt: skip
            merged = _merge(strategy, devices, [replica.merge for replica in replicas])
    finally:
        for replica in replicas:
            replica.abandon()  # at once: each thread has ended, or waits for its turn


def _bound(fn: Any, args: Any, kwargs: Any) -> Callable[[], Any]:
    return lambda: fn(*args, **kwargs)


def _merge(strategy: Any, devices: Sequence[str], merges: Sequence[Any]) -> list[Any]:
    """Run the merged function. Return a list of results, one for each replica."""
    first = merges[0]
    args = regroup([merge.args for merge in merges], devices=devices)
    kwargs = regroup([merge.kwargs for merge in merges], devices=devices)
    graph = get_default_graph()
    controls = [op for merge in merges for block in merge.controls for op in block.inputs]
    with (
        entered(ContextEntry(strategy, None)),
        graph.name_scope(f"{first.name_scope}/" if first.name_scope else None),
        variable_scope(first.variable_scope, auxiliary_name_scope=False),
        graph.control_dependencies(list(dict.fromkeys(controls))),
    ):
        result = first.function(strategy, *args, **kwargs)
    return [select_replica(number, result) for number in range(len(merges))]


class _CreatedVariables:
    """The variables that the first replica has created, by name. All other replicas get the
    variables from this object.
    """

    def __init__(self) -> None:
        self._variables: dict[str, list[Any]] = {}

    def creator(self, number: int) -> Callable[..., Any]:
        """Return the variable creator for replica `number`."""
        if number == 0:
            return self._create
        seen: dict[str, int] = {}

        def reuse(next_creator: Any, **arguments: Any) -> Any:
            del next_creator
            name = _canonical_name(arguments.get("name"))
            index = seen.get(name, 0)
            seen[name] = index + 1
            try:
                return self._variables[name][index]
            except (KeyError, IndexError):
                raise RuntimeError(
                    f"Tried to create variable {arguments.get('name')} with mismatching name on "
                    f"device {number}"
                ) from None

        return reuse

    def _create(self, next_creator: Any, **arguments: Any) -> Any:
        variable = next_creator(**arguments)
        self._variables.setdefault(_canonical_name(arguments.get("name")), []).append(variable)
        return variable


def _canonical_name(name: str | None) -> str:
    """Return a variable's name without the numeric suffix that makes it unique."""
    parts = (name or "Variable").split("/")
    stems = [part.rpartition("_") for part in parts]
    return "/".join(stem if stem and number.isdigit() else part
                    for part, (stem, _, number) in zip(parts, stems))  # fmt: skip
