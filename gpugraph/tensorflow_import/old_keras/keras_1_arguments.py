"""The arguments of Keras 1 for programs with `import keras`, such as `Dense(output_dim=32)`,
`Convolution2D(32, 3, 3, border_mode="same")` and `model.fit(x, y, nb_epoch=5)`. Keras 2.2 accepts
them too.

`accept` replaces the methods of the classes of `tf.keras` by methods that translate the arguments.
`withdraw` restores them.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from gpugraph.api.import_paths import public_module

_WEIGHTS = """init=kernel_initializer W_regularizer=kernel_regularizer bias=use_bias
    b_regularizer=bias_regularizer W_constraint=kernel_constraint b_constraint=bias_constraint"""
_RECURRENT = f"""{_WEIGHTS} output_dim=units inner_init=recurrent_initializer dropout_W=dropout
    inner_activation=recurrent_activation U_regularizer=recurrent_regularizer
    dropout_U=recurrent_dropout consume_less=implementation forget_bias_init=unit_forget_bias"""
_PLACES = "border_mode=padding dim_ordering=data_format"
_IMAGES = f"{_WEIGHTS} {_PLACES} nb_filter=filters subsample=strides atrous_rate=dilation_rate"
_POOLING = f"{_PLACES} pool_length=pool_size stride=strides"
_GENERATORS = """samples_per_epoch=steps_per_epoch val_samples=steps nb_epoch=epochs
    nb_val_samples=validation_steps nb_worker=workers pickle_safe=use_multiprocessing
    max_q_size=max_queue_size"""

_LAYERS = {
    "Dense": f"{_WEIGHTS} output_dim=units",
    "Dropout GaussianDropout": "p=rate",
    "SpatialDropout1D SpatialDropout2D SpatialDropout3D": "p=rate dim_ordering=data_format",
    "GaussianNoise": "sigma=stddev",
    "Embedding": """init=embeddings_initializer W_regularizer=embeddings_regularizer
        W_constraint=embeddings_constraint""",
    "SimpleRNN GRU LSTM CuDNNGRU CuDNNLSTM": _RECURRENT,
    "ConvLSTM2D": f"{_RECURRENT} {_PLACES} nb_filter=filters subsample=strides",
    "Conv1D LocallyConnected1D": f"{_IMAGES} filter_length=kernel_size subsample_length=strides",
    "Conv2D LocallyConnected2D Conv2DTranspose Conv3D": _IMAGES,
    "SeparableConv2D": f"""{_IMAGES} depthwise_init=depthwise_initializer
        pointwise_init=pointwise_initializer""",
    """MaxPooling1D AveragePooling1D MaxPooling2D AveragePooling2D MaxPooling3D AveragePooling3D
    GlobalMaxPooling2D GlobalAveragePooling2D GlobalMaxPooling3D
    GlobalAveragePooling3D""": _POOLING,
    "UpSampling1D": "length=size",
    """UpSampling2D UpSampling3D ZeroPadding2D ZeroPadding3D Cropping2D
    Cropping3D""": "dim_ordering=data_format",
    "BatchNormalization": "beta_init=beta_initializer gamma_init=gamma_initializer",
    "PReLU": "init=alpha_initializer",
}
_METHODS = {
    "Model.__init__": "input=inputs output=outputs",
    "Model.fit Sequential.fit": "nb_epoch=epochs",
    """Model.fit_generator Model.evaluate_generator
    Model.predict_generator""": _GENERATORS,
    "layers.Layer.add_weight": "",
}
_DROPPED = {"BatchNormalization": ("mode",), "Conv2DTranspose": ("output_shape",)}
"""By class, the arguments of Keras 1 that Keras 2 ignores."""

_SIZES = {"nb_row": 0, "nb_col": 1, "kernel_dim1": 0, "kernel_dim2": 1, "kernel_dim3": 2}
_VALUES: dict[str, dict[Any, Any]] = {
    "data_format": {"th": "channels_first", "tf": "channels_last", "default": None},
    "implementation": {"cpu": 0, "mem": 1, "gpu": 2},
    "unit_forget_bias": {"one": True, "zero": False},
}
"""By argument of Keras 2, the values that Keras 1 called otherwise."""


def translated(
    owner: str, names: dict[str, str], args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call in the words of Keras 2.

    Args:
      owner: the name of the class.
      names: by the name of an argument in Keras 1, its name in Keras 2.
      args, options: the arguments of the call, without `self`.
    """
    if owner == "Layer":
        return _with_name_first(args, options)
    args, options = _with_one_size(owner, args, dict(options))
    for old in [old for old in options if old in names or old in _DROPPED.get(owner, ())]:
        value = options.pop(old)
        if old in names:
            values = _VALUES.get(names[old], {})
            known = isinstance(value, str) and value in values
            options[names[old]] = values[value] if known else value
    return args, options


def _with_name_first(
    args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of `add_weight(shape, name=...)` for a method whose first parameter is
    the name.
    """
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        return (), {"shape": args[0], **options}
    return args, options


def _with_one_size(
    owner: str, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a convolution with the sizes of a kernel in one tuple."""
    count = {"Conv2D": 2, "LocallyConnected2D": 2, "Conv2DTranspose": 2, "SeparableConv2D": 2}
    sizes = count.get(owner, 3 if owner == "Conv3D" else 0)
    if sizes and len(args) == sizes + 1 and all(isinstance(arg, int) for arg in args[1:]):
        return (args[0],), {"kernel_size": args[1:], **options}
    given = {_SIZES[key]: options.pop(key) for key in list(options) if sizes and key in _SIZES}
    if given:
        options["kernel_size"] = tuple(given[axis] for axis in sorted(given))
    return args, options


def _method(function: Callable[..., Any], owner: str, names: dict[str, str]) -> Any:
    """Return a method that translates arguments of Keras 1 and then calls `function`."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        new_args, new_options = translated(owner, names, args, options)
        if options.keys() - new_options.keys():
            old = ", ".join(sorted(options.keys() - new_options.keys()))
            warnings.warn(
                f"Update your `{owner}` call to the Keras 2 API: {old}", UserWarning, stacklevel=2
            )
        return function(self, *new_args, **new_options)

    return method


_replaced: list[tuple[type, str, Any]] = []
"""The methods that `accept` has replaced: (class, name, earlier method or None if inherited)."""


def accept() -> None:
    """Let the classes of `tf.keras` accept the arguments of Keras 1, until `withdraw`."""
    if _replaced:
        return
    layers = public_module("keras.layers")
    for owners, words in _LAYERS.items():
        for owner in owners.split():
            _replace(getattr(layers, owner), "__init__", owner, words)
    for paths, words in _METHODS.items():
        for path in paths.split():
            *parents, owner, name = path.split(".")
            module = public_module(".".join(["keras", *parents]))
            _replace(getattr(module, owner), name, owner, words)


def _replace(owner: type, method: str, called: str, words: str) -> None:
    names = dict(word.split("=") for word in words.split())
    function = inspect.getattr_static(owner, method)
    _replaced.append((owner, method, vars(owner).get(method)))
    setattr(owner, method, _method(function, called, names))


def withdraw() -> None:
    """Restore the methods that `accept` has replaced."""
    while _replaced:
        owner, name, earlier = _replaced.pop()
        if earlier is None:
            delattr(owner, name)
        else:
            setattr(owner, name, earlier)
