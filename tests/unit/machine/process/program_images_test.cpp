// SPDX-License-Identifier: Apache-2.0
/// Messages know functions by the name of their library: two of one name must not be mixed up.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "selion/detail/message_function.hpp"

namespace selion::detail {
namespace {

using testing::ExitedWithCode;

/// The path of some library that this program has loaded; empty: it is linked without.
std::filesystem::path some_library() {
    std::filesystem::path found;
    const auto look = [](dl_phdr_info* image, std::size_t, void* user) {
        const std::string_view path = image->dlpi_name;
        if (path.find("/libhwloc.") == path.npos) return 0;
        *static_cast<std::filesystem::path*>(user) = path;
        return 1;
    };
    dl_iterate_phdr(look, &found);
    return found;
}

/// A copy of a library, loaded from a folder of its own.
class loaded_copy {
public:
    loaded_copy(const std::filesystem::path& library, const std::filesystem::path& folder) {
        std::filesystem::create_directories(folder);
        const std::filesystem::path copy = folder / "libof_one_name.so";
        std::filesystem::copy_file(library, copy);
        handle_ = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    ~loaded_copy() {
        if (handle_ != nullptr) dlclose(handle_);
    }
    loaded_copy(const loaded_copy&) = delete;
    loaded_copy& operator=(const loaded_copy&) = delete;

    /// An address within it; null: it could not be loaded.
    const void* inside() const {
        link_map* map = nullptr;
        if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) return nullptr;
        return map->l_ld;
    }

private:
    void* handle_;
};

class program_images : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "selion-images-XXXXXX");
        folder = mkdtemp(name.data());
        library = some_library();
        if (library.empty()) GTEST_SKIP() << "no library is loaded that could be copied";
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    std::filesystem::path folder;
    std::filesystem::path library;
};

TEST_F(program_images, of_two_libraries_of_one_name_the_first_one_s_functions_have_names) {
    const loaded_copy one(library, folder / "one");
    const loaded_copy other(library, folder / "other");
    if (one.inside() == nullptr || other.inside() == nullptr) GTEST_SKIP() << dlerror();
    EXPECT_NE(register_image(one.inside()).bytes, 0u);
    EXPECT_EQ(register_image(other.inside()).bytes, 0u);
    const auto code = encode_foreign_function(reinterpret_cast<std::uint64_t>(one.inside()));
    EXPECT_EQ(decode_foreign_function(code), reinterpret_cast<std::uint64_t>(one.inside()));
    EXPECT_EXIT(encode_foreign_function(reinterpret_cast<std::uint64_t>(other.inside())),
                ExitedWithCode(1),
                "/other/libof_one_name.so', but functions are known by .* and "
                "'.*/one/libof_one_name.so' cannot be told from it: rename one");
}

TEST_F(program_images, a_library_may_take_the_place_of_one_that_is_gone) {
    {
        const loaded_copy one(library, folder / "one");
        if (one.inside() == nullptr) GTEST_SKIP() << dlerror();
        EXPECT_NE(register_image(one.inside()).bytes, 0u);
    }
    // Something else may lie where it was.
    const loaded_copy other(library, folder / "other");
    EXPECT_NE(register_image(other.inside()).bytes, 0u);
}

}  // namespace
}  // namespace selion::detail
