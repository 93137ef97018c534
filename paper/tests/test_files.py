"""Files are written at once, and never through a link that somebody has left there."""

import os

import pytest

from innerloop import InputError
from innerloop_paper import style
from innerloop_paper.files import write_text
from innerloop_paper.store import Store

WRITERS = {
    "page.md": lambda path: write_text(path, "é\n"),
    "results.tar.xz": lambda path: Store(path.parent / "none").pack([], path),
    "figure.svg": lambda path: style.save(style.new_figure(), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_links_are_not_followed(name, tmp_path):
    victim, folder = tmp_path / "victim", tmp_path / "shared"
    victim.write_text("precious")
    folder.mkdir()
    (folder / name).symlink_to(victim)
    WRITERS[name](folder / name)
    assert victim.read_text() == "precious"
    assert not (folder / name).is_symlink()
    assert os.listdir(folder) == [name]


@pytest.mark.parametrize("name", WRITERS)
def test_what_was_there_stays_if_the_new_cannot_be_put_in_its_place(name, tmp_path):
    (tmp_path / name).mkdir()
    with pytest.raises((OSError, InputError)):
        WRITERS[name](tmp_path / name)
    assert os.listdir(tmp_path) == [name]
