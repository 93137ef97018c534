"""A command with {name} placeholders.

Values reach a shell through its environment: a placeholder becomes the expansion of a variable, so
that no value is ever read as a part of the command. A command is refused when it is made if a
placeholder in it would not stand for exactly its value.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from innerloop.errors import StudyError
from innerloop.studies.shell import MARK, Slot, expanding

_TOKEN = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]|[^{}]+")
_PREFIX = "INNERLOOP_PARAM_"
# Only the end of what a command prints is looked at.
_TAIL = 65536


class Output(NamedTuple):
    """What a command left.

    Args:
        status: that of its exit, negative if a signal ended it.
        last_line: the last one that it printed and that is not empty.
        complaint: the last one of its errors that is not empty.
    """

    status: int
    last_line: str
    complaint: str


@dataclass(frozen=True)
class Command:
    """A command to run; a StudyError if a placeholder in it is unknown or not safe.

    Args:
        words: those of the command, or a single text for the shell.
        names: what placeholders may name.
    """

    words: tuple[str, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        for word in self.words:
            for token in _TOKEN.findall(word):
                self._check(token, word)
            if MARK in word:
                raise StudyError(f"a command cannot have NUL characters in it, got {word!r}")
        if self._is_shell:
            self.shell_text()

    @property
    def _is_shell(self) -> bool:
        return len(self.words) == 1

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"command": list(self.words), "names": list(self.names)}

    def run(self, params: Mapping[str, Any], folder: Path = Path()) -> Output:
        """Run the command to its end.

        Args:
            params: values by name, for the placeholders.
            folder: where to run it.

        Returns:
            What it left; status 127 if it could not be run.
        """
        # What does not apply is empty.
        texts = {name: text_of(params[name]) if name in params else "" for name in self.names}
        variables = self._variables()
        environment = {**os.environ, **{variables[name]: texts[name] for name in self.names}}
        command: Any = [_filled(word, texts) for word in self.words]
        if self._is_shell:
            command = self.shell_text()
        # Files, not pipes: what a command leaves running may hold a pipe open for ever.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                status = subprocess.run(
                    command,
                    shell=self._is_shell,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    check=False,
                ).returncode
            except (OSError, ValueError) as error:
                return Output(127, "", str(error))
            return Output(status, _last_line(out), _last_line(err))

    def shell_text(self) -> str:
        """The text for the shell, with expansions of variables in place of placeholders."""
        tokens, variables = _TOKEN.findall(self.words[0]), self._variables()
        slots = [Slot(token, variables[token[1:-1]]) for token in tokens if _is_name(token)]
        marked = "".join(MARK if _is_name(token) else _literal(token) for token in tokens)
        return expanding(marked, slots)

    def _variables(self) -> dict[str, str]:
        """The variable of the environment that has the value, by name of a parameter."""
        return {name: f"{_PREFIX}{k}" for k, name in enumerate(self.names)}

    def _check(self, token: str, word: str) -> None:
        if token in ("{", "}") or token == "{}":
            raise StudyError(f"{token} in {word!r}: literal braces are written {{{{ and }}}}")
        if _is_name(token) and token[1:-1] not in self.names:
            have = ", ".join(f"{{{name}}}" for name in self.names)
            raise StudyError(
                f"{word!r} names {token}, but the space has {have}; "
                "literal braces are written {{ and }}"
            )


def text_of(value: Any) -> str:
    """A value as a command gets it.

    Args:
        value: that of a parameter.

    Returns:
        Text as it is; "true", "false" and "null"; or a number.
    """
    return value if isinstance(value, str) else json.dumps(value)


def _filled(word: str, texts: Mapping[str, str]) -> str:
    """A word that no shell will read, with values in place of placeholders."""
    tokens = _TOKEN.findall(word)
    return "".join(texts[t[1:-1]] if _is_name(t) else _literal(t) for t in tokens)


def _is_name(token: str) -> bool:
    return token.startswith("{") and token != "{{"


def _literal(token: str) -> str:
    return token[0] if token in ("{{", "}}") else token


def _last_line(file: Any) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _TAIL, 0))
    lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return str(lines[-1]).strip() if lines else ""
