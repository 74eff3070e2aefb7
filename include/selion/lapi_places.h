/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/** Names the file and the line of each call of LAPI's functions in reports of hangs and of
 * mistakes: the functions are macros too, which note the place. Function pointers and
 * `(LAPI_Put)(...)` call the same functions, at an unknown place. A program that defines
 * SELION_LAPI_WITHOUT_PLACES before it includes the header gets functions only. */

#include <selion/detail/export.hpp>

/** Laid out as compilers lay out what a std::source_location points to. */
struct selion_lapi_place {
    const char* file;
    const char* function;
    unsigned int line;
    unsigned int column; /**< 0: unknown */
};

#ifdef __cplusplus
extern "C" {
#endif

/** The calling task's next call of a function of LAPI is made there.
 * @param place lives for ever. */
SELION_API void selion_lapi_note_place(const struct selion_lapi_place* place);

#ifdef __cplusplus
}
#endif

#ifndef SELION_LAPI_WITHOUT_PLACES

/** The first argument of a call that is made here. */
#define SELION_LAPI_HERE(argument)                                                               \
    (selion_lapi_note_place(__extension__({                                                      \
         static const struct selion_lapi_place selion_place = {__FILE__, __func__, __LINE__, 0}; \
         &selion_place;                                                                          \
     })),                                                                                        \
     (argument))

#define LAPI_Init(hndl, ...) LAPI_Init(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Qenv(hndl, ...) LAPI_Qenv(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Senv(hndl, ...) LAPI_Senv(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Put(hndl, ...) LAPI_Put(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Get(hndl, ...) LAPI_Get(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Putv(hndl, ...) LAPI_Putv(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Getv(hndl, ...) LAPI_Getv(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Amsend(hndl, ...) LAPI_Amsend(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Amsendv(hndl, ...) LAPI_Amsendv(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Rmw(hndl, ...) LAPI_Rmw(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Rmw64(hndl, ...) LAPI_Rmw64(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Setcntr(hndl, ...) LAPI_Setcntr(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Getcntr(hndl, ...) LAPI_Getcntr(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Waitcntr(hndl, ...) LAPI_Waitcntr(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Address_init(hndl, ...) LAPI_Address_init(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Address_init64(hndl, ...) LAPI_Address_init64(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Addr_set(hndl, ...) LAPI_Addr_set(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Addr_get(hndl, ...) LAPI_Addr_get(SELION_LAPI_HERE(hndl), __VA_ARGS__)
#define LAPI_Term(hndl) LAPI_Term(SELION_LAPI_HERE(hndl))
#define LAPI_Fence(hndl) LAPI_Fence(SELION_LAPI_HERE(hndl))
#define LAPI_Gfence(hndl) LAPI_Gfence(SELION_LAPI_HERE(hndl))
#define LAPI_Probe(hndl) LAPI_Probe(SELION_LAPI_HERE(hndl))

#endif
