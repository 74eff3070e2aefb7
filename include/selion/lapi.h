/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/** LAPI's names in plain C, for programs that were written after the manual of IBM's library. What
 * each function does here, and where that differs, is in docs/reference/lapi.md.
 *
 * A task is a rank. Addresses are addresses of the target's own memory, of any kind: every
 * transfer is an active message, which the target handles within its own LAPI calls. No function
 * may be called on a thread that belongs to no task, or by two threads of a task at once.
 *
 * Functions return LAPI_SUCCESS, or the code of what is wrong with their arguments; then they have
 * done nothing. */

#include <selion/detail/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long long lapi_long_t;

/** One task's membership in the job, from LAPI_Init to LAPI_Term. Never 0. */
typedef uint lapi_handle_t;

/** Counts operations. Zeroed memory is a counter of value 0; other memory becomes one by
 * LAPI_Setcntr. Its contents belong to the library. */
typedef struct {
    lapi_long_t selion_words[4];
} __attribute__((aligned(16))) lapi_cntr_t;

/** What kind of operation an error handler is told about. */
typedef enum { GET_ERR, PUT_ERR, RMW_ERR, AM_ERR, INT_ERR, TMR_ERR } lapi_err_t;

typedef enum { L1_LIB, L2_LIB, L3_LIB, L4_LIB, LAST_LIB } lapi_lib_t;

/** Called where a message that has come cannot be handled, with addresses of: handle, error code,
 * kind, own number, number of the task that sent it. The message is dropped when it returns. */
typedef void(LAPI_err_hndlr)(lapi_handle_t*, int*, lapi_err_t*, int*, int*);

/** Zero it, then set what is wanted. Only `err_hndlr` has an effect here. */
typedef struct {
    int protocol;
    lapi_lib_t lib_vers;
    uint epoch_num;
    int num_compl_hndlr_thr;
    uint instance_no;
    int info6;                 /**< must be 0 */
    LAPI_err_hndlr* err_hndlr; /**< null: the job ends with a sentence */
    void* lapi_thread_attr;
    void* adapter_name;
    void* add_info; /**< must be null */
} lapi_info_t;

typedef enum { LAPI_GEN_IOVECTOR, LAPI_GEN_STRIDED_XFER, LAPI_GEN_GENERIC } lapi_vectype_t;

/** Pieces of memory. For LAPI_GEN_STRIDED_XFER `info` holds the first address, the bytes of a block
 * and the bytes from one block to the next, and `len` is ignored; else `info` holds the addresses
 * and `len` the bytes of each piece. */
typedef struct {
    lapi_vectype_t vec_type;
    uint num_vecs;
    void** info;
    ulong* len;
} lapi_vec_t;

typedef enum { FETCH_AND_ADD, FETCH_AND_OR, SWAP, COMPARE_AND_SWAP, LAST_RMW_OP } RMW_ops_t;

typedef enum {
    TASK_ID,
    NUM_TASKS,
    MAX_UHDR_SZ,
    MAX_DATA_SZ,
    ERROR_CHK, /**< can be set: 0 or 1; arguments are checked either way */
    TIMEOUT,   /**< can be set: MIN_TIMEOUT to MAX_TIMEOUT; see SELION_HANG_TIMEOUT instead */
    MIN_TIMEOUT,
    MAX_TIMEOUT,
    INTERRUPT_SET, /**< can be set: 0 or 1; whether LAPI_Getcntr serves messages */
    LOC_ADDRTBL_SZ,
    ACK_THRESHOLD, /**< can be set: 1 to 30; has no effect */
    LAST_QUERY
} lapi_query_t;

