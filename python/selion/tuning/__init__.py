# SPDX-License-Identifier: Apache-2.0
"""Which way each collective goes quickest on this host: measured, and kept in a table."""
