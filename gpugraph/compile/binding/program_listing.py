"""A program as text: its instructions, with sizes as registers.

     12  unless  gradients/GreaterEqual          -> 40
     13  pop     mul_grad/StackPopV2             bytes = 4 * s0 * s1
     14  call    MatMul                          m = s0; n = 64; ...
     40  end

`s0`, `s1` are the open fed sizes, in the order of the feeds. `q0`, `q1` are the results of
divisions. A size that a kernel reports has the name of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpugraph.base.sizes import Size, SizeTrace, text_of
from gpugraph.compile.binding.open_program import OpenProgram
from gpugraph.compile.binding.open_steps import AccessStep, NumPyStep, ReportStep, SizedStep
from gpugraph.compile.control_flow.loop_program import Part

MOST_REGISTERS = 4
"""The maximum number of words of an instruction that its line shows."""


def listing(program: OpenProgram, trace: SizeTrace) -> list[str]:
    """Return the lines of a program, followed by a line for each size that is the result of a
    division.
    """
    names = trace.names
    quotients = [
        f"{names[number]} = {text_of(left, names)} {operation} {text_of(right, names)}"
        for (operation, left, right), number in trace.operations.items()
    ]
    lines = [_line(number, part, program, names) for number, part in enumerate(program.parts)]
    return [*quotients, *lines, f"{len(program.parts):5}  end"]


def _line(number: int, part: Part, program: OpenProgram, names: Sequence[str]) -> str:
    step = part.step
    target = "" if part.target is None else f"-> {part.target.place}"
    if part.leaves is not None:
        target = f"-> {part.leaves.place} unless it goes on"
    registers = target
    if number in program.natives:
        fields = [call.fields for _, call in program.natives[number].calls]
        registers = "; ".join(_registers(fields, names)) or "bound for each set of shapes"
        if all(not list(_sizes(field)) for field in fields) and fields:
            registers = ""
    kind = "report" if program.is_report(number) else _kind(part)
    return f"{number:5}  {kind:7} {step.name} ({step.op_type})  {registers}".rstrip()


def _kind(part: Part) -> str:
    """Return the name that the listing has for an instruction."""
    if isinstance(part.plain, AccessStep):
        return part.plain.form
    if isinstance(part.plain, ReportStep):
        return "report"
    if part.step.kind == "measure":
        return "sizes"
    if part.kind == "python":
        return "numpy" if isinstance(part.plain, (NumPyStep, SizedStep)) else "python"
    return part.kind


def _registers(fields: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[str]:
    count = 0
    for each in fields:
        for name, size in _sizes(each):
            count += 1
            if count > MOST_REGISTERS:
                yield "..."
                return
            yield f"{name} = {text_of(size.terms, names)}"


def _sizes(fields: Mapping[str, Any]) -> Iterator[tuple[str, Size]]:
    for name, value in fields.items():
        if type(value) is Size:
            yield name, value
