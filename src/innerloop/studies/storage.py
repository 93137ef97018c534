"""Databases that hold studies: opened so that many processes can write, with plain errors."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy
from optuna.storages import RDBStorage
from sqlalchemy.engine import URL, make_url

from innerloop.studies.errors import StorageError

# Seconds to wait for other processes that write to the same file.
_PATIENCE = 60.0
_ATTEMPTS = 20
_ADVICE = {
    "database is locked": "another process keeps it locked",
    "unable to open database file": "the folder does not exist or may not be written to",
    "readonly database": "it may not be written to",
    "database or disk is full": "the disk is full",
    "disk i/o error": "the disk is full or does not work",
    "file is not a database": "that file is something else",
    "no such table": "it holds no studies",
}


def open_storage(url: str, *, writing: bool) -> RDBStorage:
    """The database at a URL; created if it is to be written to and is a file that is not there."""
    parsed = _parsed(url)
    is_file = parsed.get_backend_name() == "sqlite"
    if is_file and not writing:
        _refuse_missing(parsed)
    arguments: dict[str, Any] = {}
    if is_file:
        waiting = {} if "timeout" in parsed.query else {"timeout": _PATIENCE}
        arguments = {"connect_args": {"isolation_level": "IMMEDIATE", **waiting}}
    with storage_errors(url):
        storage = _made(url, arguments, writing)
        if is_file and writing:
            _lock_early(storage.engine)
    return storage


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Errors of the database as one line that names it, without its password."""
    try:
        yield
    except (
        optuna.exceptions.StorageInternalError,
        sqlalchemy.exc.SQLAlchemyError,
        ImportError,
        RuntimeError,
        OSError,
    ) as error:
        raise StorageError(f"{shown(url)}: {_reason(error)}") from error


def shown(url: str) -> str:
    """A URL as it may be shown: without a password."""
    return _parsed(url).render_as_string(hide_password=True)


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except (sqlalchemy.exc.ArgumentError, ValueError) as error:
        raise StorageError(
            f"{url!r} is not the URL of a database such as sqlite:///innerloop.db"
        ) from error


def _refuse_missing(url: URL) -> None:
    """Reading must not leave an empty database behind."""
    if url.database and not url.database.startswith("file:") and not Path(url.database).exists():
        raise StorageError(
            f"{url.database}: there is no such database; "
            "'innerloop run' and 'innerloop ask' with --space create one"
        )


def _made(url: str, arguments: dict[str, Any], writing: bool) -> RDBStorage:
    """The storage, with its tables if it is to be written to."""
    for attempt in range(_ATTEMPTS):
        try:
            return RDBStorage(url, dict(arguments), skip_table_creation=not writing)
        except sqlalchemy.exc.DBAPIError as error:
            # Processes that start together make the same tables; one of them is first.
            if attempt == _ATTEMPTS - 1 or not _is_collision(error):
                raise
            time.sleep(random.uniform(0.05, 0.2))
    raise AssertionError("never reached")


def _is_collision(error: Exception) -> bool:
    text = str(error).lower()
    return any(words in text for words in ("already exists", "unique", "duplicate"))


def _lock_early(engine: sqlalchemy.Engine) -> None:
    """Let transactions of SQLite wait for each other before they read, not after.

    Two that have read and then want to write would each wait for the other, which SQLite ends by
    refusing one of them at once; and what one has read could change before it writes.
    """

    @sqlalchemy.event.listens_for(engine, "connect")
    def leave_begin_to_us(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    @sqlalchemy.event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    engine.dispose()  # connections made from now on


def _reason(error: BaseException) -> str:
    """The first line of the innermost error, in plain words where there are some."""
    inner: BaseException = error
    while inner.__cause__ is not None and not isinstance(inner, sqlalchemy.exc.DBAPIError):
        inner = inner.__cause__
    origin = getattr(inner, "orig", None) or inner
    text = str(origin).strip() or type(origin).__name__
    first = text.splitlines()[0]
    advice = next((words for key, words in _ADVICE.items() if key in text.lower()), None)
    return f"{advice} ({first})" if advice else first
