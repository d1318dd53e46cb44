"""The declaration of an op: its signature, shape inference, kernels and gradient, in a single
place.

    relu = op("Relu", inputs="features: T", outputs="activations: T", attrs={"T": REAL},
              infer=same_shape(0), memory=OpMemory(alias={0: 0}), cpu=Call(relu_host),
              elementwise="x > 0 ? x : (T)0", grad=lambda op, dy: ..., doc="max(features, 0)")

`op` rejects an incomplete declaration. Each op must have shape inference, a CPU kernel, a GPU
kernel or the reason why there is none, and a gradient or `NO_GRADIENT`. `op` returns the function
that adds operations of this type to a graph. A gradient calls other ops by op type through
`raw_ops`, so that op families need not import each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType, as_dtype, bfloat16, string
from gpugraph.base.errors import AlreadyExistsError, InvalidArgumentError, invalid_argument
from gpugraph.graph.inference_context import InferFunction
from gpugraph.graph.op_def import ArgDef, AttrDef, OpDef
from gpugraph.graph.op_library import OP_DEFS, OPERATORS, OpTable
from gpugraph.kernel import (
    SEPARATE,
    Call,
    Elementwise,
    Kernel,
    Native,
    OpMemory,
    Reduction,
    Sized,
    Source,
    with_reference,
)
from gpugraph.ops.framework.changed_arguments.deprecations import DEPRECATIONS
from gpugraph.ops.framework.kernel_registry import HostOnly, add_kernel
from gpugraph.ops.framework.left_out_op_types import left_out_reason
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import RANKS, with_ranks
from gpugraph.ops.op_index import MODULE_OF, load, load_all

GradientFunction = Callable[..., Any]


class _NoGradient:
    """The type of `NO_GRADIENT`, which declares that an op has no gradient."""

    def __repr__(self) -> str:
        return "NO_GRADIENT"


NO_GRADIENT = _NoGradient()


class Attr(NamedTuple):
    """The declaration of an attr: its kind (`"int"`, `"bool"`, `"shape"`, ...) and its default.

    Args:
      minimum: the minimum value of an int, or the minimum length of a list. For `N` in `N * T`, it
        is 1 by default.
      allowed: the allowed dtypes for the kind "type", or the allowed texts for the kind "string".
      default: for a type attr, the dtype to which a Python value is converted if it fits.
    """

    kind: str
    default: Any = None
    required: bool = False
    minimum: int | None = None
    allowed: tuple[DType, ...] | tuple[str, ...] = ()


class OpDecl(NamedTuple):
    """The declaration of an op type, without its kernels (see `kernel_registry`).

    Args:
      native: the source of the op's native code, in addition to its elementwise or reduction
        expression.
      reaches_out: whether the op writes files or calls Python functions of the program. Loaders of
        files run no such op unless explicitly permitted.
      harmless_without: the index of a string input. If this input is empty, the op writes no files
        and calls no Python functions.
    """

    op_def: OpDef
    function: OpFunction
    grad: GradientFunction | _NoGradient
    memory: OpMemory = SEPARATE
    native: Native | None = None
    reaches_out: bool = False
    harmless_without: int | None = None


DECLARATIONS: OpTable[OpDecl] = OpTable()
"""Every declared op type."""

for _table in (DECLARATIONS, OP_DEFS, OPERATORS):
    _table.loaded_by(load, load_all)


def op(
    name: str,
    *,
    inputs: str | Sequence[str] = (),
    outputs: str | Sequence[str] = (),
    attrs: Mapping[str, Any] | None = None,
    infer: InferFunction,
    cpu: Call | HostOnly,
    grad: GradientFunction | _NoGradient,
    elementwise: str | None = None,
    gpu: Kernel | HostOnly | None = None,
    native: Native | None = None,
    memory: OpMemory = SEPARATE,
    stateful: bool = False,
    commutative: bool = False,
    reaches_out: bool = False,
    harmless_without: int | None = None,
    doc: str = "",
) -> OpFunction:
    """Declare an op type and return the function that adds such operations to graphs.

    `inputs` and `outputs` are "name: type", where the type is a dtype's name, a type attr, `N*T` (N
    tensors of one type), a list(type) attr, or `Ref(T)`. An input that must be of rank 0, 1 or 2 is
    declared as "scalar T", "vector T" or "matrix T". Inference and kernels then receive only inputs
    of this rank. `attrs` maps a type attr to its allowed dtypes, and any other attr to an `Attr`.

    Raises InvalidArgumentError for an incomplete or contradictory declaration, and
    AlreadyExistsError for an op type that is already declared.
    """
    if name in DECLARATIONS or (name in OP_DEFS and name != "Const"):
        raise AlreadyExistsError(None, None, f"The op type '{name}' is already declared")
    attr_defs = _attr_defs(attrs or {})
    input_args = tuple(_arg(spec, attr_defs, name) for spec in _split_specs(inputs))
    op_def = OpDef(
        name,
        input_args,
        tuple(_arg(spec, attr_defs, name) for spec in _split_specs(outputs)),
        attr_defs,
        with_ranks(infer, input_args) if callable(infer) else infer,
        stateful,
        commutative,
        memory.allows_uninitialized,
        frozenset(memory.host_inputs),
        frozenset(memory.host_outputs),
        doc,
        DEPRECATIONS.get(name),
    )
    if name == "Const":
        op_def = OP_DEFS["Const"]
    device_kernel = _device_kernel(name, cpu, elementwise, gpu)
    _check(op_def, grad, doc)
    _check_memory(op_def, memory)
    function = OpFunction(op_def)
    decl = OpDecl(op_def, function, grad, memory, native, reaches_out, harmless_without)
    OP_DEFS[name] = op_def
    DECLARATIONS[name] = decl
    for device, kernel in (("CPU", cpu), ("GPU", device_kernel)):
        kernel = _for_bfloat16(kernel, op_def, tuple(memory.writes))
        add_kernel(name, device, kernel, is_ours=name in MODULE_OF)
    return function


def register_op(
    name: str,
    *,
    inputs: str | Sequence[str] = (),
    outputs: str | Sequence[str] = (),
    attrs: Mapping[str, Any] | None = None,
    infer: InferFunction,
    cpu: Call | HostOnly,
    grad: GradientFunction | _NoGradient,
    elementwise: str | None = None,
    gpu: Kernel | HostOnly | None = None,
    native: Native | None = None,
    alias: Mapping[int, int] | None = None,
    view: Mapping[int, int] | None = None,
    writes: Sequence[int] = (),
    host: Sequence[int] = (),
    host_outputs: Sequence[int] = (),
    stateful: bool = False,
    commutative: bool = False,
    uninitialized: bool = False,
    writes_last: bool = False,
    reaches_out: bool = False,
    harmless_without: int | None = None,
    doc: str = "",
) -> OpFunction:
    """Declare an op type and return the function that adds operations of this type to graphs.

    Programs use this function. The package's own ops use `op`, which has a single argument `memory`
    instead of the fields of `OpMemory`. Here `host` means `host_inputs`, and `uninitialized` means
    `allows_uninitialized`.
    """
    memory = OpMemory(
        alias=alias or {},
        view=view or {},
        writes=writes,
        host_inputs=host,
        host_outputs=host_outputs,
        allows_uninitialized=uninitialized,
        writes_last=writes_last,
    )
    return op(
        name, inputs=inputs, outputs=outputs, attrs=attrs, infer=infer, cpu=cpu, grad=grad,
        elementwise=elementwise, gpu=gpu, native=native, memory=memory, stateful=stateful,
        commutative=commutative, reaches_out=reaches_out, harmless_without=harmless_without,
        doc=doc,
    )  # fmt: skip


def _device_kernel(
    name: str, cpu: Call | HostOnly, elementwise: str | None, gpu: Kernel | HostOnly | None
) -> Kernel | HostOnly:
    if not isinstance(cpu, (Call, HostOnly)):
        raise _refusal(name, f"its CPU kernel is not a Call, but {cpu!r}")
    if elementwise is not None:
        if gpu is not None or not isinstance(cpu, Call):
            raise _refusal(
                name, "an elementwise expression goes with a CPU Call and no other kernel"
            )
        return Elementwise(elementwise, cpu)
    if gpu is None:
        raise _refusal(name, "it has no GPU kernel: give one, or HostOnly(reason)")
    if not isinstance(gpu, (Call, Elementwise, Reduction, Source, Sized, HostOnly)):
        raise _refusal(name, f"its GPU kernel is not a kernel, but {gpu!r}")
    return gpu


def _for_bfloat16(
    kernel: Kernel | HostOnly, op_def: OpDef, writes: tuple[int, ...]
) -> Kernel | HostOnly:
    """Return a copy of the kernel in which `writes`, the indices of the inputs that the kernel
    writes, and `direct` are set.

    A `direct` kernel receives bfloat16 arrays. All other kernels receive float32 arrays instead. If
    an op also accepts strings, its kernel is direct, because it only copies values.
    """
    if isinstance(kernel, HostOnly):
        return kernel
    types = [attr for attr in op_def.attrs.values() if attr.kind in ("type", "list(type)")]
    narrow = [attr for attr in types if not attr.allowed or bfloat16 in attr.allowed]
    only_copies = all(not attr.allowed or string in attr.allowed for attr in narrow)

    def change(call: Call) -> Call:
        return call._replace(direct=call.direct or only_copies, writes=writes)

    return with_reference(kernel, change)


def _refusal(name: str, why: str) -> InvalidArgumentError:
    return invalid_argument(f"'{name}' is declared wrongly: {why}")


def _check(op_def: OpDef, grad: Any, doc: str) -> None:
    if not callable(op_def.infer):
        raise _refusal(op_def.name, "it has no shape inference")
    if not (callable(grad) or isinstance(grad, _NoGradient)):
        raise _refusal(op_def.name, "it has no gradient; declare NO_GRADIENT if there is none")
    if not doc.strip():
        raise _refusal(op_def.name, "it has no doc")
    names = [*(arg.name for arg in op_def.inputs), *op_def.attrs]
    for name in names:
        if names.count(name) > 1:
            raise _refusal(op_def.name, f"'{name}' names two of its inputs and attrs")


def _check_memory(op_def: OpDef, memory: OpMemory) -> None:
    """Raise InvalidArgumentError if `memory` contains an index that no input or output has."""
    inputs, outputs = range(len(op_def.inputs)), range(len(op_def.outputs))
    for index in (*memory.host_inputs, *memory.writes):
        if index not in inputs:
            raise _refusal(op_def.name, f"there is no input {index}")
    for index in memory.host_outputs:
        if index not in outputs:
            raise _refusal(op_def.name, f"there is no output {index}")
    for output, source in [*memory.alias.items(), *memory.view.items()]:
        if output not in outputs or source not in inputs:
            why = f"output {output} can't share memory with input {source}: there is none"
            raise _refusal(op_def.name, why)
    for index in memory.writes:
        if not op_def.inputs[index].is_ref:
            raise _refusal(op_def.name, f"it writes input {index}, which is not a Ref")


def _split_specs(specs: str | Sequence[str]) -> list[str]:
    parts = specs.split(",") if isinstance(specs, str) else list(specs)
    return [part.strip() for part in parts if part.strip()]


def _attr_defs(attrs: Mapping[str, Any]) -> dict[str, AttrDef]:
    defs = {}
    for key, spec in attrs.items():
        if isinstance(spec, Attr):
            defs[key] = AttrDef(
                key, spec.kind, spec.default, not spec.required, spec.allowed, spec.minimum
            )
        elif isinstance(spec, DType):
            defs[key] = AttrDef(key, "type", spec, True)
        else:
            defs[key] = AttrDef(key, "type", allowed=tuple(spec))
    return defs


_SPEC = re.compile(rf"^(\w+)\s*:\s*(?:({'|'.join(RANKS)})\s+)?(?:(\w+)\s*\*\s*)?(Ref\()?(\w+)\)?$")


def _arg(spec: str, attrs: dict[str, AttrDef], op_name: str) -> ArgDef:
    match = _SPEC.match(spec)
    if match is None:
        raise _refusal(op_name, f"'{spec}' is no 'name: type'")
    name, rank_name, number, ref, type_name = match.groups()
    rank = RANKS[rank_name] if rank_name else None
    if number:
        minimum = 1 if type_name in attrs else None
        attrs.setdefault(number, AttrDef(number, "int", minimum=minimum))
    if type_name in attrs:
        if attrs[type_name].kind == "list(type)":
            return ArgDef(name, type_list_attr=type_name)
        return ArgDef(name, None, type_name, number or "", is_ref=bool(ref), rank=rank)
    try:
        dtype = as_dtype(type_name)
    except TypeError as error:
        raise _refusal(op_name, f"'{type_name}' in '{spec}' is no attr and no dtype") from error
    return ArgDef(name, dtype, "", number or "", is_ref=bool(ref), rank=rank)


class _RawOps:
    """A namespace of every declared op by its op type: `raw_ops.MatMul(a=..., b=...)`."""

    def __getattr__(self, op_type: str) -> OpFunction:
        declared = DECLARATIONS.get(op_type)
        if declared is not None:
            return declared.function
        reason = left_out_reason(op_type)
        raise AttributeError(f"No op type '{op_type}' is declared{reason and f': {reason}'}")

    def __dir__(self) -> list[str]:
        return sorted(DECLARATIONS)


raw_ops = _RawOps()
