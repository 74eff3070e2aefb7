# SPDX-License-Identifier: Apache-2.0
"""Signals as a user's programs find them."""

from __future__ import annotations

import signal

# What runs in the background of a script ignores the signal of Ctrl-C, and so would all that is
# started here.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
