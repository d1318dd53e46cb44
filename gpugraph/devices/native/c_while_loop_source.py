"""C source of while loops. A loop with its variables, condition and next values becomes one
function.

The loop's variables, and the inputs that do not change in the loop, are scalars or vectors of one
size. Each iteration computes the next values of all variables from their current values. After some
time the function returns the status "more", so that Python can handle signals. Python then calls
the function again. If the run's stop flag is set, the function returns the status "stopped".
"""

from __future__ import annotations

from gpugraph.devices.codegen.loop_schedule import Schedule, schedule
from gpugraph.devices.codegen.program import NotNativeError, Program, WhileProgram
from gpugraph.devices.codegen.program_source import brace, function_source, indent
from gpugraph.devices.native.c_pass_source import PassSource

SLICE = 20_000_000
"""The number of nanoseconds after which the function returns to Python."""

LONG = 1024
"""The minimum size of vectors for which the time is checked in each iteration. For smaller vectors
it is checked in every 1,024th iteration.
"""


class LoopSource(PassSource):
    """The C source of a loop's function, whose name is `name`. The constructor raises
    NotNativeError if the loop can't be one function.

    `number<n>` is the C variable of a scalar loop variable. All other names have the same meaning
    as in `PassSource`.
    """

    def __init__(self, loop: WhileProgram) -> None:
        spans = Program(loop.axes, loop.values, (), ()).spans()
        along = tuple(spans[index] for index in loop.variables)
        program = Program(loop.axes, loop.values, loop.next, along)
        _check(loop, program)
        super().__init__(program, loop)
        self.loop = loop
        self.source = self.values.source + self._function()

    def _function(self) -> str:
        loop, values, body = self.loop, self.values, self.schedule
        scalar = (False,) * loop.axes
        condition = schedule(Program(loop.axes, loop.values, (loop.condition,), (scalar,)))
        numbers = [index for index in loop.variables if not condition.is_element(index)]
        changing = self.program.made_of(loop.variables)
        fixed = {index for order in (condition, body) for index in order.once} - changing
        lines = ["gg_block *b = block;", *self._addresses(), *self.scalars(sorted(fixed))]
        for index in numbers:
            lines.append(
                f"{values.kind(index)} number{index} = {values.load(index, f'in{index}[0]')};"
            )
        lines += [
            "const int64_t inner = b->inner, start = 0, stop = inner; (void)start; (void)stop;",
            f"const int64_t mask = inner >= {LONG} ? 0 : 1023, began = gg_now();",
            "int64_t count = b->count;",
            "int status = GG_DONE, bad = 0;",
            *brace(
                "while (b->limit < 0 || count < b->limit)",
                self._iteration(condition, fixed.union(numbers), numbers),
            ),
        ]
        for index in numbers:
            lines.append(f"in{index}[0] = {values.store_expression(index, f'number{index}')};")
        lines += ["b->count = count;", "return status;"]
        return function_source(f"int {self.name}(void *block)", lines)

    def _addresses(self) -> list[str]:
        """Return declarations of the arrays. The next value of a loop variable overwrites its
        current value.
        """
        lines = []
        for slot, index in enumerate(self.inputs):
            kind = f"{self.values.memory(index)} *"
            lines.append(f"{kind}in{index} = b->at[{slot}];")
            lines.append(self.declaration(f"row_in{index}", f"in{index}", f"const {kind}"))
        for slot, index in enumerate(self.loop.variables):
            kind = f"{self.values.memory(index)} *"
            lines.append(self.declaration(f"row_out{slot}", f"in{index}", kind))
        return lines

    def _iteration(self, condition: Schedule, known: set[int], numbers: list[int]) -> list[str]:
        loop, values = self.loop, self.values
        present = [f"const {values.kind(index)} v{index} = number{index};" for index in numbers]
        pairs = zip(loop.variables, loop.next)
        return [
            *present,
            "{",
            *indent(self._computed(condition, known)),
            f"    if (!v{loop.condition}) break;",
            "}",
            *self._computed(self.schedule, known),
            "if (bad) { status = GG_FAILED; break; }",
            *(f"number{index} = v{following};" for index, following in pairs if index in numbers),
            "count++;",
            "if (!(count & mask)) {",
            "    if (b->stop && *b->stop) { status = GG_STOPPED; break; }",
            f"    if (gg_now() - began > {SLICE}) {{ status = GG_MORE; break; }}",
            "}",
        ]

    def _computed(self, order: Schedule, known: set[int]) -> list[str]:
        """Return statements that compute the values of a schedule, except the `known` values, and
        that store those of the values that are vectors.
        """
        return [*self.scalars(order.once, known=known), *self.passes(order, known)]


def _check(loop: WhileProgram, program: Program) -> None:
    """Raise NotNativeError, with the reason, if a loop can't be one function."""
    spans = program.spans()
    if program.inputs != loop.inputs:
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
