"""The sampler of innerloop, for OptunaHub."""

from innerloop.integrations.optuna import InnerLoopSampler

__all__ = ["InnerLoopSampler"]