/** Codes. Their numbers are not those of IBM's library. */
enum {
    LAPI_SUCCESS = 0,
    LAPI_ERR_FIRSTCODE = 401,
    LAPI_ERR_ADDR_HNDL_RANGE = LAPI_ERR_FIRSTCODE,
    LAPI_ERR_ADDR_TBL_NULL,
    LAPI_ERR_ALL_HNDL_IN_USE,
    LAPI_ERR_CNTR_NULL,
    LAPI_ERR_CNTR_VAL,
    LAPI_ERR_CODE_UNKNOWN,
    LAPI_ERR_DATA_LEN,
    LAPI_ERR_HDR_HNDLR_NULL,
    LAPI_ERR_HNDL_INVALID,
    LAPI_ERR_IN_VAL_NULL,
    LAPI_ERR_INFO_NONZERO,
    LAPI_ERR_INFO_NULL,
    LAPI_ERR_ORG_ADDR_NULL,
    LAPI_ERR_ORG_STRIDE,
    LAPI_ERR_ORG_VEC_ADDR,
    LAPI_ERR_ORG_VEC_LEN,
    LAPI_ERR_ORG_VEC_NULL,
    LAPI_ERR_ORG_VEC_TYPE,
    LAPI_ERR_QUERY_TYPE,
    LAPI_ERR_RET_PTR_NULL,
    LAPI_ERR_RMW_OP,
    LAPI_ERR_SET_VAL,
    LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL,
    LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL,
    LAPI_ERR_TGT,
    LAPI_ERR_TGT_ADDR_NULL,
    LAPI_ERR_TGT_STRIDE,
    LAPI_ERR_TGT_VAR_NULL,
    LAPI_ERR_TGT_VEC_ADDR,
    LAPI_ERR_TGT_VEC_LEN,
    LAPI_ERR_TGT_VEC_NULL,
    LAPI_ERR_TGT_VEC_TYPE,
    LAPI_ERR_UHDR_LEN,
    LAPI_ERR_UHDR_NULL,
    LAPI_ERR_VEC_LEN_DIFF,
    LAPI_ERR_VEC_NUM_DIFF,
    LAPI_ERR_VEC_TYPE_DIFF,
    LAPI_ERR_TGT_VAR_ALIGN, /**< Selion's own */
    /* No function returns these here: */
    LAPI_ERR_HDR_LEN,
    LAPI_ERR_MEMORY_EXHAUSTED,
    LAPI_ERR_MULTIPLE_WAITERS,
    LAPI_ERR_TGT_PURGED,
    LAPI_ERR_TIMEOUT,
    LAPI_ERR_UNKNOWN,
    LAPI_ERR_LASTCODE = LAPI_ERR_UNKNOWN
};

/** Bytes of the longest sentence of LAPI_Msg_string, with the zero behind it. */
#define LAPI_MAX_ERR_STRING 160
#define LAPI_ADDR_NULL ((void*)0)

/** Runs at the target of LAPI_Amsend or LAPI_Amsendv when its data are in their place, with the
 * argument that the header handler has chosen: within a LAPI call of the target that waits or
 * serves messages, one at a time. It may call any LAPI function that is not collective,
 * except LAPI_Term. */
typedef void(compl_hndlr_t)(lapi_handle_t*, void* user_info);

/** Runs at the target when a message begins to arrive, while the target serves messages: it must
 * not wait. `uhdr` lives while it runs. @return where the data go; null only if there are none. */
typedef void*(hdr_hndlr_t)(lapi_handle_t*, void* uhdr, uint* uhdr_len, ulong* msg_len,
                           compl_hndlr_t** completion, void** user_info);

/** The same for LAPI_Amsendv; `lengths` are the bytes of each piece of the origin. What it returns
 * must stay until the data are there. */
typedef lapi_vec_t*(vhdr_hndlr_t)(lapi_handle_t*, void* uhdr, uint* uhdr_len, ulong* lengths,
                                  compl_hndlr_t** completion, void** user_info);

/** Collective here: returns when all tasks have called it. */
SELION_API int LAPI_Init(lapi_handle_t* hndl, lapi_info_t* info);
/** Runs the completion handlers that wait to be run; waits for no other task. */
SELION_API int LAPI_Term(lapi_handle_t hndl);
/** Writes a sentence of at most LAPI_MAX_ERR_STRING bytes. */
SELION_API int LAPI_Msg_string(int error_code, void* buf);
SELION_API int LAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int* ret_val);
SELION_API int LAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val);

