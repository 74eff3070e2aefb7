# SPDX-License-Identifier: Apache-2.0
"""`python -m selion` is the command `selion`."""

from selion.cli import main

main()
