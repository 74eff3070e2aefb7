// SPDX-License-Identifier: Apache-2.0
#include "lapi/pieces.hpp"

#include "lapi/task.hpp"

namespace selion::lapi {
namespace {

/// The codes of one side.
struct vector_codes {
    int null, type, stride, stride_address, address, length;
};
constexpr vector_codes origin_codes{LAPI_ERR_ORG_VEC_NULL, LAPI_ERR_ORG_VEC_TYPE,
                                    LAPI_ERR_ORG_STRIDE,   LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL,
                                    LAPI_ERR_ORG_VEC_ADDR, LAPI_ERR_ORG_VEC_LEN};
constexpr vector_codes target_codes{LAPI_ERR_TGT_VEC_NULL, LAPI_ERR_TGT_VEC_TYPE,
                                    LAPI_ERR_TGT_STRIDE,   LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL,
                                    LAPI_ERR_TGT_VEC_ADDR, LAPI_ERR_TGT_VEC_LEN};

std::uint64_t block_bytes(const lapi_vec_t& vector) {
    return reinterpret_cast<std::uint64_t>(vector.info[1]);
}

int check_strided(const lapi_vec_t& vector, const vector_codes& codes) {
    if (vector.info == nullptr || vector.info[0] == nullptr) return codes.stride_address;
    const auto stride = reinterpret_cast<std::uint64_t>(vector.info[2]);
    if (stride < block_bytes(vector)) return codes.stride;
    const bool is_short = block_bytes(vector) <= most_data_bytes / vector.num_vecs;
    return is_short ? LAPI_SUCCESS : codes.length;
}

int check_listed(const lapi_vec_t& vector, const vector_codes& codes) {
    if (vector.info == nullptr || vector.len == nullptr) return codes.address;
    std::uint64_t total = 0;
    for (uint i = 0; i < vector.num_vecs; ++i) {
        if (vector.info[i] == nullptr && vector.len[i] != 0) return codes.address;
        if (vector.len[i] > most_data_bytes - total) return codes.length;
        total += vector.len[i];
    }
    return LAPI_SUCCESS;
}

int check_vector(const lapi_vec_t* vector, const vector_codes& codes) {
    if (vector == nullptr) return codes.null;
    if (static_cast<uint>(vector->vec_type) > LAPI_GEN_GENERIC) return codes.type;
    if (vector->num_vecs == 0) return LAPI_SUCCESS;
    const bool is_strided = vector->vec_type == LAPI_GEN_STRIDED_XFER;
    return is_strided ? check_strided(*vector, codes) : check_listed(*vector, codes);
}

bool have_equal_lengths(const lapi_vec_t& left, const lapi_vec_t& right) {
    if (left.num_vecs == 0) return true;
    if (left.vec_type == LAPI_GEN_STRIDED_XFER) return block_bytes(left) == block_bytes(right);
    return std::equal(left.len, left.len + left.num_vecs, right.len);
}

}  // namespace

std::uint64_t total_bytes(const lapi_vec_t& vector) {
    if (vector.num_vecs == 0) return 0;
    if (vector.vec_type == LAPI_GEN_STRIDED_XFER) return block_bytes(vector) * vector.num_vecs;
    std::uint64_t total = 0;
    for (uint i = 0; i < vector.num_vecs; ++i) total += vector.len[i];
    return total;
}

int check_origin_vector(const lapi_vec_t* vector) { return check_vector(vector, origin_codes); }
int check_target_vector(const lapi_vec_t* vector) { return check_vector(vector, target_codes); }

int check_vectors(const lapi_vec_t* target, const lapi_vec_t* origin, data_way way) {
    if (const int code = check_target_vector(target); code != LAPI_SUCCESS) return code;
    if (const int code = check_origin_vector(origin); code != LAPI_SUCCESS) return code;
    if (target->vec_type != origin->vec_type) return LAPI_ERR_VEC_TYPE_DIFF;
    if (origin->vec_type == LAPI_GEN_GENERIC) {
        const std::uint64_t at_target = total_bytes(*target);
        const std::uint64_t at_origin = total_bytes(*origin);
        const bool has_room =
            way == data_way::to_target ? at_target >= at_origin : at_origin >= at_target;
        return has_room ? LAPI_SUCCESS : LAPI_ERR_VEC_LEN_DIFF;
    }
    if (target->num_vecs != origin->num_vecs) return LAPI_ERR_VEC_NUM_DIFF;
    return have_equal_lengths(*target, *origin) ? LAPI_SUCCESS : LAPI_ERR_VEC_LEN_DIFF;
}

}  // namespace selion::lapi
