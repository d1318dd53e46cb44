"""The assertions of a test case on arrays and tensors. They check, for example, that elements are
equal, close or in a range.

Arguments are arrays, values that can be converted to arrays, or tensors. A session evaluates the
tensors.
"""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpugraph.base.dtypes import as_dtype
from gpugraph.graph.client.tensor import Tensor

_MAX_SHOWN = 10


def _format(array: Any, where: Any) -> str:
    """Return a text with the first ten elements where the mask `where` is true, and their
    indices.
    """
    places = np.argwhere(where)[:_MAX_SHOWN].tolist()
    lines = [f"  {place} : {array[tuple(place)]}" for place in places]
    omitted = np.count_nonzero(where) - len(lines)
    return "\n".join(lines + ([f"  ... and {omitted} more"] if omitted else []))


class Comparisons(unittest.TestCase):
    """Assertions on arrays and tensors. The message of the AssertionError states which elements
    differ, and by how much.
    """

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Check the dtype of an array or tensor. `expected_dtype` is a NumPy or TensorFlow
        dtype.
        """
        dtype = target.dtype if isinstance(target, Tensor) else self._array(target).dtype
        self.assertEqual(as_dtype(dtype).base_dtype, as_dtype(expected_dtype))

    def evaluate(self, tensors: Any) -> Any:
        """Evaluate a tensor, or a structure of tensors, in a session. Return the values."""
        raise NotImplementedError("a test case evaluates by its session")

    def _array(self, value: Any) -> Any:
        if hasattr(value, "graph"):
            value = self.evaluate(value)
        return np.asarray(value)

    def _same_shape(self, a: Any, b: Any, msg: Any) -> None:
        text = f"Shape mismatch: expected {a.shape}, got {b.shape}. Contents: {b!r}."
        self.assertEqual(a.shape, b.shape, self._message(text, msg))

    def _message(self, text: str, msg: Any) -> str:
        return text if msg is None else f"{text}\n{msg}"

    def _refuse(self, what: str, bad: Any, a: Any, b: Any, msg: Any) -> None:
        parts = [what, f"{np.count_nonzero(bad)} of {a.size} elements differ; of the first:"]
        parts += [_format(a, bad), "of the second:", _format(b, bad)]
        self.fail(self._message("\n".join(parts), msg))

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Check that shapes and elements are equal. NaN is considered equal to NaN."""
        one, other = self._array(a), self._array(b)
        self._same_shape(one, other, msg)
        equal = one == other
        if one.dtype.kind in "fc" and other.dtype.kind in "fc":
            equal = equal | (np.isnan(one) & np.isnan(other))
        if not np.all(equal):
            self._refuse("Arrays are not equal.", ~np.asarray(equal, bool), one, other, msg)

    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Check that the shapes differ, or that at least one element differs."""
        try:
            self.assertAllEqual(a, b)
        except self.failureException:
            return
        self.fail(self._message("The two values are equal at all elements.", msg))

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None
    ) -> None:
        """Check that |a - b| <= atol + rtol * |b| for all elements.

        Args:
          a, b: arrays or tensors, or lists, tuples and dicts of arrays and tensors with the same
            structure.
        """
        self._close(a, b, rtol, atol, "", msg)

    def _close(self, a: Any, b: Any, rtol: float, atol: float, path: str, msg: Any) -> None:
        if hasattr(a, "_asdict") and not isinstance(a, Tensor):
            a = a._asdict()
        if hasattr(b, "_asdict") and not isinstance(b, Tensor):
            b = b._asdict()
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            both = isinstance(a, Mapping) and isinstance(b, Mapping)
            if not both or set(a) != set(b):
                self.fail(
                    self._message(f"a{path} and b{path} have different keys: {a} and {b}", msg)
                )
            for key in a:
                self._close(a[key], b[key], rtol, atol, f"{path}[{key}]", msg)
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and self._nested(a, b):
            self.assertEqual(len(a), len(b), self._message(f"Lengths of a{path} and b{path}", msg))
            for index, (one, other) in enumerate(zip(a, b, strict=True)):
                self._close(one, other, rtol, atol, f"{path}[{index}]", msg)
        else:
            self._close_arrays(a, b, rtol, atol, path, msg)

    def _nested(self, *values: Any) -> bool:
        """Return whether lists must be compared item by item, because they can't be converted to
        arrays.

        They can't be converted if their items have different shapes, or contain tensors or dicts.
        """
        if any(isinstance(x, Mapping) or hasattr(x, "graph") for value in values for x in value):
            return True
        try:
            return any(np.asarray(value).dtype == object for value in values)
        except ValueError:
            return True

    def _close_arrays(self, a: Any, b: Any, rtol: float, atol: float, path: str, msg: Any) -> None:
        one, other = self._array(a), self._array(b)
        if one.size == other.size == 1 and not (one.ndim and other.ndim):
            one, other = one.reshape(()), other.reshape(())
        self._same_shape(one, other, msg)
        bad = ~np.isclose(one, other, rtol=rtol, atol=atol, equal_nan=True)
        if bad.any():
            max_difference = np.max(np.abs(one - other), where=bad, initial=0)
            what = f"Not equal to tolerance rtol={rtol}, atol={atol}: a{path} differs from b{path}"
            self._refuse(f"{what} by {max_difference} at most.", bad, one, other, msg)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        """Check that `assertAllClose` fails."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except self.failureException:
            return
        self.fail(self._message("The two values are close at all elements.", kwargs.get("msg")))

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: Any = None,
    ) -> None:
        """Call `assertAllClose` with the tolerance for the narrower of the two dtypes."""
        del bfloat16_rtol, bfloat16_atol
        one, other = self._array(a), self._array(b)
        narrow = {one.dtype, other.dtype}
        if narrow & {np.dtype(np.float32), np.dtype(np.complex64)}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if np.dtype(np.float16) in narrow:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        self.assertAllClose(one, other, rtol, atol, msg)

    def assertNear(self, f1: Any, f2: Any, err: float, msg: Any = None) -> None:
        """Check that |f1 - f2| <= err for two numbers or two arrays of one element."""
        one, other = np.asarray(f1).item(), np.asarray(f2).item()
        text = f"{one:f} != {other:f} +/- {err:f} (difference: {abs(one - other)})"
        self.assertTrue(bool(one == other or abs(one - other) <= err), self._message(text, msg))

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: Any = None) -> None:
        """Call `assertNear` for each pair of elements."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: Any = None) -> None:
        """Check that the l2 norm of the difference of two arrays is below `err`."""
        distance = np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2))
        text = f"the arrays are {distance} apart, {err} is allowed"
        self.assertTrue(bool(distance < err), self._message(text, msg))

    def _all(self, a: Any, bad: Any, what: str) -> None:
        if bad.any():
            count = np.count_nonzero(bad)
            self.fail(f"{count} of the {a.size} element(s) are {what}:\n{_format(a, bad)}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Check that every element is greater than the target."""
        array = self._array(a)
        self._all(array, ~(array > comparison_target), f"not greater than {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Check that every element is less than the target."""
        array = self._array(a)
        self._all(array, ~(array < comparison_target), f"not less than {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Check that every element is greater than or equal to the target."""
        array = self._array(a)
        self._all(array, ~(array >= comparison_target), f"less than {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Check that every element is less than or equal to the target."""
        array = self._array(a)
        self._all(array, ~(array <= comparison_target), f"greater than {comparison_target}")

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Check that every element is between the bounds. An open bound itself is not allowed."""
        array = self._array(target)
        low = array <= lower_bound if open_lower_bound else array < lower_bound
        high = array >= upper_bound if open_upper_bound else array > upper_bound
        signs = "(" if open_lower_bound else "[", ")" if open_upper_bound else "]"
        span = f"{signs[0]}{lower_bound}, {upper_bound}{signs[1]}"
        bad = low | high
        if array.dtype.kind in "fc":
            bad = bad | np.isnan(array)
        self._all(array, np.asarray(bad), f"outside the range {span}")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Check that every element is in the collection `expected_set`."""
        strangers = sorted(set(self._array(target).reshape(-1).tolist()) - set(expected_set))
        if strangers:
            self.fail(
                f"{len(strangers)} unique element(s) are not in the set {expected_set}: {strangers}"
            )

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: Any = None) -> None:
        """Check that the shape of a NumPy array is the static shape of a tensor.

        Raises TypeError if `np_array` is not a NumPy array or `tf_tensor` is not a tensor.
        """
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError(f"np_array must be a Numpy ndarray or Numpy scalar, not {np_array!r}")
        if not isinstance(tf_tensor, Tensor):
            raise TypeError(f"tf_tensor must be a Tensor, not {tf_tensor!r}")
        self.assertEqual(list(np_array.shape), tf_tensor.shape.as_list(), msg)
