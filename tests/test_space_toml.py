"""Spaces written to TOML and read again; errors name the line."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innerloop import Choice, InputError, Integer, Real, Space
from innerloop.space import toml


def make(parameters, constraints):
    return Space(parameters, constraints=constraints)


def text_of(space):
    return toml.dumps(space.parameters, space.constraints)


EXAMPLE = """\
epochs = 10
name = "a b"

[lr]
type = "real"
low = 1e-5
high = 1e-1
log = true

[depth]
type = "integer"
low = 1
high = 9
step = 2

["act.fn"]
type = "choice"
values = ["relu", 2, 2.5, true]

[x]
type = "real"
low = 0
high = 1

[[constraint]]
expression = "x + depth <= 5"

[[constraint]]
expression = "x >= 0.1"
"""


def test_an_example_is_read():
    assert toml.loads(EXAMPLE, make) == Space(
        {
            "epochs": 10,
            "name": "a b",
            "lr": Real(1e-5, 1e-1, log=True),
            "depth": Integer(1, 9, step=2),
            "act.fn": Choice(["relu", 2, 2.5, True]),
            "x": Real(0, 1),
        },
        constraints=["x + depth <= 5", "x >= 0.1"],
    )


characters = st.characters(exclude_categories=["Cs"])
names = st.text(characters, min_size=1, max_size=8)
words = st.text(characters, max_size=8)
numbers = st.floats(-1e6, 1e6)
reals = st.tuples(numbers, numbers).filter(lambda b: b[0] < b[1]).map(lambda b: Real(*b))
positives = st.tuples(st.floats(1e-9, 1.0), st.floats(2.0, 1e9)).map(lambda b: Real(*b, log=True))
integers = st.tuples(st.integers(-50, 0), st.integers(1, 50), st.integers(1, 7)).map(
    lambda b: Integer(b[0], b[1], step=b[2])
)
choices = st.lists(st.one_of(words, numbers, st.booleans()), min_size=2, max_size=5).filter(
    lambda values: len(set(values)) == len(values)
)
fixed = st.one_of(words, st.integers(-(10**12), 10**12), numbers, st.booleans())
anything = st.one_of(reals, positives, integers, choices.map(Choice), fixed)


@given(st.dictionaries(names, anything, max_size=5))
def test_written_and_read_again(parameters):
    parameters = {"searched": Real(0, 1), **parameters}
    space = Space(parameters)
    assert toml.loads(text_of(space), make) == space
    assert tuple(toml.loads(text_of(space), make).parameters) == space.names


def test_constraints_are_written_and_read_again():
    constraints = ["x + y <= 1", "0 <= x - y"]
    space = Space({"x": Real(0, 1), "y": Real(0, 1), "z": 3}, constraints=constraints)
    assert toml.loads(text_of(space), make) == space


def test_what_is_written_is_short():
    written = text_of(Space({"n": 3, "x": Real(0, 1), "k": Integer(1, 3)}))
    assert written == (
        'n = 3\n\n[x]\ntype = "real"\nlow = 0.0\nhigh = 1.0\n'
        '\n[k]\ntype = "integer"\nlow = 1\nhigh = 3\n'
    )
    assert tomllib.loads(written)["n"] == 3


def test_a_parameter_called_constraint():
    space = Space({"constraint": Real(0, 1)})
    assert toml.loads(text_of(space), make) == space
    with pytest.raises(InputError, match="another name"):
        toml.dumps({"constraint": Real(0, 1)}, ["constraint <= 1"])


def test_none_cannot_be_written():
    with pytest.raises(InputError, match=r"'act'.*no way to write None"):
        toml.dumps({"act": Choice(["a", None])})


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[x]\ntype = 'real'\nlow = \nhigh = 1\n", 3, "not TOML"),
        ("[x]\ntype = 'real'\nlow = 0\nhigh = 1\n[x]\n", 5, "not TOML"),
        ("[x]\ntype = 'reel'\nlow = 0\nhigh = 1\n", 2, "type must be one of"),
        ("[x]\n\ntype = 'real'\nlow = 'a'\nhigh = 1\n", 4, "low must be a finite number"),
        ("[x]\ntype = 'real'\nlow = 0\nhigh = nan\n", 4, "high must be a finite number"),
        ("[x]\ntype = 'real'\nlow = 2\nhigh = 1\n", 3, "low must not be above high"),
        ("[x]\ntype = 'real'\nlow = 0\nhigh = 1\nlog = true\n", 5, "needs low above 0"),
        ("[x]\ntype = 'real'\nlow = 0\n", 1, "takes the keys"),
        ("[y]\ntype = 'real'\nlow = 0\nhigh = 1\n\n[x]\ntype = 'integer'\nlow = 0.5\nhigh = 1", 8,
         "low must be an integer"),
        ("[x]\ntype = 'real'\nlow = 0\nhigh = 1\nlo = 3\n", 5, "takes the keys"),
        ("[x]\ntype = 'choice'\nvalues = [\n 1,\n 1]\n", 3, "must differ"),
        ("a = 1\nb = 1979-05-27\n[x]\ntype = 'real'\nlow = 0\nhigh = 1\n", 2, "'b'"),
        ("[a.b]\ntype = 'real'\nlow = 0\nhigh = 1\n", 1, '["a.b"]'),
        ("x = { type = 'real', low = 3, high = 1 }\n", 1, "low must not be above"),
        ("[x]\ntype='real'\nlow=0\nhigh=1\n[[constraint]]\nexpression = 'x*x == 1'\n", 5,
         "not linear"),
        ("[x]\ntype='real'\nlow=0\nhigh=1\n[[constraint]]\nexpression = 'x <= 1'\n"
         "[[constraint]]\nexpression = 'y <= 1'\n", 7, "names 'y'"),
        ("[x]\ntype='real'\nlow=0\nhigh=1\n[[constraint]]\ntext = 'x <= 1'\n", 5, "takes one key"),
        ("[x]\ntype='real'\nlow=0\nhigh=1\n[[constraint]]\nexpression = 1\n", 5, "in quotes"),
        ("[x]\ntype='real'\nlow=0\nhigh=1\n[[constraint]]\nexpression = 'x <= -1'\n", 5,
         "leave nothing"),
    ],
)  # fmt: skip
def test_errors_name_the_line(text, line, words, tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        toml.read(path, make)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert words in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*none\.toml: No such file"):
        toml.read(tmp_path / "none.toml", make)
    with pytest.raises(InputError, match=r"cannot read .*: Is a directory"):
        toml.read(tmp_path, make)
    (tmp_path / "latin.toml").write_bytes(b"a = 1\nb = '\xe9'\n")
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        toml.read(tmp_path / "latin.toml", make)
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(InputError, match=r"empty\.toml: a space needs a parameter"):
        toml.read(tmp_path / "empty.toml", make)


def test_a_space_is_read_from_its_own_file(tmp_path):
    space = Space(
        {"x": Real(0.0, 1.0), "n": Integer(1, 5), "c": Choice(["a", "b"]), "k": 3},
        constraints=["x + n <= 4"],
    )
    path = tmp_path / "space.toml"
    path.write_text(space.to_toml())
    assert Space.from_toml(path) == space
