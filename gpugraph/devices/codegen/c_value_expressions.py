"""C text of single values: the functions that texts become, and what computes a value of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpugraph.devices.codegen.c_types import C_TYPES, failure, result_type
from gpugraph.devices.codegen.program import Apply, Constant, Index, Input, Program, Reduce

_TREE = """typedef struct {{ {T} of[GG_DEPTH]; int64_t depth, turn; }} {name}_tree;
GG_INLINE void {name}_push({name}_tree *tree, {T} value) {{
    for (int64_t turn = tree->turn++; turn & 1; turn >>= 1)
        value = {name}_two(tree->of[--tree->depth], value);
    tree->of[tree->depth++] = value;
}}
GG_INLINE {T} {name}_total({name}_tree *tree) {{
    {T} total = tree->depth ? tree->of[--tree->depth] : {name}_start();
    while (tree->depth) total = {name}_two(tree->of[--tree->depth], total);
    return total;
}}
GG_INLINE {T} {name}_short(const {T} *tail, int64_t rest) {{
    {T} total = {name}_start();
    for (int64_t l = 0; l < rest; l++) total = {name}_two(total, tail[l]);
    return total;
}}
GG_INLINE {T} {name}_lanes({T} *lane, const {T} *tail, int64_t rest) {{
    for (int64_t l = 0; l < rest; l++) lane[l] = {name}_two(lane[l], tail[l]);
    for (int64_t width = GG_LANES / 2; width; width /= 2)
        for (int64_t l = 0; l < width; l++) lane[l] = {name}_two(lane[l], lane[l + width]);
    return lane[0];
}}
static __attribute__((unused)) {T} {name}_fold({T} *part, int64_t count, int64_t width) {{
    for (int64_t step = 1; step < count; step *= 2)
        for (int64_t at = 0; at + step < count; at += 2 * step) {{
            {T} *one = part + at * width, *other = part + (at + step) * width;
            GG_LOOP for (int64_t e = 0; e < width; e++) one[e] = {name}_two(one[e], other[e]);
        }}
    return count ? part[0] : {name}_start();
}}
"""


class Values:
    """The functions of a program's texts, each once, under names that start with `prefix`."""

    def __init__(self, program: Program, prefix: str, trees: str = _TREE) -> None:
        """trees: a template of what a reduction needs beside its four functions."""
        self.program = program
        self.prefix = prefix
        self._trees = trees
        self.text = ""
        self.failure = failure_of(program)
        self.can_fail = bool(self.failure)
        self._names: dict[tuple[object, ...], str] = {}
        for value in program.values:
            if isinstance(value, Apply):
                self._name(self._signature(value), value)
            elif isinstance(value, Reduce):
                self._name((*value[:4], value.dtype), value)

    # -- functions

    def _signature(self, value: Apply) -> tuple[object, ...]:
        operands = tuple(self.program.values[each].dtype for each in value.inputs)
        return value.text, operands, value.dtype, value.type, value.fails

    def _name(self, key: tuple[object, ...], value: Apply | Reduce) -> None:
        if key not in self._names:
            self._names[key] = f"{self.prefix}_{len(self._names)}"
            if isinstance(value, Apply):
                self._define_apply(self._names[key], value)
            else:
                self._define_reduce(self._names[key], value)

    def _define_apply(self, name: str, value: Apply) -> None:
        operands = [self.program.values[each].dtype for each in value.inputs]
        given = ", ".join(
            f"{C_TYPES[dtype].value} {letter}" for dtype, letter in zip(operands, "xyz")
        )
        kind, result = C_TYPES[value.type].value, C_TYPES[value.dtype].value
        wide = result_type(value.type, value.dtype)
        self.text += (
            f"GG_INLINE {result} {name}({given or 'void'}) {{ typedef {kind} T; typedef {wide} U; "
            f"return {value.text}; }}\n"
        )
        when, _ = _failure(value)
        if when:
            self.text += (
                f"GG_INLINE int {name}_fails({given}) {{ typedef {kind} T; return {when}; }}\n"
            )

    def _define_reduce(self, name: str, value: Reduce) -> None:
        kind = C_TYPES[value.dtype].value
        for ending, given, text in (
            ("start", "void", value.start),
            ("two", f"{kind} a, {kind} b", value.combine),
            ("map", f"{kind} x", value.map),
            ("finish", f"{kind} a, int64_t n", value.finish),
        ):
            head = f"GG_INLINE {kind} {name}_{ending}({given})"
            self.text += f"{head} {{ typedef {kind} T; return {text}; }}\n"
        self.text += self._trees.format(T=kind, name=name)

    def reduction(self, at: int) -> str:
        """The name that a reduction's functions start with."""
        value = self.program.values[at]
        assert isinstance(value, Reduce)
        return self._names[(*value[:4], value.dtype)]

    # -- values

    def kind(self, at: int) -> str:
        """The C type that holds the value."""
        return C_TYPES[self.program.values[at].dtype].value

    def memory(self, at: int) -> str:
        """The C type of its elements in an array."""
        return C_TYPES[self.program.values[at].dtype].memory

    def load(self, at: int, place: str) -> str:
        """The value from memory."""
        return C_TYPES[self.program.values[at].dtype].load.format(place)

    def store(self, at: int, place: str) -> str:
        """The statement that writes the value."""
        return f"{place} = {self.stored(at, f'v{at}')};"

    def stored(self, at: int, value: str) -> str:
        """A value of this one's dtype as it is in memory."""
        return C_TYPES[self.program.values[at].dtype].store.format(value)

    def statement(self, at: int, load: Callable[[int], str]) -> str:
        """The declaration of `v<at>`; `load` says where an input is."""
        return f"const {self.kind(at)} v{at} = {self._expression(at, load)};{self._check(at)}"

    def finished(self, at: int, total: str, count: str) -> str:
        """The declaration of a reduction that is complete."""
        value = self.program.values[at]
        done = f"{self.reduction(at)}_finish({total}, {count})"
        return f"const {self.kind(at)} v{at} = {C_TYPES[value.dtype].rounded.format(done)};"

    def mapped(self, at: int) -> str:
        """An element as its reduction takes it."""
        return f"{self.reduction(at)}_map(v{self.program.operands(at)[0]})"

    def _expression(self, at: int, load: Callable[[int], str]) -> str:
        value = self.program.values[at]
        if isinstance(value, Input):
            return self.load(at, load(at))
        if isinstance(value, Constant):
            return value.literal
        if isinstance(value, Index):
            return f"({self.kind(at)})e" if any(value.spans) else "0"
        if isinstance(value, Reduce):
            name = self.reduction(at)
            one = f"{name}_two({name}_start(), {self.mapped(at)})"
            return C_TYPES[value.dtype].rounded.format(f"{name}_finish({one}, 1)")
        name = self._names[self._signature(value)]
        call = f"{name}({_list(value.inputs)})"
        return C_TYPES[value.dtype].rounded.format(call)

    def _check(self, at: int) -> str:
        value = self.program.values[at]
        if not isinstance(value, Apply) or not _failure(value)[0]:
            return ""
        name = self._names[self._signature(value)]
        return f" bad |= {name}_fails({_list(value.inputs)});"


def failure_of(program: Program) -> str:
    """What a program says when it fails; empty where it can't."""
    failures = [_failure(each) for each in program.values if isinstance(each, Apply)]
    return ", or ".join(dict.fromkeys(said for when, said in failures if when))


def _failure(value: Apply) -> tuple[str, str]:
    return value.fails if value.fails[0] else failure(value.text, value.type)


def _list(inputs: Sequence[int]) -> str:
    return ", ".join(f"v{each}" for each in inputs)
