"""`python -m openvm_metal.ray`: the command `openvm-metal-cluster`."""

import sys

from .command import main

sys.exit(main())
