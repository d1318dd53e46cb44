"""Loops as native calls: an iteration as instructions that one call executes.

    program = Iterations(
        [
            Instruction("call", kernel),
            Instruction("unless", None, predicate.ctypes.data, 4),
            Instruction("call", tail),
            Instruction("again", target=0),
        ],
        stop,
        predicate,
    )
    program.start()
    while (left := program.run()) is not None:
        ...                                       Python does instruction `left` itself

Instructions call kernels, or jump if a bool in memory is true or false. An instruction without
native code, and a call that refuses its input, returns to Python, which does it instead.
Accesses to stacks and TensorArrays are calls too, by their records (`ops/tensor_arrays`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, get_args

from gpugraph.devices.native.compiled_functions import FAILED
from gpugraph.devices.native.native_runtime import RUNTIME, Call, Runtime, address_of, call_of

BRIEF_NS, SLICE_NS = 100_000, 20_000_000
"""Nanoseconds after which a loop returns to Python: at first briefly, until no other thread runs
Python (to get the GIL back may take a while), and later on so that Python handles signals."""

InstructionKind = Literal["call", "python", "if", "unless", "jump", "again", "set", "clear"]
_KINDS: dict[InstructionKind, int] = {
    kind: code for code, kind in enumerate(get_args(InstructionKind))
}
_END = len(_KINDS)


class Instruction(NamedTuple):
    """One instruction of an iteration.

    call      calls `call`
    python    returns to Python
    if        goes to `target` if the bool at `address` is true
    unless    goes there if it is false
    jump      goes there
    again     goes there, and checks whether the run goes on
    set       makes the bool at `address` true
    clear     makes it false

    As a target, the number after the last instruction is the end.
    """

    kind: InstructionKind
    call: Call | None = None
    address: int = 0
    target: int = 0


class _Instruction(ctypes.Structure):
    """`gg_instruction` of host_iterations.c."""

    _fields_ = (("kind", ctypes.c_int64), ("operand", ctypes.c_void_p), ("target", ctypes.c_int64))


class _Iterations(ctypes.Structure):
    """`gg_iterations` of host_iterations.c."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("instructions", ctypes.c_void_p),
        ("next", ctypes.c_int64),
        ("slice", ctypes.c_int64),
        ("stop", ctypes.c_void_p),
    )


class _Access(ctypes.Structure):
    """`gg_access` of host_iterations.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("entry", "handle", "object", "record")),
        *((name, ctypes.c_void_p) for name in ("value", "copy", "index")),
        *((name, ctypes.c_int64) for name in ("kind", "bytes", "copied")),
    )


class Iterations:
    """Instructions bound to memory: a loop, from its start to its end."""

    def __init__(self, instructions: Sequence[Instruction], stop: Any, *keep: Any) -> None:
        """stop: an int64 array of one element; if it is not 0 the loop returns to Python. keep:
        lives as long as the program."""
        runtime = _runtime()
        table = (_Instruction * (len(instructions) + 1))()
        for row, instruction in zip(table, instructions):
            row.kind, row.target = _KINDS[instruction.kind], instruction.target
            if instruction.call is not None:
                row.operand = call_of(instruction.call)[0]
            else:
                row.operand = instruction.address
        table[len(instructions)].kind = _END
        calls = [instruction.call for instruction in instructions if instruction.call is not None]
        self._is_long = any(call_of(call)[1] for call in calls)
        block = _Iterations(
            address_of(runtime.library.gg_iterate), ctypes.addressof(table), stop=stop.ctypes.data
        )
        lasting = (table, stop, *calls, *keep)
        self._block = block
        self._held = runtime.call(block, lasting, False)
        self._released = runtime.call(block, lasting, True)

    def start(self, instruction: int = 0) -> None:
        """Make the next `run` begin with this instruction."""
        self._block.next = instruction

    def run(self, check: Callable[[], None]) -> int | None:
        """Continue from the current instruction, up to the end or one that is left to Python.

        Returns None at the end, else that instruction; to continue after it, call `start`.

        `check` is called now and then, and raises to end the run.
        """
        block, call = self._block, self._held
        block.slice = BRIEF_NS
        if self._is_long:
            block.slice, call = SLICE_NS, self._released
        while status := call():
            if status == FAILED:
                return int(block.next)
            check()
            block.slice, call = SLICE_NS, self._released
        return None


class ElementAccess:
    """A push, pop, write (`put`) or read (`take`) of one element of a container; or a handle of an
    array's gradients (`find`).

    `call` handles the common case, once `bind` has looked up the container of the handle in this
    run.
    """

    def __init__(
        self, form: str, handle: Any, value: Any, kind: int = 0, index: Any = None, copy: Any = None
    ) -> None:
        """handle: an array of objects, of which the first counts. kind: of the elements, as in
        records. index: an int32 array of one element. copy: as of `Access` in `ops`."""
        runtime = _runtime()
        self._handle = handle
        self._result = value if form == "find" else None
        self._record: Any = None
        self._block = _Access(
            address_of(getattr(runtime.library, f"gg_{form}")),
            handle.ctypes.data,
            value=value.ctypes.data,
            copy=None if copy is None else copy.ctypes.data,
            index=None if index is None else index.ctypes.data,
            kind=kind,
            bytes=value.nbytes,
            copied=0 if copy is None else copy.nbytes,
        )
        self.call = runtime.call(self._block, (handle, value, index, copy), False)

    def forget(self) -> None:
        """Drop the container at the start of a run, in which the handle will hold another one."""
        self._block.object = None
        self._record = None

    def bind(self) -> None:
        """Look up the container that the handle holds now; it lives until `forget`, or the end of
        the run."""
        container = self._handle.item(0)
        self._record = container.record
        self._block.record = self._record.buffer_info()[0]
        self._block.object = id(container)
        if self._result is not None:
            self._block.kind = id(self._result.item(0))


def _runtime() -> Runtime:
    runtime = RUNTIME.get(True)
    assert runtime is not None, "there are calls, so there is a runtime"
    return runtime
