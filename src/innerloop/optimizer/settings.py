"""How an optimizer goes about its work: chosen once, checked, and saved with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from innerloop import checks
from innerloop.acquisition.lookahead import Lookahead
from innerloop.acquisition.utility import Utility
from innerloop.batches.suggest import FORMS, WAYS
from innerloop.errors import InputError
from innerloop.maximizers import ALIASES, named
from innerloop.maximizers.maximizer import Maximizer
from innerloop.optimizer.acquisitions import ACQUISITIONS
from innerloop.optimizer.goals import DIRECTIONS, Goals
from innerloop.optimizer.plain_data import class_name, class_of, from_plain, to_plain
from innerloop.surrogate.kernels import Kernel, Matern52, check_kind

# Sobol points to start from: a few more than there are parameters to learn about.
_INITIAL_PER_PARAMETER, _FEWEST_INITIAL, _MOST_INITIAL = 2, 4, 24


@dataclass(frozen=True)
class Settings:
    """How an optimizer goes about its work; see `Optimizer` for what the settings mean."""

    direction: str
    seed: int
    acquisition: str | Utility | Lookahead = "ei"
    form: str | None = None
    way: str | None = None
    maximizer: str | Maximizer | None = None
    kernel: type[Kernel] | None = None
    seconds: float | None = None
    initial: int = 1
    expire: float | None = None
    goals: Goals | None = None

    def __post_init__(self) -> None:
        checks.one_of("direction", self.direction, tuple(DIRECTIONS))
        if not isinstance(self.acquisition, Utility | Lookahead):
            checks.one_of("acquisition", self.acquisition, ACQUISITIONS)
        checks.one_of("form", self.form, (None, *FORMS))
        checks.one_of("way", self.way, (None, *WAYS))
        if self.maximizer is not None:
            named(self.maximizer)
        if self.kernel is not None:
            check_kind(self.kernel)
        looks_ahead = self.acquisition in ("es", "kg") or isinstance(self.acquisition, Lookahead)
        if self.form == "incremental" and (self.way == "joint" or looks_ahead):
            raise InputError(
                "form='incremental' goes with way='default' or 'greedy' and the acquisitions ei, "
                f"pi, sr and ucb, got {self.way!r} and {self.acquisition!r}"
            )
        if self.way == "default" and (self.maximizer is not None or self.form == "joint"):
            raise InputError(
                "way='default' has searches of its own: leave out maximizer and form='joint'"
            )
        if self.goals is not None and not self.goals.is_plain and self.acquisition != "ei":
            raise InputError(
                "several outcomes have acquisition functions of their own: leave out acquisition"
            )
        # As plain integers, which files can hold.
        object.__setattr__(self, "seed", checks.count("seed", self.seed, 0))
        object.__setattr__(self, "initial", checks.count("initial", self.initial))
        for name in ("seconds", "expire"):
            if getattr(self, name) is not None:
                checks.positive_scalar(name, getattr(self, name))

    @property
    def sign(self) -> float:
        """1 if large values are good, -1 if small ones are."""
        return DIRECTIONS[self.direction]

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("acquisition", "maximizer"):
            if not isinstance(plain[name], str | None):
                plain[name] = to_plain(plain[name])
        goals = plain.pop("goals")
        if goals is not None:
            plain["goals"] = goals.to_dict()
        return {**plain, "kernel": None if self.kernel is None else class_name(self.kernel)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Settings:
        """What `to_dict` wrote down, now or in an earlier version."""
        known = _present(data)
        if isinstance(known["acquisition"], Mapping):
            known["acquisition"] = _acquisition(known["acquisition"])
        if isinstance(known["maximizer"], Mapping):
            known["maximizer"] = from_plain(
                known["maximizer"],
                Maximizer,  # type: ignore[type-abstract]
            )
        if known.get("goals") is not None:
            known["goals"] = Goals.of(**known["goals"])
        if known["kernel"] is not None:
            known["kernel"] = class_of(known["kernel"], Kernel)
        return Settings(**known)


def _acquisition(data: Mapping[str, Any]) -> Utility | Lookahead:
    """The utility that `to_plain` wrote down."""
    kind = class_of(data["class"], object)
    base: Any = Lookahead if issubclass(kind, Lookahead) else Utility
    made: Utility | Lookahead = from_plain(data, base)
    return made


def _present(data: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an earlier version in the words of this one.

    A parallelism is now a way; and the maximizer that was the default stood for the default way.
    """
    known = dict(data)
    if "parallelism" in known:
        known["way"] = "joint" if known.pop("parallelism") == "joint" else None
        if known["maximizer"] in ALIASES:
            known["maximizer"] = None
    return {"kernel": class_name(Matern52), **known}


def default_initial(parameters: int) -> int:
    """How many points to start from.

    Args:
        parameters: how many parameters vary.

    Returns:
        A few more than there are parameters to learn about.
    """
    wanted = _INITIAL_PER_PARAMETER * (parameters + 1)
    return min(max(wanted, _FEWEST_INITIAL), _MOST_INITIAL)
