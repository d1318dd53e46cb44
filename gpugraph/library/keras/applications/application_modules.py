"""The modules of `tf.keras.applications`.

Each module has functions that build networks, and `preprocess_input` and `decode_predictions` for
NumPy arrays.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from types import ModuleType
from typing import Any

from gpugraph.base.named_function import named, with_signature
from gpugraph.library.keras.applications.applications_package import KERAS_MODULES, call_package

_NETWORKS = """
densenet: DenseNet121 DenseNet169 DenseNet201
imagenet_utils:
inception_resnet_v2: InceptionResNetV2
inception_v3: InceptionV3
mobilenet: MobileNet
mobilenet_v2: MobileNetV2
nasnet: NASNetLarge NASNetMobile
resnet: ResNet50 ResNet101 ResNet152
resnet50: ResNet50
resnet_v2: ResNet50V2 ResNet101V2 ResNet152V2
vgg16: VGG16
vgg19: VGG19
xception: Xception
"""

_DEFAULTS: dict[str, Any] = {
    "input_shape": None,
    "alpha": 1.0,
    "depth_multiplier": 1,
    "dropout": 1e-3,
    "include_top": True,
    "weights": "imagenet",
    "input_tensor": None,
    "pooling": None,
    "classes": 1000,
    "data_format": None,
    "mode": "caffe",
    "top": 5,
}
_PARAMETERS = {
    "": "include_top weights input_tensor input_shape pooling classes",
    "mobilenet": "input_shape alpha depth_multiplier dropout include_top weights input_tensor "
    "pooling classes",
    "mobilenet_v2": "input_shape alpha include_top weights input_tensor pooling classes",
    "nasnet": "input_shape include_top weights input_tensor pooling classes",
}
"""By module, the names of the parameters of its networks; "" is for all other modules."""

_WITH_MODE = ("imagenet_utils", "vgg16", "vgg19")
_FROM = {"resnet50": "resnet"}
"""The modules whose networks are in a module of another name in keras-applications.

The module `resnet50` of keras-applications contains an older network.
"""

_NETWORK_DOC = """The network {name}, a new `tf.keras.Model`.

weights: None for random ones, a path of a file that `save_weights` wrote, or "imagenet" for the
  file that Keras downloads, if it is in ~/.keras/models; else FileNotFoundError.
include_top: whether the network ends with the layers for classification; `classes` is the number
  of classes.
pooling: without them, "avg" or "max" for the mean or the maximum of each channel, (batch,
  channels); None for images.
input_shape: of one image; None for that of the paper, or for any size without the top.
input_tensor: the input of the network, instead of a new `tf.keras.Input`.

Further parameters scale the numbers of channels (`alpha`, `depth_multiplier`) or apply dropout.
`backend`, `layers`, `models` and `utils` replace the modules of Keras of which it is built.
ValueError for arguments that do not fit together; ImportError without keras-applications.
"""
_FUNCTION_DOCS = {
    "preprocess_input": """Convert images to the form on which the network was trained.

x: an array or tensor of RGB values from 0 to 255, [height, width, 3] or a batch of them; an array
  of floats is changed in place, and another array is copied.
mode: "caffe" for BGR minus the means of ImageNet, "torch" for RGB from 0 to 1, standardized by
  channel, "tf" for RGB from -1 to 1.
data_format: "channels_last" or "channels_first"; None for `image_data_format()`.
""",
    "decode_predictions": """Return the `top` most likely classes of each image, in falling order.

preds: an array [batch, 1000]; ValueError for another shape. Returns for each image a list of
  (identifier, name, probability).

The names come from ~/.keras/models/imagenet_class_index.json: FileNotFoundError without it.
""",
}


def _function(module: str, name: str, parameters: str, doc: str) -> Any:
    """Return a function that calls the package keras-applications.

    The function has the given name, parameters and docstring.
    """
    known = [
        Parameter(
            parameter,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=_DEFAULTS.get(parameter, Parameter.empty),
        )
        for parameter in parameters.split()
    ]
    signature = Signature([*known, Parameter("modules", Parameter.VAR_KEYWORD)])

    @with_signature(signature)
    @named(name, doc)
    def call(**arguments: Any) -> Any:
        modules = arguments.pop("modules")
        for unknown in sorted(modules.keys() - set(KERAS_MODULES))[:1]:
            raise TypeError(f"{name}() got an unexpected keyword argument {unknown!r}")
        return call_package(_FROM.get(module, module), name, arguments | modules)

    return call


def _module(name: str, networks: list[str]) -> Any:
    """Return a new module with the functions of these networks, `preprocess_input` and
    `decode_predictions`.
    """
    module = ModuleType(
        # the public path of the module, which pickles contain as its name
        f"gpugraph.keras.applications.{name}",
        f"`tf.keras.applications.{name}`: {', '.join(networks) or 'shared functions'}.",
    )
    parameters = dict.fromkeys(networks, _PARAMETERS.get(name, _PARAMETERS[""]))
    docs = {network: _NETWORK_DOC.format(name=network) for network in networks}
    parameters["preprocess_input"] = "x data_format" + " mode" * (name in _WITH_MODE)
    parameters["decode_predictions"] = "preds top"
    for function_name, doc in {**docs, **_FUNCTION_DOCS}.items():
        function = _function(name, function_name, parameters[function_name], doc)
        function.__module__ = module.__name__
        setattr(module, function_name, function)
    vars(module)["__all__"] = [*docs, *_FUNCTION_DOCS]
    return module


MODULES: dict[str, Any] = {
    name: _module(name, networks.split())
    for name, _, networks in (line.partition(":") for line in _NETWORKS.strip().splitlines())
}
"""The modules of `tf.keras.applications` by name."""
