/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/** Marks what the compiled library exports; everything else is hidden. */
#define SELION_API __attribute__((visibility("default")))

/** 0: no checks. 1: cheap checks (default). 2: also checks that communicate ("checking build"). */
#ifndef SELION_CHECK_LEVEL
#define SELION_CHECK_LEVEL 1
#endif
