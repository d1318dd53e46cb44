"""Every op definition of gpugraph beside TensorFlow 1.15's and a later TensorFlow's.

    python ci/against_tensorflow/op_definitions.py --wheel FOLDER --tensorflow PYTHON [--absent]

FOLDER is an unpacked wheel of TensorFlow 1.15: its generated modules hold serialized definitions,
contrib's too, which are read as text. Compared are inputs and outputs (names, dtypes, attrs of
type and number, references), attrs (order, kind, default, allowed values, minimum), flags, and the
version that deprecated the op type. Attrs that follow from inputs may stand in any order, since
nodes name them. 1.15's definition counts where it has the op type, else the later one's. Dtypes
that 1.15 allows and gpugraph refuses count where the later TensorFlow has a CPU kernel for them.

It fails where something differs without a reason in `known_definitions.py`. With --absent it lists
the op types of 1.15 that are not here; with --write it writes the facts that tests/ops hold.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from known_definitions import absent_groups, reason
from sides import ROOT, add_options, library, python_of_tensorflow, run_side

sys.path.insert(0, str(ROOT))

LIBRARY = re.compile(r"_InitOpDefLibrary\((b\".*\")\)\s*$", re.MULTILINE)
FACTS = ROOT / "tests" / "ops" / "op_definitions.txt"
FLAGS = ("is_stateful", "is_commutative", "is_aggregate", "allows_uninitialized_input")


class Definition(NamedTuple):
    """The facts of a definition by key (signature, flags), as text, and allowed dtypes by attr."""

    facts: dict[str, str]
    dtypes: dict[str, frozenset[str]]


class Later(NamedTuple):
    """A later TensorFlow: definitions, and the dtypes of CPU kernels by op type and attr."""

    definitions: dict[str, Definition]
    kernels: dict[str, dict[str, list[str]]]


def of_wheel(folder: Path, messages: Any) -> dict[str, Definition]:
    """Return the definitions in the generated modules of an unpacked wheel, by op type."""
    result: dict[str, Definition] = {}
    for path in sorted(folder.rglob("gen_*.py")):
        for found in LIBRARY.finditer(path.read_text("utf-8", "replace")):
            for op in messages.OpList.FromString(ast.literal_eval(found[1])).op:
                result.setdefault(op.name, read(op, messages))
    if not result:
        raise SystemExit(f"{folder} has no definitions of ops: name an unpacked wheel of 1.15")
    return result


def of_tensorflow(python: str, messages: Any) -> Later:
    """Return the op definitions and CPU kernels that an installed TensorFlow has registered."""
    with tempfile.TemporaryDirectory() as name:
        run_side(python, __file__, "tensorflow", Path(name))
        op_list = messages.OpList.FromString((Path(name) / "ops").read_bytes())
        kernels = json.loads((Path(name) / "kernels").read_text("utf-8"))
    return Later({op.name: read(op, messages) for op in op_list.op}, kernels)


def one_side(folder: Path) -> None:
    library("tensorflow")
    session = importlib.import_module("tensorflow.python.client.pywrap_tf_session")
    (folder / "ops").write_bytes(session.TF_GetBuffer(session.TF_GetAllOpList()))
    registry = importlib.import_module("tensorflow.python.framework.kernels")
    types = importlib.import_module("tensorflow.core.framework.types_pb2").DataType
    result: dict[str, dict[str, list[str]]] = {}
    for kernel in registry.get_all_registered_kernels().kernel:
        if kernel.device_type == "CPU":
            by_attr = result.setdefault(kernel.op, {})
            for constraint in kernel.constraint:
                dtypes = by_attr.setdefault(constraint.name, [])
                dtypes += map(types.Name, constraint.allowed_values.list.type)
    (folder / "kernels").write_text(json.dumps(result), "utf-8")


# -- reading


def argument(arg: Any, types: Any) -> str:
    """Return one input or output: `name: N*Ref(T)`."""
    element = arg.type_attr or arg.type_list_attr or types.Name(arg.type)
    count = f"{arg.number_attr}*" if arg.number_attr else ""
    return f"{arg.name}: {count}{f'Ref({element})' if arg.is_ref else element}"


def attr_text(attr: Any) -> str:
    """Kind, minimum, allowed texts and default."""
    text = attr.type
    if attr.has_minimum:
        text += f" >= {attr.minimum}"
    if attr.allowed_values.list.s:
        text += f" of {' '.join(item.decode() for item in attr.allowed_values.list.s)}"
    if attr.HasField("default_value"):
        text += f" = {' '.join(str(attr.default_value).split())}"
    return text


def read(op: Any, messages: Any) -> Definition:
    """Return a definition's facts."""
    types = messages.DataType
    args = {"in": op.input_arg, "out": op.output_arg}
    facts = {
        place: ", ".join(argument(arg, types) for arg in items) for place, items in args.items()
    }
    derived = {
        key
        for arg in op.input_arg
        for key in (arg.type_attr, arg.number_attr, arg.type_list_attr)
        if key
    }
    plain = {(name, "type") for name in derived}  # the inputs imply that
    facts["order"] = " ".join(attr.name for attr in op.attr if attr.name not in derived)
    texts = {attr.name: attr_text(attr) for attr in op.attr}
    facts |= {f"attr {name}": text for name, text in texts.items() if (name, text) not in plain}
    facts |= {flag: "yes" for flag in FLAGS if getattr(op, flag)}
    if op.deprecation.version:
        facts["deprecated"] = f"{op.deprecation.version} {op.deprecation.explanation}"
    dtypes = {
        attr.name: frozenset(map(types.Name, attr.allowed_values.list.type or types.values()))
        for attr in op.attr
        if attr.type in ("type", "list(type)")
    }
    return Definition({key: value for key, value in facts.items() if value}, dtypes)


