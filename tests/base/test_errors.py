"""Errors: codes, classes and travelling between processes."""

import pickle

import pytest

from gpugraph.base import errors

NAMES = [
    "Cancelled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
]


def constant(name):
    words = "".join("_" + c if c.isupper() else c for c in name).strip("_")
    return getattr(errors, words.upper())


@pytest.mark.parametrize(("code", "name"), [*enumerate(NAMES, 1)])
def test_each_code_has_its_class(code, name):
    cls = getattr(errors, f"{name}Error")
    error = cls("node", "op", "what happened")
    assert constant(name) == code == error.error_code
    assert errors.exception_type_from_error_code(code) is cls
    assert errors.error_code_from_exception_type(cls) == code
    assert isinstance(error, errors.OpError)
    assert (error.node_def, error.op, error.message) == ("node", "op", "what happened")
    assert str(error) == "what happened"
    assert repr(error) == f"{name}Error('what happened')"


@pytest.mark.parametrize("code", [0, 17, -1])
def test_codes_without_a_class(code):
    with pytest.raises(KeyError):
        errors.exception_type_from_error_code(code)


def test_classes_without_a_code_are_unknown():
    assert errors.error_code_from_exception_type(ValueError) == errors.UNKNOWN
    assert errors.error_code_from_exception_type(errors.OpError) == errors.UNKNOWN


class Mine(errors.NotFoundError):
    def __init__(self, path):
        super().__init__(None, None, f"no {path}")
        self.path = path


def test_subclasses_keep_the_code():
    assert errors.error_code_from_exception_type(Mine) == errors.NOT_FOUND
    assert Mine("a").error_code == errors.NOT_FOUND


def test_unknown_error_takes_a_code():
    assert errors.UnknownError(None, None, "m", 77).error_code == 77
    assert errors.OpError(None, None, "m", 5).error_code == 5


@pytest.mark.parametrize(
    "error",
    [
        errors.OpError({"name": "a"}, None, "m", 5),
        errors.UnknownError(None, None, "m", 77),
        errors.InvalidArgumentError({"name": "a"}, None, "m"),
        Mine("a"),
    ],
)
def test_pickle(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert vars(again) == vars(error)
    assert str(again) == str(error)
    assert repr(again) == repr(error)


def test_pickle_leaves_the_operation_behind():
    error = errors.InternalError("node", lambda: None, "m")
    again = pickle.loads(pickle.dumps(error))
    assert again.op is None
    assert again.node_def == "node"
    assert error.op is not None


def test_interface_errors_are_python_errors():
    assert issubclass(errors.OperatorNotAllowedInGraphError, TypeError)
    assert issubclass(errors.InaccessibleTensorError, ValueError)


def test_codes_are_tensorflows():
    assert errors.OK == 0


def test_classes_have_the_public_path():
    assert errors.InvalidArgumentError.__module__ == errors.OpError.__module__ == "gpugraph.errors"
