"""Mutated graph files: each is imported, or refused by an error of the right class.

    python -m tests.building.graph_files.graph_file_fuzzer [--count 300000] [--seed 1]

Half of the mutations change bytes, the others fields of messages: names, inputs, dtypes, sizes,
shapes. A refused import leaves the graph unchanged; an imported graph can be written again. The
process may use at most 2 GiB of address space more than at the start, so that a small file that
demands much memory counts as a fault.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
from collections import Counter
from typing import Any

import gpugraph as tf
from gpugraph.building.graph_files.meta_graph_export import export_scoped_meta_graph
from gpugraph.building.graph_files.meta_graph_import import import_scoped_meta_graph
from gpugraph.formats import messages_pb2

REFUSALS = (ValueError, TypeError, KeyError, tf.errors.OpError)
NUMBERS = (-(1 << 63), -1, 0, 1, 2, 3, 255, 1 << 20, 1 << 31, 1 << 40, (1 << 63) - 1)
TEXTS = ("", "a", "^a", "a:1", "a:99999999999", "x/../y", "\0", "é", ":", "^", "a" * 5000)
_MORE = 2 << 30


def seeds() -> list[Any]:
    """Graphs of many op types, with branches, loops and variables, as MetaGraphDefs."""
    metas = []
    for use_resource in (False, True):
        with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
            x = tf.placeholder(tf.float32, [None, 4], name="a")
            w = tf.Variable(tf.ones([4, 2]), name="w", use_resource=use_resource)
            y = tf.nn.relu(tf.matmul(x, w)) + tf.constant([1.0, 2.0])
            y = branch(tf.while_loop(lambda v: tf.reduce_sum(v) < 9, lambda v: v * 2, [y]))
            parts = tf.split(tf.concat([y, y], 1), 2, 1)
            tf.string_join([tf.as_string(tf.reshape(parts[0], [-1])), "text"], "-")
            tf.gather(tf.constant([3, 4], tf.int64), [0])
            tf.add_to_collection("kept", y)
            metas.append(export_scoped_meta_graph(graph=graph)[0])
    return metas


def branch(y: Any) -> Any:
    return tf.cond(y[0, 0] > 1, lambda: y * 2, lambda: y)


def mutate_bytes(content: bytes, random_source: random.Random) -> bytes:
    """Return the bytes with some changed, left out, doubled or cut off."""
    data = bytearray(content)
    for _ in range(random_source.choice((1, 1, 2, 8))):
        if not data:
            break
        at_byte, kind = random_source.randrange(len(data)), random_source.randrange(5)
        length = random_source.choice((1, 2, 9, 100))
        if kind == 0:
            data[at_byte] = random_source.randrange(256)
        elif kind == 1:
            data[at_byte] ^= 1 << random_source.randrange(8)
        elif kind == 2:
            del data[at_byte : at_byte + length]
        elif kind == 3:
            data[at_byte:at_byte] = data[at_byte : at_byte + length]
        else:
            del data[at_byte:]
    return bytes(data)


def mutate_field(message: Any, random_source: random.Random, depth: int = 0) -> None:
    """Change one field of the message, or of one of those in it."""
    fields = [descriptor for descriptor, _ in message.ListFields()]
    if not fields or random_source.random() < 0.05:
        fields = list(message.DESCRIPTOR.fields)
    if not fields:
        return
    field = random_source.choice(fields)
    value = getattr(message, field.name)
    if random_source.random() < 0.05:
        message.ClearField(field.name)
    elif hasattr(value, "items"):  # a map
        keys = list(value)
        key = random_source.choice(keys) if keys else "T"
        if random_source.random() < 0.2:
            value.pop(key, None)
        elif hasattr(value[key], "DESCRIPTOR"):
            mutate_field(value[key], random_source, depth + 1)
    elif hasattr(value, "DESCRIPTOR"):
        if depth < 12:
            mutate_field(value, random_source, depth + 1)
    elif hasattr(value, "append"):
        mutate_list(value, random_source, depth)
    else:
        setattr(message, field.name, another(value, random_source))


def mutate_list(values: Any, random_source: random.Random, depth: int) -> None:
    """Changes, drops, doubles or swaps an element."""
    if not values:
        return
    index, kind = random_source.randrange(len(values)), random_source.randrange(5)
    if kind == 0:
        del values[index]
    elif kind == 1:
        values.append(values[index])
    elif hasattr(values[index], "DESCRIPTOR"):
        mutate_field(values[index], random_source, depth + 1)
    else:
        values[index] = another(values[index], random_source)


def another(value: Any, random_source: random.Random) -> Any:
    """Return a value of the same type, often at the edge of its range."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random_source.choice((value + 1, value - 1, random_source.randrange(30)))
    if isinstance(value, float):
        return random_source.choice((0.0, -1.0, 1e38, float("inf"), float("nan")))
    text = random_source.choice(TEXTS)
    return text.encode() if isinstance(value, bytes) else text


def enlarge(message: Any, random_source: random.Random) -> None:
    """Return a number of a random node's attrs, or a size of its shapes, an extreme value."""
    node = random_source.choice(list(message.graph_def.node))
    for value in node.attr.values():
        number = random_source.choice(NUMBERS)
        if value.WhichOneof("value") == "i":
            value.i = number
        for shape in (value.shape, value.tensor.tensor_shape):
            for dim in shape.dim if value.WhichOneof("value") in ("shape", "tensor") else ():
                dim.size = number


def mutated(meta: Any, random_source: random.Random) -> bytes:
    """Return the bytes of a changed MetaGraphDef."""
    if random_source.random() < 0.5:
        return mutate_bytes(meta.SerializeToString(), random_source)
    copy = messages_pb2.MetaGraphDef()
    copy.CopyFrom(meta)
    for _ in range(random_source.choice((1, 1, 3))):
        try:
            if random_source.random() < 0.3 and copy.graph_def.node:
                enlarge(copy, random_source)
            else:
                mutate_field(
                    copy.graph_def if random_source.random() < 0.8 else copy, random_source
                )
        except (ValueError, TypeError):  # protobuf refuses the value
            continue
    return copy.SerializeToString()


def outcome(content: bytes) -> str:
    """Return the outcome for a file: the class of the error, or that it is imported."""
    try:
        meta = messages_pb2.parse_message(messages_pb2.MetaGraphDef, content)
    except ValueError:
        return "no message"
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(meta.graph_def, name="")
        except REFUSALS as error:
            assert not graph.get_operations(), "a refused graph has left operations"
            return type(error).__name__
        graph.as_graph_def(add_shapes=True)
    with tf.Graph().as_default():
        try:
            import_scoped_meta_graph(meta)
        except REFUSALS as error:
            return f"collections: {type(error).__name__}"
    return "imported"


def fuzz(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Return the outcomes of `count` files, and the faults: errors of other classes."""
    random_source = random.Random(seed)
    metas = seeds()
    outcomes: Counter[str] = Counter()
    faults: list[str] = []
    for number in range(count):
        content = mutated(random_source.choice(metas), random_source)
        try:
            outcomes[outcome(content)] += 1
        except Exception as error:  # whatever is no refusal is a fault
            faults.append(f"file {number} of seed {seed}: {type(error).__name__}: {error}"[:500])
    return outcomes, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tf.logging.set_verbosity("FATAL")
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + _MORE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    outcomes, faults = fuzz(options.count, options.seed)
    for name, times in outcomes.most_common():
        print(f"{times:8} {name}")
    print(*faults[:30], sep="\n")
    print(f"{options.count} files, {len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
