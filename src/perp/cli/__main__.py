"""`python -m perp.cli` is the command `perp`."""

import sys

from perp.cli import main

sys.exit(main())
