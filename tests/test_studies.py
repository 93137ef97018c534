"""Studies in a SQLite file: asked, told, resumed, shared, and their targets."""

import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innerloop import Choice, InputError, Integer, Optimizer, Real, Space
from innerloop.errors import StorageError, StudyError
from innerloop.run.loop import Pace
from innerloop.studies.command import Command
from innerloop.studies.create import create_study
from innerloop.studies.optimizers import optimizer_of
from innerloop.studies.owners import is_dead, this_process
from innerloop.studies.processes import Processes
from innerloop.studies.results import tell_file, tell_rows
from innerloop.studies.run import run
from innerloop.studies.storage import open_storage, shown
from innerloop.studies.study import Study, open_study, studies_in
from innerloop.studies.targets import Function, TargetError, reported, returned

optuna.logging.set_verbosity(optuna.logging.CRITICAL)

PATIENCE = 60.0  # seconds until something that should have happened is taken to have not
SPACE = Space(
    {
        "x": Real(0, 1),
        "y": Real(0, 1),
        "k": Integer(1, 5),
        "kind": Choice(["a", "b", None, True]),
        "epochs": 3,
        "single": Integer(2, 2),
    },
    constraints=["x + y <= 0.5", "k + epochs <= 6"],
)


def loss(params):
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.4) ** 2 + params["k"]


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/study.db"


def play(study, trials):
    for _ in range(trials):
        record = study.ask()
        study.tell(record.id, loss(record.params))


def test_proposals_honour_the_space_and_approach_the_optimum(url):
    study = create_study(url, "s", space=SPACE, seed=1)
    play(study, 24)
    for record in study.records():
        assert SPACE.check(record.params) == record.params
        assert list(record.params) == list(SPACE.names)
    # On x + y = 0.5 the nearest point to (0.3, 0.4) is (0.2, 0.3).
    assert study.best().value == pytest.approx(1.02, abs=2e-3)


def test_two_halves_equal_the_whole(tmp_path):
    space = Space({"x": Real(0, 1), "y": Real(0, 1), "k": Integer(1, 5)})
    whole = create_study(f"sqlite:///{tmp_path}/a.db", "s", space=space, seed=7)
    play(whole, 16)
    half = f"sqlite:///{tmp_path}/b.db"
    play(create_study(half, "s", space=space, seed=7), 8)
    play(open_study(half, "s"), 8)
    params = [[r.params for r in each.records()] for each in (whole, open_study(half, "s"))]
    assert params[0] == params[1]


def test_pending_trials_are_not_proposed_again(url):
    study = create_study(url, "s", space=Space({"k": Integer(1, 6)}), seed=0)
    asked = [study.ask().params["k"] for _ in range(6)]
    assert sorted(asked) == [1, 2, 3, 4, 5, 6]


def test_what_was_told_stays(url):
    study = create_study(url, "s", space=SPACE, seed=0)
    first, second = study.ask(), study.ask()
    study.tell(first.id, 1.5)
    with pytest.raises(InputError, match=r"trial 0 was told 1\.5 before"):
        study.tell(first.id, 2.0)
    with pytest.raises(InputError, match=r"told 1\.5 before"):
        study.fail(first.id, "no")
    study.tell(second.id, float("nan"))
    assert [(r.state, r.value) for r in study.records()] == [("complete", 1.5), ("failed", None)]
    assert study.records()[1].error == "the value was nan"
    with pytest.raises(InputError, match="no trial 9"):
        study.tell(9, 1.0)


def test_a_study_keeps_what_it_was_created_with(url):
    create_study(url, "s", space=SPACE, seed=4, direction="maximize")
    study = create_study(url, "s", space=SPACE)
    assert (study.seed, study.direction, study.space) == (4, "maximize", SPACE)
    other = Space({**SPACE.parameters, "x": Real(0, 2), "new": 1}, constraints=SPACE.constraints)
    with pytest.raises(StudyError, match=r"another space: 'x' was .* and is now .*; 'new' is new"):
        create_study(url, "s", space=other)
    with pytest.raises(StudyError, match="to maximize, not to minimize"):
        create_study(url, "s", space=None, direction="minimize")
    with pytest.raises(StudyError, match="seed 4, not 5"):
        create_study(url, "s", space=SPACE, seed=5)
    with pytest.raises(StudyError, match=r"no study 't'.*'s'"):
        open_study(url, "t")
    assert [each.name for each in studies_in(url)] == ["s"]


