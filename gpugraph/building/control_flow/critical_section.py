"""`tf.CriticalSection`, whose functions run one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpugraph.base.dtypes import resource
from gpugraph.base.nest import flatten, map_structure, pack_sequence_as
from gpugraph.graph.client.default_graph_functions import control_dependencies, get_default_graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import group, tuple as joined
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_SECTIONS, _EXECUTIONS = "critical_sections", "critical_section_executions"


class _Execution(NamedTuple):
    """A section of a graph: the MutexLock with which it begins, the handle of its mutex, and the
    resources that it uses.
    """

    op: Operation
    handle: Tensor
    resources: Sequence[Tensor]
    exclusive_resource_access: bool


class CriticalSection:
    """A mutex for functions that change variables or other resources.

    The operations of a function that `execute` adds run while those of no other execution of the
    same CriticalSection run, in the same run or in other runs of a session.

    Raises ValueError if `critical_section_def` is passed together with `shared_name`, and
    NotImplementedError if it is passed alone, as in TensorFlow.

    Args:
      shared_name: the name under which a session keeps the mutex. By default, it is the name of the
        op.

    >>> section = tf.CriticalSection()
    >>> v = tf.get_variable("v", initializer=0.0, use_resource=True)
    >>> added = section.execute(lambda: v.assign_add(1.0))
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def and shared_name is not None:
            raise ValueError("critical_section_def and shared_name are mutually exclusive.")
        if critical_section_def:
            raise NotImplementedError("Not yet implemented")
        with op_scope(name, "CriticalSection") as scope:
            shared = scope if shared_name is None else shared_name
            self._handle = raw_ops.MutexV2(shared_name=shared, container="", name=scope)
        get_default_graph().add_to_collection(_SECTIONS, self)

    @property
    def name(self) -> str:
        """The name of the mutex's op."""
        return self._handle.op.name

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """Return the results of `fn()`, whose operations run as a section.

        Raises ValueError if `fn` uses this CriticalSection itself, or if another CriticalSection
        uses one of its resources, unless `exclusive_resource_access` is false for both.

        Args:
          fn: a function without arguments. It returns a structure of tensors or variables.
        """
        graph = get_default_graph()
        with op_scope(name, "critical_section_execute"):
            lock = raw_ops.MutexLock(self._handle)
            first = len(graph.get_operations())
            with control_dependencies([lock]):
                results = fn()
            created = graph.get_operations()[first:]
            self._take(lock.op, created, exclusive_resource_access)
            flat = [convert_to_tensor(result) for result in flatten(results)]
            with control_dependencies([raw_ops.Identity(tensor) for tensor in flat]):
                end = raw_ops.ConsumeMutexLock(lock)
            whole = pack_sequence_as(results, joined(flat)) if flat else results
            with control_dependencies([end]):
                return map_structure(raw_ops.Identity, whole)

    def _take(self, lock: Operation, created: Sequence[Operation], is_exclusive: bool) -> None:
        """Record the execution, and let it begin when its inputs are computed."""
        inside = {id(op) for op in created}
        inputs = {id(tensor): tensor for op in created for tensor in op.inputs}
        outer = [t for t in inputs.values() if id(t.op) not in inside and t.op is not lock]
        if any(tensor is self._handle for tensor in outer):
            raise ValueError(
                "The function fn attempts to directly access the CriticalSection in which it would "
                "be running.  This is illegal and would cause deadlocks."
            )
        resources = [tensor for tensor in outer if tensor.dtype.base_dtype is resource]
        execution = _Execution(lock, self._handle, resources, is_exclusive)
        self._check_access(execution)
        if outer:
            lock._add_control_inputs([group(*[tensor.op for tensor in outer])])
        lock.graph.add_to_collection(_EXECUTIONS, execution)

    def _check_access(self, execution: _Execution) -> None:
        """Raise ValueError if another CriticalSection uses one of the resources exclusively."""
        for other in execution.op.graph.get_collection(_EXECUTIONS):
            is_exclusive = execution.exclusive_resource_access or other.exclusive_resource_access
            if other.handle is self._handle or not is_exclusive:
                continue
            shared = [tensor for tensor in execution.resources if tensor in set(other.resources)]
            if shared:
                raise ValueError(
                    f"This execution would access resources: {shared}.  Either this lock "
                    f"(CriticalSection: {self._handle}) or lock '{other}' (CriticalSection: "
                    f"{other.handle}) requested exclusive resource access of this resource. Did "
                    "you mean to call execute with keyword argument "
                    "exclusive_resource_access=False?"
                )
