#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <system_error>

namespace timingwheel::test {

/// A file that goes with the test.
class TemporaryFile {
public:
    TemporaryFile()
        : path{std::filesystem::path{testing::TempDir()} /
               ("timingwheel-" + std::to_string(std::random_device{}()) + ".trace")} {}
    TemporaryFile(TemporaryFile const&) = delete;
    TemporaryFile& operator=(TemporaryFile const&) = delete;
    ~TemporaryFile() {
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
    }

    std::filesystem::path const path;
};

}  // namespace timingwheel::test
