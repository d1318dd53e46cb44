"""While loops as one C function: variables, a condition of them, and their next values.

Variables are numbers, or vectors of one size; so are what does not change. Each turn computes all
next values of all variables' present ones. A loop returns after a while ("more"), so that Python
can handle signals, and is called again; it ends early where a flag is set ("stopped").
"""

from __future__ import annotations

import hashlib

from gpugraph.devices.codegen.c_pass_source import Passes, as_text, indented
from gpugraph.devices.codegen.c_value_expressions import Values
from gpugraph.devices.codegen.loop_schedule import Schedule, schedule
from gpugraph.devices.codegen.program import Loop, NotNativeError, Program

SLICE = 20_000_000
"""Nanoseconds after which a loop comes back for Python's sake."""

LONG = 1024
"""Elements from which on the time is looked at in each turn; below it in each 1,024th."""


class LoopText(Passes):
    """The text of a loop's function `name`. NotNativeError where it can't have one."""

    def __init__(self, loop: Loop) -> None:
        self.name = "gg_" + hashlib.sha256(repr(loop).encode()).hexdigest()[:16]
        spans = Program(loop.axes, loop.values, (), ()).spans()
        along = tuple(spans[at] for at in loop.variables)
        program = Program(loop.axes, loop.values, loop.next, along)
        super().__init__(program, Values(program, self.name))
        self.loop = loop
        self.inputs = loop.inputs
        self.changing = program.made_of(loop.variables)
        self._check()
        self.text = self.values.text + self._function()

    def _check(self) -> None:
        loop, spans = self.loop, self.program.spans()
        if self.program.inputs != loop.inputs:
            raise NotNativeError("a loop's arrays run along one axis")
        if loop.axes > 1:
            raise NotNativeError("a loop's variables are numbers or vectors of one size")
        if any(spans[loop.condition]) or not loop.values[loop.condition].dtype.is_bool:
            raise NotNativeError("a loop's condition must be one bool")
        for variable, following in zip(loop.variables, loop.next):
            if loop.values[variable].dtype is not loop.values[following].dtype:
                raise NotNativeError("a loop's variable changes its dtype")
            if any(spans[following]) and not any(spans[variable]):
                raise NotNativeError("a loop's variable changes its shape")

    def _function(self) -> str:
        loop, values = self.loop, self.values
        number = (False,) * loop.axes
        condition = schedule(Program(loop.axes, loop.values, (loop.condition,), (number,)))
        body = schedule(self.program)
        vectors = [at for at in loop.variables if condition.is_element(at)]
        numbers = [at for at in loop.variables if at not in vectors]
        fixed = sorted({at for each in (condition, body) for at in each.once} - self.changing)
        lines = ["gg_block *b = block;", *self._addresses(loop.variables)]
        lines += self.numbers(fixed)
        lines += [f"{values.kind(at)} w{at} = {values.load(at, f'a{at}[0]')};" for at in numbers]
        lines += [
            "const int64_t inner = b->inner, start = 0, stop = inner; (void)start; (void)stop;",
            f"const int64_t mask = inner >= {LONG} ? 0 : 1023, began = gg_now();",
            "int64_t count = b->count;",
            "int status = GG_DONE, bad = 0;",
            "while (b->limit < 0 || count < b->limit) {",
            *indented(self._turn(condition, body, set(fixed), numbers)),
            "}",
            *(f"a{at}[0] = {self._stored(at)};" for at in numbers),
            "b->count = count;",
            "return status;",
        ]
        return f"int {self.name}(void *block) {{\n{as_text(lines)}}}\n"

    def _addresses(self, variables: tuple[int, ...]) -> list[str]:
        """Declares a<input>, and p and q, which point to the same."""
        lines = []
        for slot, at in enumerate(self.inputs):
            lines.append(f"{self.values.memory(at)} *a{at} = b->at[{slot}];")
            lines.append(f"const {self.values.memory(at)} *p{at} = a{at}; (void)p{at};")
        for slot, at in enumerate(variables):
            lines.append(f"{self.values.memory(at)} *q{slot} = a{at}; (void)q{slot};")
        return lines

    def _turn(
        self, condition: Schedule, body: Schedule, fixed: set[int], numbers: list[int]
    ) -> list[str]:
        loop, values = self.loop, self.values
        present = [f"const {values.kind(at)} v{at} = w{at};" for at in numbers]
        pairs = zip(loop.variables, loop.next)
        after = [
            f"w{variable} = v{following};" for variable, following in pairs if variable in numbers
        ]
        return [
            *present,
            "{",
            *indented(self._values(condition, fixed | set(numbers))),
            f"    if (!v{loop.condition}) break;",
            "}",
            *self._values(body, fixed | set(numbers)),
            "if (bad) { status = GG_FAILED; break; }",
            *after,
            "count++;",
            "if (!(count & mask)) {",
            "    if (b->stop && *b->stop) { status = GG_STOPPED; break; }",
            f"    if (gg_now() - began > {SLICE}) {{ status = GG_MORE; break; }}",
            "}",
        ]

    def _values(self, made: Schedule, known: set[int]) -> list[str]:
        """All that a schedule computes but what is known, its vectors written."""
        values = self.values
        lines = self.numbers([at for at in made.once if at not in known])
        for each in made.passes:
            lines += self.numbers([at for at in each.rows if at not in known])
            lines += [*map(self.tree, each.lanes), *self.one_pass(each)]
            for at in each.lanes:
                total = f"{values.reduction(at)}_total(&tree{at})"
                lines.append(values.finished(at, total, "inner"))
        return lines + self.numbers([at for at in made.after if at not in known])

    def _stored(self, at: int) -> str:
        return self.values.stored(at, f"w{at}")
