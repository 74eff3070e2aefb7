// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

/// A test that sees only the SELION_* variables that it sets itself; all are as before afterwards.
class own_environment : public testing::Test {
protected:
    own_environment() {
        for (char** variable = environ; *variable != nullptr; ++variable) {
            const std::string_view text = *variable;
            if (!text.starts_with("SELION_")) continue;
            const std::size_t equals = text.find('=');
            before_.emplace(text.substr(0, equals), text.substr(equals + 1));
        }
        clear();
    }
    ~own_environment() override {
        clear();
        for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
    }

    static void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

private:
    static void clear() {
        for (char** variable = environ; *variable != nullptr;) {
            const std::string_view text = *variable;
            if (text.starts_with("SELION_")) {
                unsetenv(std::string(text.substr(0, text.find('='))).c_str());
                variable = environ;
            } else {
                ++variable;
            }
        }
    }
    std::map<std::string, std::string> before_;
};
