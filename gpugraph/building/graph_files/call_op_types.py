"""The op types whose ops call functions of a graph's library, with their signatures in
TensorFlow.
"""

from __future__ import annotations

from gpugraph.base.dtypes import int32
from gpugraph.graph.op_def import ArgDef, AttrDef, OpDef


def _list(name: str, type_list_attr: str) -> ArgDef:
    return ArgDef(name, type_list_attr=type_list_attr)


def _types(name: str, minimum: int = 0) -> AttrDef:
    return AttrDef(name, "list(type)", minimum=minimum)


def _function(name: str) -> AttrDef:
    return AttrDef(name, "func")


_SHAPES = AttrDef("output_shapes", "list(shape)", [], True)
_TEXTS = [AttrDef(name, "string", "", True) for name in ("config", "config_proto", "executor_type")]
_IN, _OUT = _list("input", "Tin"), _list("output", "Tout")

_SIGNATURES: tuple[tuple[tuple[str, str], tuple[ArgDef, ...], ArgDef, list[AttrDef]], ...] = (
    (
        ("StatefulPartitionedCall", "PartitionedCall"),
        (_list("args", "Tin"),),
        _OUT,
        [_types("Tin"), _types("Tout"), _function("f"), *_TEXTS],
    ),
    (
        ("If", "StatelessIf"),
        (ArgDef("cond", type_attr="Tcond"), _IN),
        _OUT,
        [AttrDef("Tcond", "type"), _types("Tin"), _types("Tout"), _function("then_branch"),
         _function("else_branch"), _SHAPES],
    ),
    (
        ("While", "StatelessWhile"),
        (_list("input", "T"),),
        _list("output", "T"),
        [_types("T"), _function("cond"), _function("body"), _SHAPES,
         AttrDef("parallel_iterations", "int", 10, True)],
    ),
    (
        ("", "For"),
        (ArgDef("start", int32), ArgDef("limit", int32), ArgDef("delta", int32),
         _list("input", "T")),
        _list("output", "T"),
        [_types("T"), _function("body")],
    ),
    (
        ("Case", "StatelessCase"),
        (ArgDef("branch_index", int32), _IN),
        _OUT,
        [_types("Tin"), _types("Tout"), AttrDef("branches", "list(func)", minimum=1), _SHAPES],
    ),
    (
        ("", "SymbolicGradient"),
        (_IN,),
        _OUT,
        [_types("Tin", 1), _types("Tout", 1), _function("f")],
    ),
)  # fmt: skip
"""For each pair of op types: the names (stateful, stateless), inputs, outputs and attrs."""

CALL_OP_DEFS = {
    name: OpDef(name, inputs, (outputs,), {a.name: a for a in attrs}, is_stateful=stateful)
    for names, inputs, outputs, attrs in _SIGNATURES
    for name, stateful in zip(names, (True, False))
    if name
}
"""The signature of each op type that calls functions."""
