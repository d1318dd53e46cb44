"""Strings: the public functions, beside the samples in `samples_of_strings.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf
from gpugraph.ops.strings.hash_algorithms import farm_fingerprint, murmur, sip_hash

Invalid = tf.errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def fed(value: Any) -> Any:
    return tf.placeholder_with_default(np.array(value), None)


def run(tensor: Any) -> Any:
    with tf.Session() as session:
        return session.run(tensor)


@pytest.mark.parametrize("shape", [[], None])
def test_scalar_strings_can_be_fed(shape: Any) -> None:
    x = tf.placeholder(tf.string, shape)
    with tf.Session() as session:
        assert session.run([tf.string_strip(x), x + "!"], {x: " a "}) == [b"a", b" a !"]


# -- numbers


@pytest.mark.parametrize(
    ("value", "how", "text"),
    [
        (np.float32(1.5), {}, b"1.500000"),
        (np.float32(1.5), {"precision": 1}, b"1.5"),
        (np.float64(1e10), {"shortest": True}, b"1e+10"),
        (1.0, {"scientific": True}, b"1.000000e+00"),
        (1.0, {"width": 10, "fill": "0"}, b"001.000000"),
        (np.inf, {"width": 6, "fill": "0"}, b"   inf"),
        (np.nan, {"width": 6, "fill": "-"}, b"nan   "),
        (np.int8(-4), {"width": 5, "fill": "0"}, b"-0004"),
        (np.int32(3), {"fill": "+"}, b"+3"),
        (np.uint8(200), {"fill": "+"}, b"200"),
        (np.complex64(1 - 2j), {"precision": 1}, b"(1.0,-2.0)"),
        (True, {}, b"true"),
        ("ab", {"width": 4}, b"  ab"),
        ("ab", {"width": 4, "fill": "-"}, b"ab  "),
    ],
)
def test_numbers_are_written_as_printf_does(value: Any, how: Any, text: bytes) -> None:
    assert run(tf.as_string(fed(value), **how)) == text


@pytest.mark.parametrize(
    ("value", "how", "message"),
    [
        (1.0, {"fill": "x"}, 'Fill argument not supported: "x"'),
        (1.0, {"fill": "00"}, "Fill string must be one or fewer characters"),
        (1.0, {"scientific": True, "shortest": True}, "Cannot select both scientific and shorte"),
        (1, {"precision": 2}, "precision not supported for datatype int64"),
        (1, {"shortest": True}, "scientific and shortest format not supported for datatype int64"),
    ],
)
def test_formats_that_contradict_are_refused(value: Any, how: Any, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        run(tf.as_string(fed(value), **how))
    assert message in caught.value.message


@given(st.floats(allow_nan=False, width=32))
def test_what_is_written_can_be_read(value: float) -> None:
    with tf.Graph().as_default():
        text = tf.as_string(tf.constant(np.float32(value)), precision=60)
        assert run(tf.string_to_number(text)) == np.float32(value)


@pytest.mark.parametrize(
    ("text", "dtype", "number"),
    [
        ("0x1p3", tf.float32, 8.0),
        ("-Infinity", tf.float64, -np.inf),
        (" .5\t", tf.float32, 0.5),
        ("1e400", tf.float64, np.inf),
        ("-9223372036854775808", tf.int64, -(2**63)),
    ],
)
def test_numbers_are_read(text: str, dtype: Any, number: float) -> None:
    assert run(tf.string_to_number(fed(text), dtype)) == number


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        *((text, tf.float32) for text in ("", " ", "1_0", "1f", "1e", ".", "0x", "inff", "\uff11")),
        *((text, tf.int32) for text in ("", "1.5", "0x10", "2147483648", "+-1", "1_0")),
        ("-1", tf.uint32),
    ],
)
def test_what_is_no_number_is_refused(text: str, dtype: Any) -> None:
    with pytest.raises(Invalid, match="StringToNumberOp could not correctly convert string: "):
        run(tf.string_to_number(fed([text]), dtype))


def test_numbers_are_of_few_dtypes() -> None:
    with pytest.raises(TypeError, match="DataType int8 not in list of allowed values"):
        tf.string_to_number("1", tf.int8)


# -- parts, case, base64


@pytest.mark.parametrize("pos", [6, -6])
def test_parts_start_inside(pos: int) -> None:
    with pytest.raises(Invalid, match=rf"pos {pos} out of range for string b'hello' at index 1"):
        run(tf.substr(fed(["helloes", "hello"]), pos, 1))
    assert run(tf.substr(fed("hello"), 5, 1)) == b""
    assert run(tf.substr(fed("hello"), 1, -1)) == b"ello"


def test_units_and_encodings_are_known() -> None:
    with pytest.raises(ValueError, match='passed string \'WORD\' not in: "BYTE", "UTF8_CHAR"'):
        tf.strings.length(fed("a"), unit="WORD")
    with pytest.raises(Invalid, match="is supported, received latin1"):
        run(tf.strings.lower(fed("a"), encoding="latin1"))
    assert run(tf.strings.length(fed("añ"), unit="UTF8_CHAR")) == 2


@pytest.mark.parametrize("text", ["YQ=", "YW I", "+/+/", "====", "YWJ==", "Y==="])
def test_what_is_no_base64_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match=r"Invalid character found in base64\."):
        run(tf.decode_base64(fed(text)))


def test_base64_has_no_single_character_left() -> None:
    with pytest.raises(Invalid, match=r"Base64 string length cannot be 1 modulo 4\."):
        run(tf.decode_base64(fed("Y")))


@given(st.binary(max_size=9), st.booleans())
def test_base64_gives_back_what_went_in(data: bytes, pad: bool) -> None:
    with tf.Graph().as_default():
        x = tf.constant(np.array(data, object))
        assert run(tf.decode_base64(tf.encode_base64(x, pad))) == data


# -- regular expressions

# RE2's results for the same.
REPLACED = {
    "groups": ("abcab", "a(b)", r"<\1\0>", "<bab>c<bab>"),
    "no such group": ("abc", "a", r"\1", "abc"),
    "a group that took no part": ("xax", "(b)?a", r"[\1]", "x[]x"),
    "characters, not bytes": ("añb", ".", "x", "xxx"),
    "not a newline": ("a\nb", "a.b", "z", "a\nb"),
    "empty matches": ("abc", "x*", "-", "-a-b-c-"),
    "the end, not before a newline": ("a\n", "$", "!", "a\n!"),
    "lines": ("a\nb", "(?m)$", "!", "a!\nb!"),
    "words are ASCII": ("héé", r"\w", "z", "zéé"),
    "named classes": ("ab1", "[[:alpha:]]", "z", "zz1"),
    "classes that are not": ("é1", "[[:^digit:]]", "z", "z1"),
    "letters": ("é1", r"\pL", "z", "z1"),
    "quoted": ("a.b", r"\Q.\E", "z", "azb"),
    "brackets in classes": ("a[b]$", r"[[\]$]", "z", "azbzz"),
    "case": ("aB", "(?i)b", "z", "az"),
    "the very end": ("ab", r"b\z", "z", "az"),
    "backslashes": ("a", "a", r"\\", "\\"),
    "a rewrite that breaks off": ("abca", "a", r"x\q", "xbcx"),
}


@pytest.mark.parametrize(("text", "pattern", "rewrite", "wanted"), REPLACED.values(), ids=REPLACED)
def test_regular_expressions_are_re2s(text: str, pattern: str, rewrite: str, wanted: str) -> None:
    assert run(tf.regex_replace(fed(text), pattern, rewrite)).decode() == wanted
    assert run(tf.regex_replace(fed(text), tf.constant(pattern), rewrite)).decode() == wanted


def test_bytes_that_are_no_text_stay() -> None:
    assert run(tf.regex_replace(fed(np.array(b"\xffa\xfe", object)), "a", "b")) == b"\xffb\xfe"


def test_one_match_or_all() -> None:
    assert run(tf.regex_replace(fed("aaa"), "a", "b", replace_global=False)) == b"baa"
    assert run(tf.strings.regex_full_match(fed(["aa", "ab", ""]), "a*")).tolist() == [1, 0, 1]


@pytest.mark.parametrize("pattern", ["(", "(?=a)", "(?<!a)", r"(a)\1", r"\Z", "[[:odd:]]", "*"])
def test_patterns_that_re2_refuses_are_refused(pattern: str) -> None:
    for make in (pattern, tf.constant(pattern)):
        with pytest.raises(Invalid, match="Invalid pattern: "):
            run(tf.strings.regex_full_match(fed("a"), make))


def test_a_pattern_is_one() -> None:
    with pytest.raises(Invalid, match="Pattern must be scalar, but received"):
        run(tf.regex_replace(fed("a"), fed(["a", "b"]), fed("c")))


# -- hashes

# TensorFlow's hashes of n bytes, modulo 2**61 - 1: MurmurHash64A, FarmHash, SipHash.
MODULUS = 2**61 - 1
HASHED = {
    0: (105434511174508095, 1936946117179621459, 139821925654099720),
    1: (193699880093551931, 550085751958558784, 495752738882307409),
    3: (1498669313098793237, 483250983007917401, 1195132394273337321),
    4: (232463294988718676, 1137227678837857020, 389205188203826775),
    7: (1831883633107173063, 2283230375004712485, 2159740576047916351),
    8: (1145370807582840261, 1459907555974726560, 1811920568314531982),
    9: (1367315802315150385, 2084277359000196350, 1315844420450852690),
    16: (2075740999584950798, 986506875586071703, 827016061617646238),
    17: (1898674441612929655, 1440273091539441578, 2123879338916487207),
    24: (1391962460760991048, 1353008441833649956, 2138430517810235303),
    32: (2266374233816191806, 2303451241778806811, 1256761252035742492),
    33: (773333800069362166, 1899142522721240171, 2012767241803876451),
    48: (1718479041312929044, 2215508110813489849, 1901132422061326729),
    64: (415737158765551524, 1233890031545200074, 352517149571226971),
    65: (1786111622302526109, 245071660283424945, 335406621070702921),
    100: (612804966126823781, 1930095775783032339, 1623566751241169388),
    128: (1128883925646538258, 1018648236064844741, 1218957289649079675),
    129: (1537076293525479382, 2138243713007125140, 241516856485415640),
    300: (1986401614707791957, 2004356472708516227, 1169773325301765394),
}


@pytest.mark.parametrize("size", HASHED)
def test_hashes_are_tensorflows(size: int) -> None:
    data = bytes((number * 7 + 1) % 256 for number in range(size))
    hashes = murmur(data), farm_fingerprint(data), sip_hash(data, (123, -456))
    assert tuple(number % MODULUS for number in hashes) == HASHED[size]


def test_buckets_of_strings() -> None:
    words = fed(["a", "", "hello"])
    assert run(tf.string_to_hash_bucket(words, 1000)).tolist() == [868, 899, 938]
    assert run(tf.string_to_hash_bucket_fast(words, 1000)).tolist() == [939, 263, 296]
    strong = tf.string_to_hash_bucket_strong(words, 1000, [1, 2])
    assert run(strong).tolist() == [646, 435, 622]
    for make in (tf.string_to_hash_bucket, tf.string_to_hash_bucket_fast):
        with pytest.raises(ValueError, match=r"of 'String\w+' Op passed 0 less than minimum 1"):
            make(words, 0)
    with pytest.raises(Invalid, match="Key must have 2 elements"):
        run(tf.string_to_hash_bucket_strong(words, 10, [1]))


# -- joining


def test_joined_strings_have_one_shape() -> None:
    with pytest.raises(ValueError, match="in both shapes must be equal"):
        tf.string_join([tf.placeholder(tf.string, [2]), tf.placeholder(tf.string, [3])])
    tensor = tf.string_join(
        [tf.placeholder(tf.string, []), tf.placeholder(tf.string, [None, 3]), [["a", "b", "c"]]]
    )
    assert tensor.shape.as_list() == [1, 3]


@pytest.mark.parametrize(
    ("axis", "joined"),
    [
        (None, b"a,b,c,d"),
        ([0, 1], b"a,c,b,d"),
        ([1, 0], b"a,b,c,d"),
        (0, [b"a,c", b"b,d"]),
        (-1, [b"a,b", b"c,d"]),
        ([], [[b"a", b"b"], [b"c", b"d"]]),
    ],
)
def test_axes_are_joined_in_turn(axis: Any, joined: Any) -> None:
    for rows in (fed([["a", "b"], ["c", "d"]]), tf.constant([["a", "b"], ["c", "d"]])):
        result = run(tf.reduce_join(rows, axis, separator=","))
        assert (result if isinstance(result, bytes) else result.tolist()) == joined


def test_axes_that_are_not_there_are_refused() -> None:
    rows = tf.constant([["a", "b"], ["c", "d"]])
    with pytest.raises(ValueError, match="Invalid reduction dimension 2 for input with 2 dim"):
        tf.reduce_join(rows, 2)
    axis = tf.placeholder(tf.int32)
    tensor = tf.reduce_join(rows, axis)
    with tf.Session() as session:
        with pytest.raises(tf.errors.OutOfRangeError, match="dimension -3 for input with 2 dim"):
            session.run(tensor, {axis: -3})
        with pytest.raises(Invalid, match="Duplicate reduction dimension -2"):
            session.run(tensor, {axis: [0, -2]})
    with pytest.raises(ValueError, match="Cannot specify both 'axis' and 'reduction_indices'"):
        tf.reduce_join(rows, 0, reduction_indices=0)
    with pytest.raises(ValueError, match="Cannot specify both 'keepdims' and 'keep_dims'"):
        tf.reduce_join(rows, 0, keepdims=True, keep_dims=True)


def test_segments_are_in_range() -> None:
    words = fed(["a", "b", "c"])
    join = tf.strings.unsorted_segment_join
    assert run(join(words, [0, 2, 0], 3, ",")).tolist() == [b"a,c", b"", b"b"]
    for ids in ([0, 3, 0], [0, -1, 0]):
        with pytest.raises(Invalid, match="segment_ids are not allowed to exceed num_segments"):
            run(join(words, ids, 3))
    with pytest.raises(ValueError, match="Number of segments must be non-negative but got -1"):
        join(words, [0, 1, 2], -1)


# -- bytes


def test_bytes_are_numbers_of_one_size() -> None:
    raw = fed(np.array([b"\x01\x00", b"\x02\x00"], object))
    assert run(tf.decode_raw(raw, tf.int16)).tolist() == [[1], [2]]
    assert run(tf.decode_raw(raw, tf.int16, little_endian=False)).tolist() == [[256], [512]]
    with pytest.raises(Invalid, match="has length 2 that is not a multiple of 4, the size of int"):
        run(tf.decode_raw(raw, tf.int32))
    with pytest.raises(Invalid, match="element 1 has size 2 != 1"):
        run(tf.decode_raw(fed(["a", "bc"]), tf.uint8))
    with pytest.raises(TypeError, match="DataType string not in list of allowed values"):
        tf.decode_raw("a", tf.string)
    with pytest.raises(ValueError, match="Cannot specify both 'input_bytes' and 'bytes'"):
        tf.decode_raw("a", tf.uint8, bytes="b")