/** Writes `len` bytes to the target's memory. The source may be reused on return, so the origin
 * counter counts at once. In order with other operations that the task starts on the target; but
 * those that a handler starts while this call waits for room may come between its messages.
 * @cost a message for each 256 KiB. */
SELION_API int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr,
                        lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr);
/** Reads `len` bytes of the target's memory; the origin counter counts when they are here. */
SELION_API int LAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr,
                        lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr);
/** The same for pieces of memory. Unless the vectors are generic, they have equally many pieces of
 * equal lengths; generic ones are filled one behind the other. */
SELION_API int LAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec,
                         lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr);
SELION_API int LAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec,
                         lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr);

/** Sends a header and data to a header handler at the target. Target and completion counter count
 * after the completion handler.
 * @param hdr_hdl a hdr_hndlr_t of the program or of the target, or its place in the target's table
 * (see LAPI_Addr_set). */
SELION_API int LAPI_Amsend(lapi_handle_t hndl, uint tgt, void* hdr_hdl, void* uhdr, uint uhdr_len,
                           void* udata, ulong udata_len, lapi_cntr_t* tgt_cntr,
                           lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr);
/** The same for pieces of memory. @param hdr_hdl a vhdr_hndlr_t. */
SELION_API int LAPI_Amsendv(lapi_handle_t hndl, uint tgt, void* hdr_hdl, void* uhdr, uint uhdr_len,
                            lapi_vec_t* org_vec, lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr,
                            lapi_cntr_t* cmpl_cntr);

/** Changes a variable of the target in one step, and fetches what it was.
 * @param tgt_var aligned to its size.
 * @param in_val one value; for COMPARE_AND_SWAP two, the expected one and the new one.
 * @param prev_tgt_val may be null; for COMPARE_AND_SWAP it becomes 1 or 0: swapped or not. */
SELION_API int LAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int* tgt_var, int* in_val,
                        int* prev_tgt_val, lapi_cntr_t* org_cntr);
SELION_API int LAPI_Rmw64(lapi_handle_t hndl, RMW_ops_t op, uint tgt, long long* tgt_var,
                          long long* in_val, long long* prev_tgt_val, lapi_cntr_t* org_cntr);

/** Makes a counter of any memory. Nothing may be counting on it. */
SELION_API int LAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val);
SELION_API int LAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int* val);
/** Waits until the counter is at least `val`, then subtracts `val`.
 * @param cur_cntr_val what is left; may be null. */
SELION_API int LAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val, int* cur_cntr_val);
/** Serves messages that have come, and runs completion handlers. */
SELION_API int LAPI_Probe(lapi_handle_t hndl);

/** Waits until the data of all operations of this task are where they belong and the completion
 * counters of its puts have counted; not for completion handlers. @cost a message each way for each
 * task that it has addressed since the last time. */
SELION_API int LAPI_Fence(lapi_handle_t hndl);
/** Collective: LAPI_Fence on all tasks, and a barrier. */
SELION_API int LAPI_Gfence(lapi_handle_t hndl);

/** Makes a number of an address. */
SELION_API int LAPI_Address(void* my_addr, ulong* ret_addr);
/** Collective: every task gets the addresses that all tasks pass, in the order of their numbers.
 * @param add_tab NUM_TASKS addresses. */
SELION_API int LAPI_Address_init(lapi_handle_t hndl, void* my_addr, void* add_tab[]);
SELION_API int LAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t* add_tab);
/** Puts the address of a header handler into the task's own table, so that others can name it by a
 * number. @param addr_hndl 1 to LOC_ADDRTBL_SZ - 1. */
SELION_API int LAPI_Addr_set(lapi_handle_t hndl, void* addr, int addr_hndl);
SELION_API int LAPI_Addr_get(lapi_handle_t hndl, void** addr, int addr_hndl);

#ifdef __cplusplus
}
#endif

#include <selion/lapi_places.h>
