"""The private attributes that TensorFlow 1.15's libraries read of public objects, and which lack.

    python ci/against_tensorflow/private_state.py --wheel FOLDER

FOLDER is an unpacked wheel of TensorFlow 1.15. Its Python sources (contrib, Keras, training and the
like, without their tests) are searched for `graph._x`, `op._x`, `tensor._x`, `variable._x` and
`session._x`, by the names that such objects usually have there. Printed are the attributes that
gpugraph's objects lack, with how often and by which parts they are read, the most used first, or
the reason why they are left out. It decides nothing: names are guesses of kinds.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from sides import ROOT

READ = re.compile(r"([A-Za-z_][\w.]*(?:\(\))?)\.(_[a-z]\w*)\b")
NAMES = {
    "graph": "graph g _graph get_default_graph() default_graph src_graph temp_graph outer_graph",
    "op": "op new_op consumer consumer_op op_ _op while_op lock_op source_op operation",
    "tensor": "t tensor x logits input_tensor input source_t handle target_t output",
    "variable": "v var variable _variable frozen_var existing_var primary new_variable slot",
    "session": "session sess _sess default_session mon_sess",
}
KINDS = {name: kind for kind, names in NAMES.items() for name in names.split()}
REASONS = {
    "a handle of TensorFlow's C library": "_c_graph _c_op _c_func _as_tf_output "
    "_get_operation_by_tf_operation _get_tensor_by_tf_output _create_op_from_tf_operation "
    "_add_new_tf_operations",
    "of generated modules and eager execution": "_get_attr_type _numpy",
    "Keras sets it on its tensors and variables": "_keras_history _keras_mask "
    "_keras_shape _keras_initialized _uses_learning_phase _assign_placeholder _assign_op",
    "a cache of the module that reads it": "_handle_feeders _handle_readers _handle_movers "
    "_handle_deleters _reduced_shape_cache _bcast_grad_args_cache _py_funcs_used_in_graph",
    "of graphs of functions and tf.distribute": "_distribution_strategy_stack _add_function "
    "_global_distribute_strategy_scope _distributed_container _set_func_attr _get_function",
}
LEFT_OUT = {name: reason for reason, names in REASONS.items() for name in names.split()}


def reads(wheel: Path) -> dict[tuple[str, str], Counter[str]]:
    """How often each part of the wheel reads an attribute, by (kind of object, attribute)."""
    result: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for root in (wheel / "tensorflow_core" / part for part in ("contrib", "python")):
        for path in sorted(root.rglob("*.py")):
            if path.stem.endswith("_test"):
                continue
            part = "contrib" if root.name == "contrib" else path.relative_to(root).parts[0]
            for base, name in READ.findall(path.read_text("utf-8", "replace")):
                kind = KINDS.get(base.split(".")[-1])
                if kind is not None:
                    result[kind, name][part] += 1
    return result


def lacks(objects: list[Any], name: str) -> bool:
    """Return whether one of the objects has no such attribute."""
    return not all(hasattr(item, name) for item in objects)


def objects_by_kind(tf: Any) -> dict[str, list[Any]]:
    """Return an object of each kind; variables of both kinds."""
    with tf.Graph().as_default() as graph:
        variables = [tf.get_variable(f"v{kind}", [2], use_resource=kind) for kind in (0, 1)]
        tensor = tf.placeholder(tf.float32, [2])
        sessions = [tf.Session()]
    return {
        "graph": [graph],
        "op": [tensor.op],
        "tensor": [tensor],
        "variable": variables,
        "session": sessions,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, required=True, help="an unpacked wheel of 1.15")
    found = reads(parser.parse_args().wheel)
    sys.path.insert(0, str(ROOT))
    objects = objects_by_kind(importlib.import_module("gpugraph"))
    lacking = {key: parts for key, parts in found.items() if lacks(objects[key[0]], key[1])}
    for (kind, name), parts in sorted(lacking.items(), key=lambda item: -item[1].total()):
        places = ", ".join(f"{part} {count}" for part, count in parts.most_common())
        why = LEFT_OUT.get(name)
        print(f"{parts.total():4} {kind}.{name} ({places}){f': {why}' if why else ''}")
    print(f"{len(found)} attributes are read, {len(lacking)} of them lack")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
