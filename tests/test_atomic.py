"""Files are written at once, and never through a link that somebody has left there."""

import os
import stat
import threading

import pytest

import innerloop as il
from innerloop.atomic import write_bytes, write_text
from innerloop.report.report import write_report


def save(path):
    il.Optimizer(il.Space({"x": il.Real(0.0, 1.0)}), seed=0).save(path)


def report(path):
    write_report(il.Optimizer(il.Space({"x": il.Real(0.0, 1.0)}), seed=0), path)


WRITERS = {
    "text.txt": lambda path: write_text(path, "é\n"),
    "o.json": save,
    "report.html": report,
}


@pytest.mark.parametrize("name", WRITERS)
def test_links_are_not_followed(name, tmp_path):
    victim, folder = tmp_path / "victim", tmp_path / "shared"
    victim.write_text("precious")
    folder.mkdir()
    # One in place of the file itself, and one of a name that could be guessed.
    (folder / name).symlink_to(victim)
    (folder / f".{name}.{os.getpid()}").symlink_to(victim)
    WRITERS[name](folder / name)
    assert victim.read_text() == "precious"
    assert not (folder / name).is_symlink()
    assert len(os.listdir(folder)) == 2


@pytest.mark.parametrize("name", WRITERS)
def test_what_was_there_stays_if_the_new_cannot_be_put_in_its_place(name, tmp_path):
    (tmp_path / name).mkdir()
    with pytest.raises((OSError, il.InputError)):
        WRITERS[name](tmp_path / name)
    assert os.listdir(tmp_path) == [name]


def test_permissions(tmp_path):
    mask = os.umask(0o027)
    try:
        write_text(tmp_path / "new", "a")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o604)
    write_text(tmp_path / "new", "b")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o604
    # Those of a file that a link leads to are not ours to take.
    (tmp_path / "open").write_text("")
    (tmp_path / "open").chmod(0o666)
    (tmp_path / "link").symlink_to("open")
    write_text(tmp_path / "link", "c")
    assert stat.S_IMODE((tmp_path / "link").stat().st_mode) & 0o022 == 0o022 & ~mask


def test_names_of_any_length(tmp_path):
    path = tmp_path / ("n" * 250)
    write_text(path, "text")
    assert path.read_text() == "text"


def test_a_pipe_is_written_to(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"through")
    reader.join()
    assert read == [b"through"]
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
