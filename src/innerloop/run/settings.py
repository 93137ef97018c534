"""What a run is given: settings, and checks that they make sense."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict

from innerloop import checks
from innerloop.acquisition.lookahead import Lookahead
from innerloop.acquisition.utility import Utility
from innerloop.errors import InputError
from innerloop.maximizers.maximizer import Maximizer
from innerloop.optimizer.goals import VALUE, Goals
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial
from innerloop.run.dask_client import FORMS, DaskExecutor, dask_client, is_address, is_dask_client
from innerloop.run.stopping import Stop
from innerloop.run.workers import Function, Submits
from innerloop.space.space import Space
from innerloop.surrogate.kernels import Kernel

Callback = Callable[[Optimizer, Trial], Any]


class OptimizerSettings(TypedDict, total=False):
    """Those of `Optimizer`, for one that is made for a run."""

    outcome_constraints: Sequence[str]
    reference: Mapping[str, float] | None
    seed: int | None
    initial: int | None
    acquisition: str | Utility | Lookahead
    form: str | None
    way: str | None
    maximizer: str | Maximizer | None
    kernel: type[Kernel] | None
    seconds: float | None
    expire: float | None


class RunSettings(OptimizerSettings, total=False):
    """Those of `optimize`, but for the objectives."""

    n_trials: int
    batch_size: int
    executor: Submits | str | None
    refill: bool
    timeout: float | None
    callbacks: Sequence[Callback]
    progress: bool | None
    max_failures: int | None
    fixed: Mapping[str, Any] | None
    resume: bool
    stop: Sequence[Stop]


@dataclass(frozen=True)
class Share:
    """Which trials a run has.

    Args:
        n_trials: how many, resumed ones among them.
        fixed: values that some parameters have in all of them.
        resume: whether to take up trials that nobody evaluates.
    """

    n_trials: int
    fixed: Mapping[str, Any] | None = None
    resume: bool = True

    def __post_init__(self) -> None:
        checks.count("n_trials", self.n_trials)
        checks.instance("resume", self.resume, bool, "True or False")


def the_optimizer(
    space: Space | Optimizer, objectives: Mapping[str, str], settings: OptimizerSettings
) -> Optimizer:
    """A new optimizer of a space; or the one that was given, if it fits."""
    given: dict[str, Any] = {name: each for name, each in settings.items() if each is not None}
    if not isinstance(space, Optimizer):
        checks.instance("space", space, Space, "a Space or an Optimizer")
        if objectives == {VALUE: objectives.get(VALUE)}:
            return Optimizer(space, direction=objectives[VALUE], **given)
        return Optimizer(space, objectives=objectives, **given)
    goals = Goals.of(objectives, given.pop("outcome_constraints", ()))
    if given:
        raise InputError(f"an Optimizer has its own settings: leave out {', '.join(given)}")
    if (space.goals.objectives, space.goals.constraints) != (goals.objectives, goals.constraints):
        if goals.is_plain and space.goals.is_plain:
            direction = next(iter(goals.objectives.values()))
            raise InputError(f"{direction} needs an optimizer of that direction, got {space!r}")
        raise InputError(f"the optimizer has other goals: {space.goals.to_dict()}")
    return space


@contextmanager
def the_executor(
    f: Function, executor: Submits | str | None, callbacks: Sequence[Callback]
) -> Iterator[Submits | None]:
    """The executor, if everything is what it should be; a client of Dask only for a while."""
    checks.instance("f", f, Callable, "a function of params")
    _check_arguments("f", f, "params, a dictionary")
    if isinstance(callbacks, str) or not isinstance(callbacks, Sequence):
        raise InputError(f"callbacks must be a list of functions, got {callbacks!r}")
    for callback in callbacks:
        checks.instance("a callback", callback, Callable, "a function of optimizer and trial")
        _check_arguments("a callback", callback, "optimizer", "trial")
    if isinstance(executor, type):
        made = f"{executor.__name__}(max_workers=4)"
        raise InputError(f"executor must be an instance such as {made}, got the class {executor!r}")
    if isinstance(executor, str) and is_address(executor):
        with dask_client(executor) as client:
            yield DaskExecutor(client)
        return
    lacks_submit = executor is not None and not callable(getattr(executor, "submit", None))
    if isinstance(executor, str) or lacks_submit:
        raise InputError(f"executor must have a method submit, got {executor!r}; or be {FORMS}")
    yield DaskExecutor(executor) if is_dask_client(executor) else executor


def _check_arguments(name: str, function: Callable[..., Any], *arguments: str) -> None:
    """An error if a function cannot be called with so many arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some that are compiled do not say
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        expected = " and ".join(arguments)
        raise InputError(f"{name} must take {expected}, got one that takes {signature}") from None
