"""A command with {name} placeholders.

Values reach a shell through its environment: a placeholder becomes the expansion of a variable, so
that no value is ever read as a part of the command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from innerloop.studies.errors import StudyError

_TOKEN = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]|\\.|['\"]|[^{}\\'\"]+|\\", re.DOTALL)
_PREFIX = "INNERLOOP_PARAM_"
# Only the end of what a command prints is looked at.
_TAIL = 65536


class Output(NamedTuple):
    """What a command left: its exit status, its last line, the last line of its errors."""

    status: int
    last_line: str
    complaint: str


@dataclass(frozen=True)
class Command:
    """Words of a command, or a single text for the shell; names: what placeholders may name."""

    words: tuple[str, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        for word in self.words:
            for token in _TOKEN.findall(word):
                self._check(token, word)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"command": list(self.words), "names": list(self.names)}

    def run(self, params: Mapping[str, Any], folder: Path = Path()) -> Output:
        """Run the command in a folder to its end."""
        texts = {name: text_of(value) for name, value in params.items()}
        numbers = {name: f"{_PREFIX}{k}" for k, name in enumerate(self.names)}
        environment = {**os.environ, **{numbers[name]: texts[name] for name in self.names}}
        is_shell = len(self.words) == 1
        command: Any = [_filled(word, texts) for word in self.words]
        if is_shell:
            command = _shell_text(self.words[0], numbers)
        # Files, not pipes: what a command leaves running may hold a pipe open for ever.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                status = subprocess.run(
                    command,
                    shell=is_shell,
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

    def _check(self, token: str, word: str) -> None:
        if token in ("{", "}") or token == "{}":
            raise StudyError(f"{token} in {word!r}: literal braces are written {{{{ and }}}}")
        is_name = token.startswith("{") and token != "{{"
        if is_name and token[1:-1] not in self.names:
            have = ", ".join(f"{{{name}}}" for name in self.names)
            raise StudyError(
                f"{word!r} names {token}, but the space has {have}; "
                "literal braces are written {{ and }}"
            )


def text_of(value: Any) -> str:
    """A value as a command gets it: text as it is, true, false and null, or a number."""
    return value if isinstance(value, str) else json.dumps(value)


def _filled(word: str, texts: Mapping[str, str]) -> str:
    """A word that no shell will read, with values in place of placeholders."""
    return "".join(_plain(token, texts) for token in _TOKEN.findall(word))


def _plain(token: str, texts: Mapping[str, str]) -> str:
    if token in ("{{", "}}"):
        return token[0]
    return texts[token[1:-1]] if token.startswith("{") else token


def _shell_text(word: str, variables: Mapping[str, str]) -> str:
    """A text for the shell, with expansions of variables in place of placeholders."""
    quote, parts = "", []
    for token in _tokens(word):
        if token in ("'", '"') and quote in ("", token):
            quote = "" if quote else token
        if token.startswith("{") and token != "{{":
            expansion = f"${{{variables[token[1:-1]]}}}"
            # A placeholder stands for one word, whatever quotes are around it.
            parts.append({"": f'"{expansion}"', '"': expansion, "'": f"'\"{expansion}\"'"}[quote])
        else:
            parts.append(token[0] if token in ("{{", "}}") else token)
    return "".join(parts)


def _tokens(word: str) -> Iterable[str]:
    """Tokens of a shell text; a backslash means nothing within single quotes."""
    in_single = False
    for token in _TOKEN.findall(word):
        if token == "'":
            in_single = not in_single
        if in_single and token == "\\'":
            in_single = False
            yield from ("\\", "'")
        else:
            yield token


def _last_line(file: Any) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _TAIL, 0))
    lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return str(lines[-1]).strip() if lines else ""
