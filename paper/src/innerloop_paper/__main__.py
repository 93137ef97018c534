"""`python -m innerloop_paper`: the command without its script."""

from innerloop_paper.cli.main import main

main()
