"""How an optimizer goes about its work: chosen once, checked, and saved with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from innerloop import checks
from innerloop.errors import InputError
from innerloop.maximizers import MAXIMIZERS
from innerloop.optimizer.acquisitions import ACQUISITIONS

DIRECTIONS = {"minimize": -1.0, "maximize": 1.0}
# Sobol points to start from: a few more than there are parameters to learn about.
_INITIAL_PER_PARAMETER, _FEWEST_INITIAL, _MOST_INITIAL = 2, 4, 24


@dataclass(frozen=True)
class Settings:
    """See `Optimizer` for what they mean."""

    direction: str
    seed: int
    acquisition: str
    form: str | None
    parallelism: str
    maximizer: str
    seconds: float | None
    initial: int
    expire: float | None

    def __post_init__(self) -> None:
        _one_of("direction", self.direction, tuple(DIRECTIONS))
        _one_of("acquisition", self.acquisition, ACQUISITIONS)
        _one_of("form", self.form, (None, "incremental", "joint"))
        _one_of("parallelism", self.parallelism, ("greedy", "joint"))
        _one_of("maximizer", self.maximizer, tuple(sorted(MAXIMIZERS)))
        if self.form == "incremental" and (
            self.parallelism == "joint" or self.acquisition in ("es", "kg")
        ):
            raise InputError(
                "form='incremental' goes with parallelism='greedy' and the acquisitions ei, pi, "
                f"sr and ucb, got {self.parallelism!r} and {self.acquisition!r}"
            )
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"seed must be an integer of 0 or more, got {self.seed!r}")
        checks.count("initial", self.initial)
        for name in ("seconds", "expire"):
            if getattr(self, name) is not None:
                checks.positive_scalar(name, getattr(self, name))

    @property
    def sign(self) -> float:
        """1 if large values are good, -1 if small ones are."""
        return DIRECTIONS[self.direction]

    @property
    def weighs_gains(self) -> bool:
        """Whether what a query gains may be weighed by the chance that its evaluation succeeds."""
        return self.acquisition in ("ei", "pi")

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Settings:
        """What `to_dict` wrote down."""
        return Settings(**data)


def default_initial(parameters: int) -> int:
    """How many points to start from with so many parameters that vary."""
    wanted = _INITIAL_PER_PARAMETER * (parameters + 1)
    return min(max(wanted, _FEWEST_INITIAL), _MOST_INITIAL)


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name} must be one of {list(allowed)}, got {value!r}")
