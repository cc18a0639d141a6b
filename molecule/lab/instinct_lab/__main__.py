# SPDX-License-Identifier: Apache-2.0
"""Entry point of `python -m instinct_lab`."""

import sys

from .cli import main

sys.exit(main())
