"""How tests start the command in a process of its own."""

import sys

INNERLOOP = (sys.executable, "-m", "innerloop.cli.main")
