"""Shared settings: hypothesis draws the same examples every time, so that failures repeat."""

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
