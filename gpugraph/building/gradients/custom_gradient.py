"""`tf.custom_gradient`: a function of tensors that defines its gradient.

The function's results and arguments pass through one IdentityN. Backpropagation calls the
function's `grad_fn` at that op, and does not visit the ops of the function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import count
from typing import Any

from gpugraph.base.dtypes import resource
from gpugraph.base.nest import flatten, pack_sequence_as
from gpugraph.building.control_flow.cond_context import CondContext
from gpugraph.building.gradients.gradient_registry import CUSTOM
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.identity_n import identity_n
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_NUMBER = count()


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function of tensors that returns a pair: its result and its gradient function.

    `f(*args)` receives tensors. The result of `f` is a tensor or a structure of tensors. The
    gradient function, `grad_fn`, is called with the gradient at each tensor of the result, and
    returns the gradient at each of `args`.

    If `f` reads trainable variables, `grad_fn` is also called with `variables=`, a list of these
    variables. In this case, `grad_fn` returns (gradients at `args`, a list of gradients at the
    variables).

    Raises ValueError if there are keyword arguments or the number of gradients is wrong. Raises
    TypeError if `f` does not return such a pair, if it creates variables that are not resource
    variables, or if it reads variables but `grad_fn` does not accept them.

    >>> double = tf.custom_gradient(lambda x: (x, lambda dy: 2 * dy))
    >>> x = tf.constant(1.0)
    >>> session.run(tf.gradients(double(x), x))
    [np.float32(2.0)]
    """
    if not callable(f):
        raise TypeError(f"custom_gradient takes a function, not {f!r}")

    @wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError(
                f"The custom_gradient function '{_name(f)}' got the keyword arguments "
                f"{sorted(kwargs)}, but it can take positional ones only"
            )
        return _Call(f, args).result

    return decorated


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", function))


class _Call:
    """One call of a function with a custom gradient."""

    def __init__(self, f: Callable[..., Any], args: Sequence[Any]) -> None:
        self.name = _name(f)
        self.args = [convert_to_tensor(arg) for arg in args]
        graph: Graph = self.args[0].graph if self.args else get_default_graph()
        version = graph.version
        before = set(map(id, _variables(graph)))
        returned = f(*self.args)
        _check_resource_variables([v for v in _variables(graph) if id(v) not in before], self.name)
        if not isinstance(returned, (tuple, list)) or len(returned) != 2:
            raise TypeError(
                f"The custom_gradient function '{self.name}' must return (result, grad_fn), but "
                f"it returned {returned!r}"
            )
        result, self.grad_fn = returned
        if not callable(self.grad_fn):
            raise TypeError(f"The grad_fn of '{self.name}' is not callable: {self.grad_fn!r}")
        tensors = [convert_to_tensor(value) for value in flatten(result)]
        ops = _behind(tensors, set(graph._ops[version:]))
        self.variables = _read_variables(graph, ops, self.args)
        self._check_variables()
        self.count = len(tensors)
        reads = [convert_to_tensor(variable) for variable in self.variables]
        passed = identity_n([*tensors, *self.args, *reads])
        self._take_over(passed[0].op)
        self.result = pack_sequence_as(result, passed[: self.count])

    def _take_over(self, op: Operation) -> None:
        op._attrs = {**op._attrs, "_gradient_op_type": f"CustomGradient-{next(_NUMBER)}"}
        setattr(op, CUSTOM, self._gradients)

    def _check_variables(self) -> None:
        if not self.variables:
            return
        parameters = inspect.signature(self.grad_fn).parameters.values()
        if not any(
            parameter.name == "variables" or parameter.kind is parameter.VAR_KEYWORD
            for parameter in parameters
        ):
            names = ", ".join(variable.name for variable in self.variables)
            raise TypeError(
                f"If using @custom_gradient with a function that uses variables, then grad_fn must "
                f"accept a keyword argument 'variables': '{self.name}' reads {names}"
            )

    def _gradients(self, op: Operation, *grads: Tensor) -> list[Any]:
        """Return the gradients at the inputs of the IdentityN, which `grad_fn` computes.

        The first inputs are the function's results, whose gradients are None. The gradients at the
        function's arguments follow, then the gradients at the variables that the function reads.
        """
        keywords = {"variables": self.variables} if self.variables else {}
        results = self.grad_fn(*grads[: self.count], **keywords)
        of_variables: list[Any] = []
        if self.variables:
            results, of_variables = _pair(results, self.name)
        of_args = flatten(results)
        if len(of_args) != len(self.args):
            raise ValueError(
                f"The grad_fn of '{self.name}' (for '{op.name}', made at {op.origin}) gave "
                f"{len(of_args)} gradients for {len(self.args)} arguments"
            )
        if len(of_variables) != len(self.variables):
            raise ValueError(
                f"The grad_fn of '{self.name}' must give a gradient for each of the "
                f"{len(self.variables)} variables, but it gave {len(of_variables)}"
            )
        return [None] * self.count + of_args + _in_branch(op, of_variables)