def test_maximizing(url):
    study = create_study(url, "s", space=Space({"x": Real(0, 1)}), seed=0, direction="maximize")
    for _ in range(12):
        record = study.ask()
        study.tell(record.id, -((record.params["x"] - 0.7) ** 2))
    assert study.best().params["x"] == pytest.approx(0.7, abs=0.01)


def test_trials_of_dead_processes_are_buried(url):
    study = create_study(url, "s", space=SPACE, seed=0)
    code = (
        "import sys\nfrom innerloop.studies.study import open_study\n"
        f"study = open_study({url!r}, 's')\nstudy.ask()\nstudy.hand_out(study.ask().id)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    mine = study.ask()
    assert study.in_progress() == 1
    assert study.bury() == [0]
    states = {r.id: (r.state, r.lost, r.error) for r in study.records()}
    assert states[0] == ("failed", True, "its worker died")
    assert states[1][0] == states[mine.id][0] == "running"
    assert study.bury() == []


def test_owners():
    me = this_process()
    assert not is_dead(me)
    assert is_dead({**me, "started": "long ago"})
    assert not is_dead({**me, "host": "elsewhere", "pid": 1, "started": "x"})
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert is_dead({**me, "pid": ended.pid})


def test_lost_trials_teach_nothing_and_do_not_count(url):
    study = create_study(url, "s", space=SPACE, seed=0)
    record = study.fail(study.ask().id, "power cut", lost=True)
    assert not record.counts
    assert study.fail(study.ask().id, "diverged").counts
    optimizer = optimizer_of(study)
    assert [t.state for t in optimizer.trials] == ["cancelled", "failed"]


def test_an_error_while_a_point_is_chosen_leaves_nothing_running(url):
    """The second of two trials at a time is told, though there will be no third."""
    study, ask = create_study(url, "s", space=SPACE, seed=0), []
    begun = threading.Barrier(2)

    def choose():
        if len(ask) == 2:
            begun.wait(PATIENCE)
            raise ArithmeticError("no more points")
        ask.append(Study.ask(study))
        return ask[-1]

    def f(params):
        if params == ask[1].params:
            begun.wait(PATIENCE)
        return loss(params)

    study.ask = choose
    with ThreadPoolExecutor(2) as executor, pytest.raises(ArithmeticError, match="no more points"):
        run(study, 5, Pace(2), f=f, executor=executor)
    assert all(record.counts or record.lost for record in study.records())
    assert "running" not in [record.state for record in study.records()]


def test_failures_at_one_place_do_not_end_a_run(url):
    def fails(params):
        raise TargetError("never works")

    space = Space({"x": Real(0, 1)})
    study = create_study(url, "s", space=space, seed=0)
    with ThreadPoolExecutor(1) as executor:
        ran = run(study, 30, Pace(max_failures=4), f=fails, executor=executor)
    assert ran.stopped == "failures"
    places = []
    for record in study.records():
        if all(abs(record.params["x"] - place) > 0.05 for place in places):
            places.append(record.params["x"])
    assert len(places) == 4


def test_a_study_as_an_optimizer(url):
    study = create_study(url, "s", space=SPACE, seed=0)
    play(study, 3)
    study.ask()
    optimizer = optimizer_of(study)
    assert isinstance(optimizer, Optimizer)
    assert optimizer.best.value == study.best().value
    assert [t.state for t in optimizer.trials] == ["complete"] * 3 + ["pending"]


def test_optuna_reads_the_study(url):
    study = create_study(url, "s", space=SPACE, seed=0)
    play(study, 3)
    loaded = optuna.load_study(study_name="s", storage=url)
    assert loaded.best_value == study.best().value


def test_studies_of_optuna_can_be_read_and_adopted(url):
    made = optuna.create_study(study_name="s", storage=url)
    made.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    study = open_study(url, "s", writing=False)
    assert [r.value for r in study.records()] == [t.value for t in made.trials]
    with pytest.raises(StudyError, match="no space yet"):
        study.ask()
    adopted = create_study(url, "s", space=Space({"x": Real(0, 1)}), seed=0)
    assert adopted.ask().id == 3


def test_databases_that_cannot_be_used(tmp_path):
    with pytest.raises(StorageError, match="folder does not exist"):
        open_storage(f"sqlite:///{tmp_path}/none/a.db", writing=True)
    with pytest.raises(StorageError, match="there is no such database"):
        open_storage(f"sqlite:///{tmp_path}/a.db", writing=False)
    assert not (tmp_path / "a.db").exists()
    (tmp_path / "text.db").write_text(
        "not a database, but long enough to be taken for a file\n" * 9
    )
    with pytest.raises(StorageError, match="something else"):
        open_storage(f"sqlite:///{tmp_path}/text.db", writing=True)
    with pytest.raises(StorageError, match="is not the URL of a database"):
        open_storage("innerloop.db", writing=True)
    assert shown("postgresql://me:secret@host/db") == "postgresql://me:***@host/db"
    (tmp_path / "empty.db").touch()
    with pytest.raises(StorageError, match="holds no studies"):
        open_storage(f"sqlite:///{tmp_path}/empty.db", writing=False)


def test_a_locked_database_is_waited_for_and_named(tmp_path):
    import sqlite3

    study = create_study(f"sqlite:///{tmp_path}/a.db?timeout=0.2", "s", space=SPACE, seed=0)
    record = study.ask()
    other = sqlite3.connect(tmp_path / "a.db")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match="another process keeps it locked"):
        study.tell(record.id, 1.0)
    other.rollback()
    other.close()
    assert study.tell(record.id, 1.0).value == 1.0


