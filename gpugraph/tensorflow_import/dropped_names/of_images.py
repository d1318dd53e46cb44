"""Functions on images that SciPy and Pillow have removed. Their implementations here use Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.tensorflow_import.modules_by_name import module_named


def _pillow() -> Any:
    """Return the module PIL.Image. Raises ImportError with a hint if Pillow is not installed."""
    try:
        return module_named("PIL.Image")
    except ImportError as error:
        raise ImportError(
            "scipy.misc's functions on images need Pillow: pip install pillow", name="PIL"
        ) from error


def bytescale(data: Any, cmin: Any = None, cmax: Any = None, high: int = 255, low: int = 0) -> Any:
    """Return an array as uint8, scaled so that its minimum becomes `low` and its maximum `high`. An
    array of uint8 is returned unchanged.
    """
    data = np.asarray(data)
    if data.dtype == np.uint8:
        return data
    if data.size == 0:
        return data.astype(np.uint8)
    first = data.min() if cmin is None else cmin
    last = data.max() if cmax is None else cmax
    if last < first:
        raise ValueError("`cmax` should be larger than `cmin`.")
    span = float(last - first) or 1.0
    scaled = (data - first) * ((high - low) / span) + low
    return (scaled.clip(low, high) + 0.5).astype(np.uint8)


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: Any = None,
    cmax: Any = None,
    pal: Any = None,
    mode: Any = None,
    channel_axis: Any = None,
) -> Any:
    """Return an array as an image. The elements of the array are gray values, or one of its axes
    has 3 or 4 channels.
    """
    array = np.asarray(arr)
    if array.ndim == 2 and mode == "F":
        return _pillow().fromarray(array.astype(np.float32))
    if array.ndim == 3:
        axes = [axis for axis in range(3) if array.shape[axis] in (3, 4)]
        if channel_axis is None and not axes:
            raise ValueError("Could not find channel dimension.")
        axis = channel_axis if channel_axis is not None else (2 if 2 in axes else axes[0])
        array = np.moveaxis(array, axis, -1)
    elif array.ndim != 2:
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    image = _pillow().fromarray(np.ascontiguousarray(bytescale(array, cmin, cmax, high, low)))
    return image if mode in (None, image.mode) else image.convert(mode)


def fromimage(im: Any, flatten: bool = False, mode: Any = None) -> Any:
    """Return an image as an array. If `flatten` is true, its elements are gray values of type
    float32.
    """
    if mode is not None and mode != im.mode:
        im = im.convert(mode)
    elif im.mode in ("P", "1"):
        im = im.convert("RGBA" if "transparency" in im.info else "RGB" if im.mode == "P" else "L")
    return np.array(im.convert("F") if flatten else im)


def imread(name: Any, flatten: bool = False, mode: Any = None) -> Any:
    """Read an image file as an array."""
    with _pillow().open(name) as image:
        return fromimage(image, flatten, mode)


def imsave(name: Any, arr: Any, format: Any = None) -> None:
    """Write an array as an image file. Values of types other than uint8 are scaled so that their
    minimum becomes 0 and their maximum 255.
    """
    image = toimage(arr)
    image.save(name) if format is None else image.save(name, format)


def _filter(interp: str) -> Any:
    names = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}
    return names[interp]


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: Any = None) -> Any:
    """Return a resized image.

    Args:
      size: a percentage if it is an int, a factor if it is a float, or a pair (height, width).
    """
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        size = size / 100.0
    if isinstance(size, (float, np.floating)):
        width, height = (int(length * size) for length in image.size)
    else:
        height, width = (int(length) for length in size[:2])
    return fromimage(image.resize((width, height), resample=_filter(interp)))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> Any:
    """Return an image that is rotated counterclockwise.

    Args:
      angle: the angle in degrees.
    """
    return fromimage(toimage(arr).rotate(angle, resample=_filter(interp)))


def imshow(arr: Any) -> None:
    """Show an array as an image."""
    toimage(arr).show()


def textsize(draw: Any, text: str, font: Any = None, *arguments: Any, **options: Any) -> Any:
    """Return the (width, height) of a drawn text."""
    _, _, right, bottom = draw.multiline_textbbox((0, 0), text, font=font)
    return right, bottom


def getsize(font: Any, text: str, *arguments: Any, **options: Any) -> Any:
    """Return the (width, height) of a text in a font."""
    _, _, right, bottom = font.getbbox(text)
    return right, bottom


def image_kind(file: Any, h: Any = None) -> str | None:
    """Return the format of an image file, such as "png", or None."""
    try:
        with _pillow().open(file) as image:
            return str(image.format).lower()
    except OSError:
        return None