# -- comparing


def differences(ours: Definition, theirs: Definition) -> Iterator[tuple[str, str]]:
    """Yield (key, difference) of each fact that differs."""
    for key in dict.fromkeys([*ours.facts, *theirs.facts]):
        one, other = ours.facts.get(key), theirs.facts.get(key)
        if one != other:
            yield key, f"{one}, not {other}"


def dtype_differences(
    op_type: str, ours: Definition, theirs: Definition, later: Later
) -> Iterator[tuple[str, str]]:
    """Return dtypes that ours lacks although kernels compute them, and dtypes that only ours
    has.
    """
    kernels = later.kernels.get(op_type, {})
    newer = later.definitions.get(op_type)
    for attr in ours.dtypes.keys() & theirs.dtypes.keys():
        computed = frozenset(kernels.get(attr, ())) if kernels.get(attr) else theirs.dtypes[attr]
        if op_type not in later.kernels:
            computed = frozenset()
        lacking = {
            dtype
            for dtype in (theirs.dtypes[attr] - ours.dtypes[attr]) & computed
            if not dtype.endswith(("_REF", "INVALID"))
        }
        if lacking:
            yield f"lacks {attr}", " ".join(sorted(lacking))
        known = theirs.dtypes[attr] | (
            newer.dtypes.get(attr, frozenset()) if newer else frozenset()
        )
        if more := ours.dtypes[attr] - known:
            yield f"more {attr}", " ".join(sorted(more))


def report(ours: dict[str, Definition], old: dict[str, Definition], later: Later) -> int:
    """Print the differences, and return how many have no reason."""
    faults, explained = 0, Counter[str]()
    for op_type in sorted(ours):
        theirs = old.get(op_type) or later.definitions.get(op_type)
        found = (
            [("op type", "not in TensorFlow")]
            if theirs is None
            else [
                *differences(ours[op_type], theirs),
                *dtype_differences(op_type, ours[op_type], theirs, later),
            ]
        )
        for key, what in found:
            why = reason(op_type, key, what)
            if why is None:
                faults += 1
                print(f"{op_type} {key}: {what} [NO REASON]")
            else:
                explained[why] += 1
    for why, count in explained.most_common():
        print(f"known, {count} times: {why}")
    print(f"{len(ours)} op types compared; differences without a reason: {faults}")
    return faults


def write_facts(ours: dict[str, Definition], old: dict[str, Definition]) -> None:
    """Write 1.15's facts, without known differences."""
    lines = []
    for op_type in sorted(ours.keys() & old.keys()):
        unlike = {key for key, _ in differences(ours[op_type], old[op_type])}
        parts = [
            f"{key} | {value}" for key, value in old[op_type].facts.items() if key not in unlike
        ]
        lines.append("\t".join([op_type, *parts]))
    FACTS.write_text("\n".join(lines) + "\n", "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--wheel", type=Path, help="the folder of an unpacked wheel of 1.15")
    parser.add_argument("--absent", action="store_true", help="list op types that are not here")
    parser.add_argument("--write", action="store_true", help="write the facts that tests hold")
    options = parser.parse_args()
    if options.side:
        one_side(Path(options.side[1]))
        return 0
    messages = importlib.import_module("gpugraph.formats").messages_pb2
    to_message = importlib.import_module("gpugraph.graph.client.node_messages").op_def_message
    table = importlib.import_module("gpugraph.ops.framework.op_declaration").DECLARATIONS
    old = of_wheel(options.wheel, messages)
    later = of_tensorflow(python_of_tensorflow(options.tensorflow), messages)
    ours = {name: read(to_message(item.op_def), messages) for name, item in table.items()}
    faults = report(ours, old, later)
    if options.absent:
        for why, names in absent_groups(old.keys() - ours.keys()).items():
            print(f"absent, {len(names)}: {why}: {' '.join(names)}")
    if options.write:
        write_facts(ours, old)
    return int(faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())
