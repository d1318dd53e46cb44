"""`tf.keras.utils.plot_model`: writes a drawing of a model to a file."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpugraph.base.whole_files import create_beside, write_whole
from gpugraph.library.keras.pictures.model_picture import PictureOptions, model_svg

_COMMANDS = {
    "rsvg-convert": ["rsvg-convert", "--output", "{png}", "{svg}"],
    "inkscape": ["inkscape", "--export-type=png", "--export-filename={png}", "{svg}"],
}
"""Programs that convert an SVG file to a PNG file, with their arguments."""


@dataclass(frozen=True)
class ModelPicture:
    """A file with a drawing of a model, at the path `path`. A notebook shows the drawing."""

    path: str
    svg: str = field(repr=False)

    def _repr_html_(self) -> str:
        """Return the drawing as SVG, which notebooks show."""
        return self.svg


def plot_model(
    model: Any,
    to_file: Any = "model.png",
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
) -> ModelPicture:
    """Write a drawing of a model with a box for each layer, and return it for notebooks.

    Raises ValueError if `rankdir` or the suffix of `to_file` is not one of the values below. Raises
    ImportError for a PNG file if no converter is installed. In contrast to TensorFlow's function,
    Graphviz is not needed.

    Args:
      to_file: the path of the file. With the suffix `.svg`, the file is an SVG file. With `.png` or
        no suffix, the file is a PNG file, which requires the package cairosvg, or one of the
        programs rsvg-convert and inkscape.
      show_shapes: whether boxes show the shapes of inputs and outputs.
      show_layer_names: whether boxes show the layers' names in addition to their classes.
      rankdir: "TB" for inputs at the top, "LR" for inputs on the left.
      expand_nested: whether a nested model is drawn with its layers.
      dpi: the resolution. With 96, the drawing has its normal size.
    """
    if rankdir not in ("TB", "LR"):
        raise ValueError(f'rankdir is "TB" or "LR", got {rankdir!r}')
    options = PictureOptions(show_shapes, show_layer_names, rankdir == "LR", expand_nested)
    path = Path(os.fspath(to_file))
    svg = model_svg(model, options, dpi / 96)
    if path.suffix == ".svg":
        write_whole(str(path), svg.encode())
    elif path.suffix in ("", ".png"):
        _converter(path)(svg, path)
    else:
        raise ValueError(f"to_file ends in .svg or .png, got {str(path)!r}")
    return ModelPicture(str(path), svg)


def _converter(path: Path) -> Callable[[str, Path], None]:
    """Return a function that converts SVG text to a PNG file.

    Raises ImportError if no converter is installed.
    """
    if importlib.util.find_spec("cairosvg") is not None:
        return _by_cairosvg
    for name, arguments in _COMMANDS.items():
        if shutil.which(name) is not None:
            return lambda svg, png: _by_command(arguments, svg, png)
    raise ImportError(
        f"Failed to draw {path}: a PNG needs the package cairosvg, or one of "
        f"{', '.join(_COMMANDS)}. A path that ends in .svg needs nothing: "
        f"plot_model(model, {str(path.with_suffix('.svg'))!r})"
    )


def _by_cairosvg(svg: str, path: Path) -> None:
    importlib.import_module("cairosvg").svg2png(bytestring=svg.encode(), write_to=str(path))


def _by_command(arguments: list[str], svg: str, path: Path) -> None:
    file, source = create_beside(str(path.with_suffix(".svg")))
    try:
        with file:
            file.write(svg.encode())
        command = [part.format(png=path, svg=source) for part in arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    finally:
        os.unlink(source)