def _in_branch(op: Operation, of_variables: Sequence[Any]) -> list[Any]:
    """Return the gradients at variables as tensors that are dead unless the branch of `op` is
    taken.

    `grad_fn` may compute the gradients from tensors outside of the branch, which are always alive.
    If `op` is not in a branch, return the gradients unchanged.
    """
    context = op._control_flow_context
    if not isinstance(context, CondContext):
        return list(of_variables)
    return [
        None if grad is None else context.merge_gradient(op, grad)[context.branch]
        for grad in of_variables
    ]


def _pair(results: Any, name: str) -> tuple[Any, list[Any]]:
    if not isinstance(results, (tuple, list)) or len(results) != 2:
        raise TypeError(
            f"The grad_fn of '{name}' must return (gradients, gradients at the variables), but it "
            f"returned {results!r}"
        )
    return results[0], flatten(results[1])


def _behind(tensors: Sequence[Tensor], among: set[Operation]) -> list[Operation]:
    """Return the operations in `among` on which the tensors depend.

    During a call, other threads, such as the threads of other replicas, may add operations to the
    graph.
    """
    waiting = [tensor.op for tensor in tensors if tensor.op in among]
    found = dict.fromkeys(waiting)
    while waiting:
        op = waiting.pop()
        for source in (*(tensor.op for tensor in op._inputs), *op._control_inputs):
            if source in among and source not in found:
                found[source] = None
                waiting.append(source)
    return list(found)


def _read_variables(graph: Graph, ops: Sequence[Operation], args: Sequence[Tensor]) -> list[Any]:
    """Return the trainable variables that `ops` read, except those passed as `args`."""
    known = {arg.op for arg in args}
    read = {
        source
        for op in ops
        for tensor in op._inputs
        if tensor.op not in known and (source := _variable_behind(tensor.op)) is not None
    }
    trainable = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES) if read else []
    return [variable for variable in trainable if variable.op in read]


def values_in_loop(ops: Sequence[Operation], variable: Any) -> list[Tensor]:
    """Return the tensors through which `ops`, the operations of one loop, read the value of a
    variable outside of the loop.
    """
    inputs = dict.fromkeys(tensor for op in ops for tensor in op._inputs)
    return [
        tensor
        for tensor in inputs
        if tensor.op.type in ("ReadVariableOp", "Enter")
        and tensor.dtype is not resource
        and _variable_behind(tensor.op) is variable.op
    ]


def _variables(graph: Graph) -> list[Any]:
    """Return the global and local variables of the graph."""
    names = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
    return [variable for name in names for variable in graph.get_collection(name)]


def _check_resource_variables(created: Sequence[Any], name: str) -> None:
    for variable in created:
        if variable.op.type != "VarHandleOp":
            raise TypeError(
                "All variables used by a function wrapped with @custom_gradient must be "
                f"`ResourceVariable`s: '{name}' creates '{variable.name}', which is none. Ensure "
                "that no `variable_scope` is created with `use_resource=False`."
            )


_MOVES = frozenset(
    ("Identity", "RefIdentity", "Enter", "RefEnter", "Switch", "RefSwitch", "ReadVariableOp")
)


def _variable_behind(op: Operation) -> Operation | None:
    """Return the op of the variable that `op` creates or reads, or None.

    Identities, Switches and Enters between the variable and `op` are skipped.
    """
    while op.type in _MOVES:
        op = op._inputs[0].op
    return op if op.type in ("VariableV2", "VarHandleOp") else None
