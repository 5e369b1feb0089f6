"""``python -m fepysr_dyn.cli`` is ``fepysr-dyn``."""

from fepysr_dyn.cli.app import main

main()
