"""What has to be so before Optuna is measured."""

from __future__ import annotations

import argparse
import importlib.util
import warnings


def prepare(parser: argparse.ArgumentParser) -> None:
    """Refuse to measure Optuna at a disadvantage, and have it print errors only."""
    import optuna

    if importlib.util.find_spec("greenlet") is None:
        parser.error("install greenlet: without it Optuna falls back to a slower search")
    warnings.filterwarnings("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