# Rows of results.


def test_rows_are_told_or_named(url):
    import io

    study = create_study(url, "s", space=SPACE, seed=0)
    for _ in range(4):
        study.hand_out(study.ask().id)
    text = "id,x,value\n0,0.5,1.25\n1,0.5,\n2,,abc\n\n7,,1\nzero,,1\n3,,2e-3\n"
    told = tell_rows(study, io.StringIO(text), "r.csv")
    assert told.told == [0, 3]
    assert [c.split(":")[0] for c in told.complaints] == [
        f"r.csv, line {line}" for line in (3, 4, 6, 7)
    ]
    again = tell_rows(study, io.StringIO("id,value\n0,1.25\n3,5\n1,1\n"), "r.csv")
    assert (again.told, again.known) == ([1], [0])
    assert "line 3: trial 3 was told 0.002 before" in again.complaints[0]
    with pytest.raises(StudyError, match="line 1: the first line must name the columns"):
        tell_rows(study, io.StringIO("0,1.0\n"), "r.csv")


def test_every_good_row_is_told_whatever_is_around_it(url, tmp_path):
    study = create_study(url, "s", space=Space({"x": Real(0, 1)}), seed=0)
    for _ in range(9):
        study.hand_out(study.ask().id)
    huge = "9" * 5000
    lines = [
        b"id,note,value", b"0,,0.5", f"{2**63},,1".encode(), b"1,,1.5", f"{huge},,1".encode(),
        b"2,,2.5", f"{2**31},,1".encode(), b"-1,,1", b"3,\xff\xfe\x00,3.5", b"4,,\xff",
        b"5," + b"x" * 200_000 + b",1", b'6,"two\nlines",6.5', f"7,,{huge}".encode(), b"0007,,7.5",
        b'8,"never closed,1', b"4,,4.5",
    ]  # fmt: skip
    (tmp_path / "r.csv").write_bytes(b"\n".join(lines))
    told = tell_file(study, str(tmp_path / "r.csv"))
    assert told.told == [0, 1, 2, 3, 6, 7]
    assert [r.value for r in study.records() if r.state == "complete"] == [
        0.5, 1.5, 2.5, 3.5, 6.5, 7.5
    ]  # fmt: skip
    named = [re.search(r"r.csv, line (\d+): (.*)", c).groups() for c in told.complaints]
    assert [int(line) for line, _ in named] == [3, 5, 7, 8, 10, 11, 14, 16]
    assert all(len(reason) < 200 for _, reason in named)
    assert f"there is no trial '{2**63}'" in told.complaints[0]
    for id in (2**31, 2**63, 10**4000, -1):
        with pytest.raises(InputError, match="there is no trial"):
            study.fail(id, "told to have failed")


# Targets.


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c d"]),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
        min_size=3,
    )
)
def test_values_reach_a_command_as_they_are(params):
    python = "import sys; print(ascii(sys.argv[1:]))"
    words = Command((sys.executable, "-c", python, "{a}", "x{b}y", "{c d}"), tuple(params))
    expected = ascii([params["a"], f"x{params['b']}y", params["c d"]])
    assert words.run(params).last_line == expected


HOSTILE = [
    "; touch pwned", "$(touch pwned)", "`touch pwned`", "'; touch pwned; '", '"; touch pwned; "',
    "\n touch pwned\n", "| touch pwned", "&& touch pwned", "\\", "'", '"', "\\'; touch pwned #",
    "EOF\ntouch pwned\n", "${IFS}", "* ? [a]", "-n", "}; touch pwned; {", "$'\\n'", "a\tb  c", "",
]  # fmt: skip
TEMPLATES = [
    "{name}", '"{name}"', "'{name}'", '"a "\'{name}\'', "x{name}y", "\"$(printf %s {name})\"",
    "a # {name}", "\\\\{name}", "\"it's {name}\"",
]  # fmt: skip


