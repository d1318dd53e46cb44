"""Reasons why calls and attributes in the sources of libraries are not those of TensorFlow 1.15.

A row is a library (without its version), the names it concerns, a colon and the reason. A name ends
with `*` if it is a prefix.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

_CALLS = """
tensorforce tf.*: the library is for TensorFlow 2, whose arguments have other names
tf-agents tf.* tensorflow.*: the call is for TensorFlow 2 or for 1.15's nightly builds
rasa tf.*: the library is for TensorFlow 2
tf-encrypted tf.print: the call is inside a branch for debugging, and fails in TensorFlow 1.15 too
tf2onnx tf.saved_model.load: the call is in the branch for TensorFlow 2
tf-object-detection lucid tf.contrib.*: an arg_scope passes `kernel_size`
tf-object-detection tf.keras.applications.*: the library passes its own layers, which 1.15 refuses
NiftyNet tf.contrib.lookup.MutableDenseHashTable: the call is for TensorFlow 1.13 and before
tensorlayer tf.image.resize_images: the call is in the branch for TensorFlow 0.11
baselines tf.summary.image: the name of the argument before TensorFlow 1.0
edward tf.contrib.distributions.bijectors.SoftmaxCentered: an argument before TensorFlow 1.5
tensor2tensor tf.compat.v1.sqrt: a mistake of the library, which fails in TensorFlow 1.15 too
dm-sonnet tensorflow-transform tf.*errors.*: a mistake of the library, which 1.15 refuses too
tensorflow-estimator *ControlFlowContext*: a context of TPUs, whose base is called later
"""

_ATTRIBUTES = """
tf-agents spleeter tensor2tensor tensorflow-estimator *.numpy: eager execution
mesh-tensorflow tensorboard *TPUClusterResolver*: there are no TPUs
tensorflow-estimator *TensorTracer*: there are no TPUs
mesh-tensorflow tf.Graph._device_function_stack: a scope of devices for TPUs
prettytensor edward tf.Graph.* tf.Operation.*: the library changes graphs by their private lists
tensorflow-probability tensorflow-transform tf.Tensor.*: the object is a SparseTensor
tensor2tensor tf.Graph.*: the object is a list of the library
OpenNMT-tf tf.Tensor.stack: the object is a TensorArray
tf-encrypted tf.Tensor.*: the object is a node of a message, or an array
tensorforce tf.Tensor.*: the object is an LSTMStateTuple
tensorforce tf.train.ClusterDef.items: the object is a dict
tensorflow-datasets tf.io.gfile.GFile.endswith: the object is a path
tf-object-detection tf.Tensor.get: the object is a dict
tf-agents *NoDependency.append: the object is the list that it wraps
tf-slim *TensorShape.ndim: a mistake of the library, which fails in TensorFlow 1.15 too
"""


def _read(rows: str) -> list[tuple[list[str], str]]:
    parted = [row.rpartition(": ") for row in rows.strip().splitlines()]
    return [(head.split(), reason) for head, _, reason in parted]


_ROWS = {"calls": _read(_CALLS), "attributes": _read(_ATTRIBUTES)}


def reason_for(kind: str, library: str, name: str) -> str:
    """Return why a library's use of a name is not accepted. If no row has a reason, return "".

    Args:
      kind: "calls" or "attributes".
      library: the name of the library's folder, which may end with a version.
    """
    for head, reason in _ROWS[kind]:
        libraries = [word for word in head if "." not in word and "*" not in word]
        names = [word for word in head if "." in word or "*" in word]
        if any(library == word or library.startswith(f"{word}-") for word in libraries) and any(
            fnmatchcase(name, pattern) for pattern in names
        ):
            return reason
    return ""
