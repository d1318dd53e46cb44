"""Settings of sessions, devices and runs, named and shaped like TensorFlow 1.15's.

Policy: plain Python objects that behave like its protocol messages as far as programs notice.
Every field is declared with a type and has a default; a nested message exists as soon as it is
looked at, so `config.gpu_options.allow_growth = True` works on a fresh ConfigProto; what is
assigned is checked at once and copied. A name or a type that does not fit is an error that says
what would. Only fields that gpugraph understands are declared.

Beyond TensorFlow there is `GPUOptions.virtual_gpus`: devices of type GPU whose memory lives on
the host, to rehearse placements and memory limits without a GPU.
"""

from __future__ import annotations

import copy
import numbers
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar, overload

__all__ = [
    "ConfigProto",
    "GPUOptions",
    "GraphOptions",
    "Message",
    "OptimizerOptions",
    "RunMetadata",
    "RunOptions",
    "SessionOptions",
]

T = TypeVar("T")
M = TypeVar("M", bound="Message")
Convert = Callable[[str, Any], T]

_VIRTUAL_GPU_MEBIBYTES = 256


class Field(Generic[T]):
    """A declared field of a Message: a default, and a check that converts what is assigned."""

    def __init__(self, default: Callable[[], T], convert: Convert[T]) -> None:
        self.default = default
        self._convert = convert

    def __set_name__(self, owner: type[Message], name: str) -> None:
        self.name = name
        self._where = f"{owner.__name__}.{name}"

    @overload
    def __get__(self, instance: None, owner: type[Message]) -> Field[T]: ...

    @overload
    def __get__(self, instance: Message, owner: type[Message]) -> T: ...

    def __get__(self, instance: Message | None, owner: type[Message]) -> Field[T] | T:
        if instance is None:
            return self
        values = instance.__dict__
        if self.name not in values:
            values[self.name] = self.default()
        value: T = values[self.name]
        return value

    def __set__(self, instance: Message, value: Any) -> None:
        instance.__dict__[self.name] = self._convert(self._where, value)


