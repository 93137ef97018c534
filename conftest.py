"""Shared settings: hypothesis draws the same examples every time, so that failures repeat."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings

settings.register_profile(
    "innerloop",
    deadline=None,
    derandomize=True,
    max_examples=40,
    # Examples are small by construction: shrinking them further costs minutes and tells nothing.
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("innerloop")


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C works as at a terminal, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
