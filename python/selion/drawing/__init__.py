# SPDX-License-Identifier: Apache-2.0
"""Links of a mesh and schedules, drawn: as characters for a terminal, and as SVG."""
