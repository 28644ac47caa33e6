#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace timingwheel::test {

/// A file that goes with the test.
class TemporaryFile {
public:
    TemporaryFile()
        : path{std::filesystem::path{testing::TempDir()} /
               (std::string{testing::UnitTest::GetInstance()->current_test_info()->name()} + "-" +
                std::to_string(++count_) + ".trace")} {}
    TemporaryFile(TemporaryFile const&) = delete;
    TemporaryFile& operator=(TemporaryFile const&) = delete;
    ~TemporaryFile() {
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
    }

    std::filesystem::path const path;

private:
    static inline int count_ = 0;
};

}  // namespace timingwheel::test
