# SPDX-License-Identifier: Apache-2.0
"""Studies: programs whose experiments and axes are data, run on any machine, compared with
published figures. `catalog` reads what there is, `plan` lists the points of a run, `runner` runs
them, `rows` keeps the results, `compare` holds them against the published ones.
"""
