"""Values of other parameters that a parameter applies with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class When(Mapping[str, tuple[Any, ...]]):
    """By name, the values that another parameter may have; all of them have to have one.

    Args:
        needs: values by name.
    """

    def __init__(self, needs: Mapping[str, tuple[Any, ...]]) -> None:
        self._needs = dict(needs)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: of a name with one value that value, of others lists."""
        return {n: each[0] if len(each) == 1 else list(each) for n, each in self._needs.items()}

    @property
    def text(self) -> str:
        """In words."""
        return " and ".join(
            f"{name} is {' or '.join(map(repr, each))}" for name, each in self._needs.items()
        )

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        return self._needs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._needs)

    def __len__(self) -> int:
        return len(self._needs)

    def __hash__(self) -> int:
        return hash(frozenset(self._needs.items()))

    def __repr__(self) -> str:
        return repr(self.to_dict())
