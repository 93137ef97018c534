"""Databases that hold studies: opened so that many processes can write, with plain errors."""

from __future__ import annotations

import random
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy
from optuna.storages import RDBStorage
from sqlalchemy.engine import URL, make_url

from innerloop.errors import StorageError
from innerloop.integrations.optuna_private import engine_of

# Seconds to wait for other processes that write to the same file, and for a server to answer.
_PATIENCE, _CONNECTING = 60.0, 10
_ATTEMPTS = 20
_POSTGRES = ("postgresql", "postgres")
# How to get drivers, by the module that is missing.
_DRIVERS = {"psycopg": "'innerloop[postgres]'", "MySQLdb": "mysqlclient"}
_ADVICE = {
    "database is locked": "another process keeps it locked",
    "unable to open database file": "the folder does not exist or may not be written to",
    "readonly database": "it may not be written to",
    "database or disk is full": "the disk is full",
    "disk i/o error": "the disk is full or does not work",
    "no space left on device": "the disk is full",
    "file is not a database": "that file is something else",
    "no such table": "it holds no studies",
}


def open_storage(url: str, *, writing: bool, creating: bool | None = None) -> RDBStorage:
    """The database at a URL.

    Args:
        url: that of SQLAlchemy, such as sqlite:///innerloop.db.
        writing: whether it is to be written to.
        creating: whether it is created if it is a file that is not there; if it is to be written
            to, by default.

    Returns:
        The storage; a StorageError that names it if it cannot be opened.
    """
    parsed = _with_driver(_parsed(url))
    is_file = parsed.drivername.partition("+")[0] == "sqlite"
    if is_file and not (writing if creating is None else creating):
        _refuse_missing(parsed)
    with storage_errors(url):
        full = parsed.render_as_string(hide_password=False)
        storage = _made(full, _engine_settings(parsed), writing)
        if is_file and writing:
            _lock_early(engine_of(storage))
    weakref.finalize(storage, engine_of(storage).dispose)  # connections end with the storage
    return storage


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Raise errors of the database as a StorageError of one line, without its password.

    Args:
        url: that of the database, which the line names.
    """
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
    """A URL as it may be shown.

    Args:
        url: that of a database.

    Returns:
        The same without a password.
    """
    return _parsed(url).render_as_string(hide_password=True)


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except (sqlalchemy.exc.ArgumentError, ValueError) as error:
        raise StorageError(
            f"{url!r} is not the URL of a database such as sqlite:///innerloop.db"
        ) from error


def _with_driver(url: URL) -> URL:
    """The URL with the driver that is installed, if it is PostgreSQL's and names none."""
    if url.drivername not in _POSTGRES:
        return url
    is_old = find_spec("psycopg") is None and find_spec("psycopg2") is not None
    return url.set(drivername="postgresql+psycopg2" if is_old else "postgresql+psycopg")


def _engine_settings(url: URL) -> dict[str, Any]:
    """How long to wait, unless the URL says so; what is in its query is passed on to the driver."""
    kind = url.drivername.partition("+")[0]
    if kind == "sqlite":
        waiting = {} if "timeout" in url.query else {"timeout": _PATIENCE}
        return {"connect_args": {"isolation_level": "IMMEDIATE", **waiting}}
    # A connection may have been closed by the server while a trial was evaluated for hours.
    settings: dict[str, Any] = {"pool_pre_ping": True}
    if kind == "postgresql" and "connect_timeout" not in url.query:
        settings["connect_args"] = {"connect_timeout": _CONNECTING}
    return settings


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
        storage = RDBStorage.__new__(RDBStorage)
        try:
            RDBStorage.__init__(storage, url, dict(arguments), skip_table_creation=not writing)
            return storage
        except sqlalchemy.exc.DBAPIError as error:
            engine_of(storage).dispose()  # what was half made has connections, too
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
    if isinstance(origin, ImportError):
        module = (origin.name or "psycopg").partition(".")[0]
        return f"the driver of the database is missing: pip install {_DRIVERS.get(module, module)}"
    text = str(origin).strip() or type(origin).__name__
    first = text.splitlines()[0]
    advice = next((words for key, words in _ADVICE.items() if key in text.lower()), None)
    return f"{advice} ({first})" if advice else first
