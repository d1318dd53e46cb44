"""The messages of gpugraph beside TensorFlow's, field by field and byte by byte.

    python ci/against_tensorflow/messages.py --tensorflow PYTHON

TensorFlow's Python loads both, which shows that they do not disturb each other. For each message:
the fields with their numbers, types, labels, oneofs and maps, the enumerations with their values,
and messages with random values in all fields, serialized by either and read by the other. Parts
that TensorFlow 1.15 has and later ones lack are listed here. It fails at any other difference.
With --later, it prints the additions of later TensorFlows.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from sides import add_options, python_of_tensorflow, run_side

ONLY_IN_1_15 = frozenset(
    {
        "tensorflow.HParamDef",
        "tensorflow.TrackableObjectGraph.TrackableObject.SerializedTensor.optional_restore",
    }
)
MODULES = """
    framework.device_attributes_pb2 framework.step_stats_pb2 framework.summary_pb2
    framework.variable_pb2 protobuf.config_pb2 protobuf.control_flow_pb2 protobuf.debug_pb2
    protobuf.meta_graph_pb2 protobuf.queue_runner_pb2 protobuf.saved_model_pb2
    protobuf.saved_object_graph_pb2 protobuf.saver_pb2 protobuf.struct_pb2
    protobuf.tensor_bundle_pb2 protobuf.tensorflow_server_pb2
    protobuf.trackable_object_graph_pb2 util.event_pb2 example.example_pb2
"""


def field_facts(field: Any) -> tuple[Any, ...]:
    """Return the facts that two descriptions of one field must share."""
    target = field.message_type or field.enum_type
    oneof = field.containing_oneof
    return (
        field.number,
        field.type,
        field.is_repeated,
        field.is_repeated and field.is_packed,
        field.has_presence,
        target.full_name if target else None,
        oneof.name if oneof else None,
        None if field.is_repeated or field.message_type else field.default_value,
        field.json_name,
    )


def enum_differences(ours: Any, theirs: Any) -> list[str]:
    known = {value.name: value.number for value in theirs.values}
    return [
        f"{ours.full_name}.{value.name} = {value.number}, TensorFlow: {known.get(value.name)}"
        for value in ours.values
        if known.get(value.name) != value.number
    ]


def differences(ours: Any, theirs: Any, later: list[str]) -> list[str]:
    """Where a message differs from TensorFlow's, those inside it included."""
    faults = []
    for field in ours.fields:
        other = theirs.fields_by_name.get(field.name)
        if field.full_name in ONLY_IN_1_15:
            continue
        if other is None:
            faults.append(f"{field.full_name} = {field.number}: not in TensorFlow")
        elif field_facts(field) != field_facts(other):
            faults.append(f"{field.full_name}: {field_facts(field)}, not {field_facts(other)}")
    later += [f.full_name for f in theirs.fields if f.name not in ours.fields_by_name]
    for inner in ours.nested_types:
        other = theirs.nested_types_by_name.get(inner.name)
        faults += (
            [f"{inner.full_name}: not in TensorFlow"]
            if other is None
            else differences(inner, other, later)
        )
    for enum in ours.enum_types:
        faults += enum_differences(enum, theirs.enum_types_by_name[enum.name])
    return faults


