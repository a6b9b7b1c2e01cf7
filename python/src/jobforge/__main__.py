"""`python -m jobforge`."""

import sys

from .cli import main

sys.exit(main())
