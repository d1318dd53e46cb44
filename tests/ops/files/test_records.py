"""tf.decode_csv: records of fields, quoted or not, as columns."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def decoded(records, defaults, **how):
    with tf.Session() as session:
        return [
            np.asarray(column).tolist() for column in session.run(read(records, defaults, **how))
        ]


def read(records, defaults, **how):
    return tf.decode_csv(tf.constant(records, tf.string), defaults, **how)


def test_each_column_is_a_tensor_of_its_defaults_dtype(graph):
    columns = tf.decode_csv(["1,a,2.5", '3,"b,""c""",4'], [[0], [""], np.zeros(1)])
    assert [column.dtype for column in columns] == [tf.int32, tf.string, tf.float64]
    assert [column.shape for column in columns] == [[2]] * 3
    with tf.Session() as session:
        result = [column.tolist() for column in session.run(columns)]
    assert result == [[1, 3], [b"a", b'b,"c"'], [2.5, 4.0]]
    names = [operation.name for operation in graph.get_operations()]
    assert names == [
        "DecodeCSV/records",
        *[f"DecodeCSV/record_defaults_{number}" for number in range(3)],
        "DecodeCSV",
    ]


X, Y, Z = ["x"], ["y"], ["z"]


@pytest.mark.parametrize(
    ("record", "defaults", "how", "expected"),
    [
        ("1,", [[0], [7]], {}, [1, 7]),
        (",", [0, 7], {}, [0, 7]),
        ("1,NA", [[0], [7]], {"na_value": "NA"}, [1, 7]),
        ('1,"NA"', [[0], [7]], {"na_value": "NA"}, [1, 7]),
        ('1,""', [X, Y], {}, [b"1", b"y"]),
        ('1,""', [X, Y], {"use_quote_delim": False}, [b"1", b'""']),
        ('1,a"b', [X, Y], {"use_quote_delim": False}, [b"1", b'a"b']),
        ('"1\n2","3\r"', [X, Y], {}, [b"1\n2", b"3\r"]),
        ("a,,b", [X, Y, Z], {}, [b"a", b"y", b"b"]),
        ("1\t2", [[0], [1]], {"field_delim": "\t"}, [1, 2]),
        ('1"2', [[0], [1]], {"field_delim": '"', "use_quote_delim": False}, [1, 2]),
        ("1,2,3", [[0], [1]], {"select_cols": [0, 2]}, [1, 3]),
        (" 1 , 2", [[0], Y], {}, [1, b" 2"]),
        ('"1",+2, -3 ', [[0]] * 3, {}, [1, 2, -3]),
        ("-inf,1e3, 0x10", [[0.0]] * 3, {}, [-np.inf, 1000, 16]),
        ("99999999999", [np.int64([0])], {}, [99999999999]),
        ([], [[1]], {}, [[]]),
        ([["1,2"], ["3,4"]], [[0], [1]], {}, [[[1], [3]], [[2], [4]]]),
    ],
)
def test_fields_are_read(record, defaults, how, expected):
    assert decoded(record, defaults, **how) == expected


@pytest.mark.parametrize(
    ("record", "defaults", "how", "message"),
    [
        ("1,", [[0], np.zeros(0, np.int32)], {}, "Field 1 is required but missing in record 0!"),
        ("", [X], {}, "Expect 1 fields but have 0 in record 0"),
        ("1,2,3", [X, Y], {}, "Expect 2 fields but have 3 in record 0"),
        (["1,2", "3"], [X, Y], {}, "Expect 2 fields but have 1 in record 1"),
        ("1,2,3", [X, Y], {"select_cols": [0, 7]}, "Expect 2 fields but have 1 in record 0"),
        ('1,a"b', [X, Y], {}, "Unquoted fields cannot have quotes/CRLFs inside"),
        ("1\n", [X], {"use_quote_delim": False}, "Unquoted fields cannot have quotes/CRLFs inside"),
        ('1,a"b,z', [X, Y], {"select_cols": [0, 2]}, "Unquoted fields cannot have quotes"),
        ('1,"ab"c', [X, Y], {}, "Quote inside a string has to be escaped by another quote"),
        ('1,"ab', [X, Y], {}, "Quoted field has to end with quote followed by delim or end"),
        ('1,"', [X, Y], {}, "Quoted field has to end with quote followed by delim or end"),
        ("1.5", [[0]], {}, "Field 0 in record 0 is not a valid int32: 1.5"),
        ("99999999999", [[0]], {}, "Field 0 in record 0 is not a valid int32: 99999999999"),
        (["1,2", "3,z"], [[0], [0.0]], {}, "Field 1 in record 1 is not a valid float: z"),
        ("1,2", [X, Y], {"field_delim": ",,"}, "field_delim should be only 1 char"),
        ("1,2", [X, Y], {"field_delim": ""}, "field_delim should be only 1 char"),
    ],
)
def test_what_is_no_record_is_refused_in_the_run(record, defaults, how, message):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        decoded(record, defaults, **how)
    assert message in str(caught.value)


def test_a_fed_default_has_one_element_at_most():
    default = tf.placeholder(tf.int32)
    columns = read("1", [default])
    with tf.Session() as session:
        assert session.run(columns, {default: [5]}) == [1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="default"):
            session.run(columns, {default: [5, 6]})


@pytest.mark.parametrize(
    ("error", "defaults", "columns", "message"),
    [
        (TypeError, [[True], [1]], None, "DataType bool not in"),
        (ValueError, [[0, 1], [1]], None, "length-0 or length-1 vector, or a scalar"),
        (ValueError, [[[0]], [1]], None, "rank"),
        (ValueError, [], None, "one column at least"),
        (ValueError, [[0], [1]], [2, 0], "select_cols is not strictly increasing"),
        (ValueError, [[0], [1]], [0, 0], "select_cols is not strictly increasing"),
        (ValueError, [[0], [1]], [-1, 0], "select_cols contains negative values"),
        (ValueError, [[0], [1]], [0], "Length of select_cols and record_defaults do not match"),
    ],
)
def test_columns_that_cannot_be_are_refused_at_once(error, defaults, columns, message):
    with pytest.raises(error, match=message):
        read("1,2", defaults, select_cols=columns)