@pytest.mark.parametrize("template", TEMPLATES)
def test_no_value_is_read_as_a_command(template, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in HOSTILE:
        Command((f"printf '[%s]' {template}",), ("name",)).run({"name": value})
        assert not os.listdir(tmp_path), value


@pytest.mark.parametrize("template", TEMPLATES[:3])
def test_the_shell_gets_every_value_as_one_word(template):
    for value in HOSTILE:
        python = f'{sys.executable} -c "import sys; print(ascii(sys.argv[1:]))"'
        ran = Command((f"{python} {template}",), ("name",)).run({"name": value})
        assert ran.last_line == ascii([value])


def test_values_of_all_kinds_and_literal_braces():
    command = Command(("echo {{}} {a} {b} {c} {d} {{a}}",), ("a", "b", "c", "d"))
    params = {"a": 0.1, "b": True, "c": None, "d": -3}
    assert command.run(params).last_line == "{} 0.1 true null -3 {a}"


@pytest.mark.parametrize(
    ("text", "words"), [("echo {y}", "names {y}"), ("echo {}", "literal"), ("echo }", "literal")]
)
def test_unknown_placeholders_are_refused(text, words):
    with pytest.raises(StudyError, match=words):
        Command((text,), ("x",))


@pytest.mark.parametrize(
    ("text", "value"),
    [("echo 1; echo; echo ' 2.5 '; echo", 2.5), ("echo hi; echo 1e-3 ; sleep 30 & ", 1e-3)],
)
def test_the_last_line_is_the_value(text, value):
    assert reported(Command((text,), ()).run({})) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("true", "printed nothing"),
        ("echo no", "is not a number: 'no'"),
        ("echo 1; echo oh dear >&2; exit 3", "status 3: oh dear"),
        ("kill -9 $$", "signal 9"),
        ("no-such-command-at-all", "status 127"),
    ],
)
def test_commands_that_give_no_value(text, words):
    with pytest.raises(TargetError, match=words):
        reported(Command((text,), ()).run({}))


@pytest.mark.parametrize("value", [None, "1", True, [1], (1, 2), 1j, object()])
def test_what_is_not_a_number(value):
    with pytest.raises(TargetError, match="must return a number"):
        returned(value)


FILE = """\
import os, time, sys

def good(params): print("noise"); return params["x"] * 2
def raises(params): raise RuntimeError("diverged")
def hangs(params): time.sleep(60)
def dies(params): os.kill(os.getpid(), 9)
def leaves(params): sys.exit(3)
value = 3
"""


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "target.py"
    path.write_text(FILE)
    return path


def test_functions_in_other_processes(target):
    good = Processes(Function(f"{target}:good"), timeout=None)
    assert good({"x": 0.1}) == 0.2
    good.close()
    for name, words in [
        ("raises", "RuntimeError: diverged"),
        ("hangs", r"no value within 0\.5 seconds"),
        ("dies", "ended by signal 9"),
        ("leaves", "SystemExit"),
    ]:
        processes = Processes(Function(f"{target}:{name}"), timeout=0.5)
        for _ in range(2):  # also with a process that took the place of one that was killed
            with pytest.raises(TargetError, match=words):
                processes({"x": 0.1})
        processes.close()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("{file}:nothing", "has no 'nothing'"),
        ("{file}:value", "is not a function"),
        ("{folder}/none.py:f", "there is no such file"),
        ("no_such_module:f", "cannot import no_such_module: ModuleNotFoundError"),
        ("{folder}/broken.py:f", "cannot import .*SyntaxError"),
    ],
)
def test_targets_that_are_not_there(spec, words, target):
    (target.parent / "broken.py").write_text("def f(:\n")
    with pytest.raises(StudyError, match=words):
        Processes(Function(spec.format(file=target, folder=target.parent)), timeout=None)
    with pytest.raises(StudyError, match="the target must be"):
        Function("just words")


def test_everything_a_command_started_ends_with_its_time(tmp_path):
    mark = tmp_path / "alive"
    command = Command((f"(sleep 2; touch {mark}) & sleep 60",), ())
    processes = Processes(command, timeout=0.3)
    with pytest.raises(TargetError, match="no value within"):
        processes({})
    processes.close()
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert str(mark) not in left.stdout
