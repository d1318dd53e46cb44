"""Iterations: the instructions of a while loop, which one native call executes.

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
        ... Python executes instruction `left` itself

An instruction calls a kernel, or jumps if a bool in memory is true or false. The native call
returns to Python if an instruction has no native code, or if a kernel rejects its inputs. Python
then executes this instruction. Accesses to stacks and TensorArrays are also native calls, which use
the records of these containers (`ops/tensor_arrays`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, get_args

from gpugraph.devices.native.compiled_functions import FAILED
from gpugraph.devices.native.native_runtime import RUNTIME, Call, Runtime, address_of, call_of

BRIEF_NS, SLICE_NS = 100_000, 20_000_000
"""Nanoseconds after which a loop returns to Python. The first call is brief and holds the GIL,
because regaining the GIL may take a long time. Later calls release the GIL, and return so that
Python can handle signals.
"""

InstructionKind = Literal["call", "python", "if", "unless", "jump", "again", "set", "clear"]
_KINDS: dict[InstructionKind, int] = {
    kind: code for code, kind in enumerate(get_args(InstructionKind))
}
_END = len(_KINDS)


class Instruction(NamedTuple):
    """One instruction of a loop.

        call      calls `call`
        python    returns to Python
        if        goes to `target` if the bool at `address` is true
        unless    goes to `target` if the bool at `address` is false
        jump      goes to `target`
        again     goes to `target`; returns to Python if the run stops or a time slice ends
        set       makes the bool at `address` true
        clear     makes the bool at `address` false

    A target is the index of an instruction. The index after the last instruction means the end of
    the loop.
    """

    kind: InstructionKind
    call: Call | None = None
    address: int = 0
    target: int = 0


class _Instruction(ctypes.Structure):
    """The C structure `gg_instruction` of host_iterations.c: one `Instruction`."""

    _fields_ = (("kind", ctypes.c_int64), ("operand", ctypes.c_void_p), ("target", ctypes.c_int64))


class _Iterations(ctypes.Structure):
    """The C structure `gg_iterations` of host_iterations.c: a loop's instructions."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("instructions", ctypes.c_void_p),
        ("next", ctypes.c_int64),
        ("slice", ctypes.c_int64),
        ("stop", ctypes.c_void_p),
    )


class _Access(ctypes.Structure):
    """The C structure `gg_access` of host_iterations.c: one `ElementAccess`."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("entry", "handle", "object", "record")),
        *((name, ctypes.c_void_p) for name in ("value", "copy", "index")),
        *((name, ctypes.c_int64) for name in ("kind", "bytes", "copied")),
    )


class Iterations:
    """The instructions of a loop, bound to memory. One native call executes them."""

    def __init__(self, instructions: Sequence[Instruction], stop: Any, *keep: Any) -> None:
        """Bind the instructions to memory.

        Args:
          stop: an int64 array with one element. When the element is not 0, the loop returns to
            Python.
          keep: objects that must live as long as this object.
        """
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
        self._replaced: list[Call] = []
        lasting = (table, stop, self._replaced, *calls, *keep)
        self._block, self._table = block, table
        self._held = runtime.call(block, lasting, False)
        self._released = runtime.call(block, lasting, True)

    @property
    def position(self) -> int:
        """The index of the next instruction."""
        return int(self._block.next)

    def operand_place(self, instruction: int) -> int:
        """Return the address of the operand of an instruction. The operand is a 64-bit word with
        the address of a bool, or of the block of a call.
        """
        return ctypes.addressof(self._table[instruction]) + _Instruction.operand.offset

    def set_call(self, instruction: int, call: Call) -> None:
        """Replace an instruction that returns to Python by a native call."""
        self._replaced.append(call)
        row = self._table[instruction]
        row.kind, row.operand = _KINDS["call"], call_of(call)[0]

    def is_true(self, instruction: int) -> bool:
        """Return the value of the bool that an instruction reads."""
        return bool(ctypes.c_bool.from_address(self._table[instruction].operand).value)

    def set_long(self, is_long: bool) -> None:
        """Set whether the loop is expected to run for a long time. If so, it releases the GIL from
        the start.
        """
        self._is_long = is_long

    def run_alone(self, instruction: int) -> int:
        """Execute one instruction that is not a jump. Return its status."""
        following = self._table[instruction + 1]
        kind, following.kind = following.kind, _END
        self._block.next, self._block.slice = instruction, SLICE_NS
        try:
            return (self._released if self._is_long else self._held)()
        finally:
            following.kind = kind

    def start(self, instruction: int = 0) -> None:
        """Make the next call of `run` begin with the instruction at this index."""
        self._block.next = instruction

    def run(self, check: Callable[[], None]) -> int | None:
        """Execute instructions, starting at the current one, until the loop ends or Python must
        execute an instruction.

        Return the index of this instruction, or None at the end of the loop. To continue after the
        instruction, call `start`.

        Args:
          check: a function that is called when the native call returns after `SLICE_NS`, or because
            `stop` is set. To end the run, this function raises an error.
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
    """A loop's access to one element of a stack or TensorArray: a push, pop, write (`put`) or read
    (`take`). An access `find` returns the handle of a TensorArray's gradients.

    `call` is the native call of the access. It fails if the handle does not refer to the container
    that `bind` found last.
    """

    def __init__(
        self, form: str, handle: Any, value: Any, kind: int = 0, index: Any = None, copy: Any = None
    ) -> None:
        """Prepare the native call.

        Args:
          form: "push", "pop", "put", "take" or "find".
          handle: an array of objects whose first element is the container.
          value: the array from which or to which the element is copied.
          kind: the number of the element's shape and dtype in the container's record.
          index: an int32 array with one element, the index of the accessed element.
          copy: a second array to which a push or put copies the element (`ContainerAccess`).
        """
        runtime = _runtime()
        self._handle = handle
        self._result = value if form == "find" else None
        self._container: Any = None
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

    def bind(self) -> None:
        """Look up the container to which the handle refers now. Keep the container alive, so that
        no other container can get its address.
        """
        container = self._container = self._handle.item(0)
        self._record = container.record
        self._block.record = self._record.buffer_info()[0]
        self._block.object = id(container)
        if self._result is not None:
            self._block.kind = id(self._result.item(0))


def _runtime() -> Runtime:
    runtime = RUNTIME.get(True)
    assert runtime is not None, "there are calls, so there is a runtime"
    return runtime