class Message:
    """Base of the settings: declared fields, given by keyword or assigned.

    Two messages are equal if they are of one class and all fields are. None as a keyword's
    value means the default; a dict can stand for a nested message.

    Raises:
      ValueError: a field that does not exist, or a value out of its range.
      TypeError: a value of the wrong type.
    """

    _fields: ClassVar[dict[str, Field[Any]]] = {}

    def __init_subclass__(cls) -> None:
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        cls._fields = {**cls._fields, **declared}

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            if value is None:
                self._check(name)
            else:
                setattr(self, name, value)

    def _check(self, name: str) -> None:
        if name not in self._fields:
            raise ValueError(
                f'{type(self).__name__} has no field "{name}"; its fields are: '
                + ", ".join(sorted(self._fields))
            )

    def __setattr__(self, name: str, value: Any) -> None:
        self._check(name)
        object.__setattr__(self, name, value)

    def CopyFrom(self, other: Message) -> None:
        """Take over all fields of `other`; TypeError unless it is of the same class."""
        if type(other) is not type(self):
            raise TypeError(f"{type(self).__name__}.CopyFrom got {type(other).__name__}")
        values = copy.deepcopy(other.__dict__)
        self.__dict__.clear()
        self.__dict__.update(values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, declared in self._fields.items()
            if getattr(self, name) != declared.default()
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _wrong(where: str, expected: str, value: object) -> TypeError:
    return TypeError(f"{where} must be {expected}, got {value!r} of type {type(value).__name__}")


def _to_bool(where: str, value: Any) -> bool:
    try:
        return bool(operator.index(value))
    except TypeError:
        raise _wrong(where, "a bool", value) from None


def _to_int(where: str, value: Any) -> int:
    if isinstance(value, bool):
        raise _wrong(where, "an int", value)
    try:
        return int(operator.index(value))
    except TypeError:
        raise _wrong(where, "an int", value) from None


def _to_float(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise _wrong(where, "a number", value)
    return float(value)


def _to_str(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(where, "a string", value)
    return value


def _to_virtual_gpus(where: str, value: Any) -> list[int]:
    counted = not isinstance(value, Iterable)
    items = [value] if counted else list(value)
    for item in items:
        if isinstance(item, (bool, str)) or not hasattr(item, "__index__") or item < 0:
            raise ValueError(
                f"{where} must be the number of virtual GPUs, or a list with the memory limit of "
                f"each in MiB, none of them negative; got {value!r}"
            )
    return [_VIRTUAL_GPU_MEBIBYTES] * int(items[0]) if counted else [int(item) for item in items]


def _boolean() -> Field[bool]:
    return Field(bool, _to_bool)


def _integer() -> Field[int]:
    return Field(int, _to_int)


def _number() -> Field[float]:
    return Field(float, _to_float)


def _text() -> Field[str]:
    return Field(str, _to_str)


def _anything() -> Field[Any]:
    return Field(lambda: None, lambda where, value: value)


def _choice(**numbers_by_name: int) -> Field[int]:
    """An enumeration, assigned by number or name; the first is the default."""

    def convert(where: str, value: Any) -> int:
        number = numbers_by_name.get(value) if isinstance(value, str) else _to_int(where, value)
        if number is None or number not in numbers_by_name.values():
            choices = ", ".join(f"{name} ({n})" for name, n in numbers_by_name.items())
            raise ValueError(f"{where} must be one of {choices}; got {value!r}")
        return number

    return Field(lambda: next(iter(numbers_by_name.values())), convert)


def _list_of(convert: Convert[T]) -> Field[list[T]]:
    def convert_all(where: str, value: Any) -> list[T]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise _wrong(where, "a list", value)
        return [convert(f"{where}[{i}]", item) for i, item in enumerate(value)]

    return Field(list, convert_all)


def _map_of(convert: Convert[T]) -> Field[dict[str, T]]:
    def convert_all(where: str, value: Any) -> dict[str, T]:
        if not isinstance(value, Mapping):
            raise _wrong(where, "a dict", value)
        return {
            _to_str(f"{where} key", key): convert(f"{where}[{key!r}]", item)
            for key, item in value.items()
        }

    return Field(dict, convert_all)


def _to_message(cls: type[M]) -> Convert[M]:
    def convert(where: str, value: Any) -> M:
        if isinstance(value, Mapping):
            return cls(**value)
        if not isinstance(value, cls):
            raise _wrong(where, f"a {cls.__qualname__}", value)
        return copy.deepcopy(value)

    return convert


def _message(cls: type[M]) -> Field[M]:
    return Field(cls, _to_message(cls))


class GPUOptions(Message):
    """How GPUs are used.

    Fields:
      per_process_gpu_memory_fraction: the part of each GPU's memory to take; 0 for the default.
      allow_growth: take memory as it is needed, not at once.
      allocator_type: the name of an allocator; empty for the default.
      visible_device_list: the GPUs to use and their order, as "1,0"; empty for all.
      force_gpu_compatible: let all host tensors live in memory the GPU can copy from at once.
      experimental: see `Experimental`.
      virtual_gpus: memory limits in MiB, one per virtual GPU on the host. A number n can be
        given for n of 256 MiB each. ValueError if one is negative or not an int.
    """

    class Experimental(Message):
        """Fields: virtual_devices, one VirtualDevices per visible GPU that is to be divided."""

        class VirtualDevices(Message):
            """Fields: memory_limit_mb, the memory of each part of one GPU in MiB."""

            memory_limit_mb = _list_of(_to_float)

        virtual_devices = _list_of(_to_message(VirtualDevices))

    per_process_gpu_memory_fraction = _number()
    allow_growth = _boolean()
    allocator_type = _text()
    visible_device_list = _text()
    force_gpu_compatible = _boolean()
    experimental = _message(Experimental)
    virtual_gpus = Field[list[int]](list, _to_virtual_gpus)


class OptimizerOptions(Message):
    """How much the graph is rewritten before it runs.

    Fields:
      do_common_subexpression_elimination, do_constant_folding, do_function_inlining: ask for
        one rewrite whatever the level.
      max_folded_constant_in_bytes: the largest constant folding may make; 0 for the default.
      opt_level: L1, the default, or L0 for none.
      global_jit_level: DEFAULT, OFF, ON_1 or ON_2, for fusing operations.
    """

    L1 = 0
    L0 = -1
    DEFAULT = 0
    OFF = -1
    ON_1 = 1
    ON_2 = 2

    do_common_subexpression_elimination = _boolean()
    do_constant_folding = _boolean()
    max_folded_constant_in_bytes = _integer()
    do_function_inlining = _boolean()
    opt_level = _choice(L1=L1, L0=L0)
    global_jit_level = _choice(DEFAULT=DEFAULT, OFF=OFF, ON_1=ON_1, ON_2=ON_2)


class GraphOptions(Message):
    """How graphs are treated.

    Fields:
      optimizer_options: see OptimizerOptions.
      place_pruned_graph: place only what a run needs, not the whole graph.
      infer_shapes: note inferred shapes on the nodes.
      build_cost_model, build_cost_model_after: steps between two cost models, 0 for none, and
        steps to skip first.
      enable_bfloat16_sendrecv: send float32 between processes as bfloat16.
      enable_recv_scheduling: start receives only when their values are nearly needed.
      timeline_step: record a timeline each so many steps; 0 for never.
    """

    optimizer_options = _message(OptimizerOptions)
    place_pruned_graph = _boolean()
    infer_shapes = _boolean()
    build_cost_model = _integer()
    build_cost_model_after = _integer()
    enable_bfloat16_sendrecv = _boolean()
    enable_recv_scheduling = _boolean()
    timeline_step = _integer()


class ConfigProto(Message):
    """Settings of a session.

    Fields:
      device_count: the most devices to make of a type, as {"GPU": 0}; a type not named is
        unlimited.
      intra_op_parallelism_threads, inter_op_parallelism_threads: threads within and between
        operations; 0 for the default.
      use_per_session_threads: give the session threads of its own.
      allow_soft_placement: where a device has no kernel, use one that has.
      log_device_placement: tell where each operation was placed.
      device_filters: devices other than these do not exist for the session.
      gpu_options: see GPUOptions.
      graph_options: see GraphOptions.
      operation_timeout_in_ms: how long a run may block; 0 for no limit.
      isolate_session_state: share no variables with other sessions of a cluster.
    """

    device_count = _map_of(_to_int)
    intra_op_parallelism_threads = _integer()
    inter_op_parallelism_threads = _integer()
    use_per_session_threads = _boolean()
    allow_soft_placement = _boolean()
    log_device_placement = _boolean()
    device_filters = _list_of(_to_str)
    gpu_options = _message(GPUOptions)
    graph_options = _message(GraphOptions)
    operation_timeout_in_ms = _integer()
    isolate_session_state = _boolean()


class RunOptions(Message):
    """Settings of one run.

    Fields:
      trace_level: NO_TRACE, the default, SOFTWARE_TRACE, HARDWARE_TRACE or FULL_TRACE.
      timeout_in_ms: how long the run may take; 0 for no limit.
      inter_op_thread_pool: the pool to use; -1 for the calling thread.
      output_partition_graphs: return the partitioned graphs in RunMetadata.
      report_tensor_allocations_upon_oom: list who holds memory when it runs out.
    """

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3

    trace_level = _choice(
        NO_TRACE=NO_TRACE,
        SOFTWARE_TRACE=SOFTWARE_TRACE,
        HARDWARE_TRACE=HARDWARE_TRACE,
        FULL_TRACE=FULL_TRACE,
    )
    timeout_in_ms = _integer()
    inter_op_thread_pool = _integer()
    output_partition_graphs = _boolean()
    report_tensor_allocations_upon_oom = _boolean()


class RunMetadata(Message):
    """What a run reports: step_stats and cost_graph, None until filled; partition_graphs."""

    step_stats = _anything()
    partition_graphs = _list_of(lambda where, value: value)
    cost_graph = _anything()


@dataclass
class SessionOptions:
    """What session and device factories choose and build by: a target and a ConfigProto."""

    target: str = ""
    config: ConfigProto = field(default_factory=ConfigProto)
