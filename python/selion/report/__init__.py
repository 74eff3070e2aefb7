# SPDX-License-Identifier: Apache-2.0
"""Reports: what studies have measured, as one page for people.

Rows are collected (`collect`), a study's `report.toml` says what to show of them (`contents`),
`curves` makes charts of rows, `chart_svg` draws them, and `page` and `markdown` put all together.
"""