class RandomMessages:
    """Fills messages with random values; none is as deep as a parser's limit."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def fill(self, message: Any, depth: int = 3) -> Any:
        for field in message.DESCRIPTOR.fields:
            if self._random.random() < 0.8:
                self._fill_field(message, field, depth)
        return message

    def _fill_field(self, message: Any, field: Any, depth: int) -> None:
        kind = field.message_type
        value = getattr(message, field.name)
        if kind and kind.GetOptions().map_entry:
            entry_key, entry_value = kind.fields
            for _ in range(self._random.randrange(3)):
                key = self._scalar(entry_key)
                if not entry_value.message_type:
                    value[key] = self._scalar(entry_value)
                elif depth:
                    self.fill(value[key], depth - 1)
        elif kind and field.is_repeated:
            for _ in range(self._random.randrange(3) if depth else 0):
                self.fill(value.add(), depth - 1)
        elif kind and depth:
            value.SetInParent()
            self.fill(value, depth - 1)
        elif field.is_repeated and not kind:
            value.extend(self._scalar(field) for _ in range(self._random.randrange(4)))
        elif not kind:
            setattr(message, field.name, self._scalar(field))

    def _scalar(self, field: Any) -> Any:
        pick = self._random
        if field.enum_type:
            return pick.choice([value.number for value in field.enum_type.values])
        text = "".join(pick.choices("abc/:äß", k=pick.randrange(6)))
        return {
            "string": text,
            "bytes": text.encode("utf-8") + b"\xff",
            "bool": pick.random() < 0.5,
            "float": float(pick.randrange(-1000, 1000)) / 8,
            "double": pick.gauss(0, 1e9),
            "uint32": pick.randrange(2**32),
            "fixed32": pick.randrange(2**32),
            "uint64": pick.randrange(2**64),
            "fixed64": pick.randrange(2**64),
            "int32": pick.randrange(-(2**31), 2**31),
            "int64": pick.randrange(-(2**63), 2**63),
            "sint64": pick.randrange(-(2**63), 2**63),
        }[TYPE_NAMES[field.type]]


TYPE_NAMES = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32",
    8: "bool", 9: "string", 12: "bytes", 13: "uint32", 18: "sint64",
}  # fmt: skip


def bytes_differ(ours: Any, theirs: Any, seed: int) -> bool:
    """Return whether a random message changes on its way through the other side's class, and
    back.
    """
    first = RandomMessages(seed).fill(ours()).SerializeToString(deterministic=True)
    through = theirs.FromString(first).SerializeToString(deterministic=True)
    return (
        first != through or ours.FromString(through).SerializeToString(deterministic=True) != first
    )


def compare(report: Path, tries: int) -> None:
    """Write the differences and the additions of later TensorFlows."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    importlib.import_module("tensorflow")
    for name in MODULES.split():
        importlib.import_module(f"tensorflow.core.{name}")
    importlib.import_module("tensorflow.python.checkpoint.checkpoint_management")
    protobuf = importlib.import_module("google.protobuf.descriptor_pool")
    factory = importlib.import_module("google.protobuf.message_factory")
    ours = importlib.import_module("gpugraph.formats.messages_pb2")
    pool, lines, later = protobuf.Default(), [], []
    for name, descriptor in ours.DESCRIPTOR.message_types_by_name.items():
        try:
            other = pool.FindMessageTypeByName(descriptor.full_name)
        except KeyError:
            if descriptor.full_name not in ONLY_IN_1_15:
                lines.append(f"{descriptor.full_name}: not in TensorFlow")
            continue
        lines += differences(descriptor, other, later)
        pair = getattr(ours, name), factory.GetMessageClass(other)
        lines += [f"{name}: bytes of {seed}" for seed in range(tries) if bytes_differ(*pair, seed)]
    for name, enum in ours.DESCRIPTOR.enum_types_by_name.items():
        lines += enum_differences(enum, pool.FindEnumTypeByName(f"tensorflow.{name}"))
    count = len(ours.DESCRIPTOR.message_types_by_name)
    text = [f"{count} messages compared, {tries} random ones of each", *lines]
    report.write_text("\n".join([*text, "", *later]), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--later", action="store_true", help="print what later TensorFlows have")
    parser.add_argument("--tries", type=int, default=20, help="random messages of each class")
    options = parser.parse_args()
    if options.side:
        compare(Path(options.side[1]) / "report", options.tries)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        python = python_of_tensorflow(options.tensorflow)
        run_side(python, __file__, "both", Path(folder), "--tries", str(options.tries))
        text = (Path(folder) / "report").read_text("utf-8")
    faults, _, later = text.partition("\n\n")
    print(faults)
    if options.later:
        print("\nlater TensorFlows have too:", *later.split("\n"), sep="\n  ")
    return int(faults.count("\n") > 0)


if __name__ == "__main__":
    sys.exit(main())
