#pragma once

#include <cstdio>
#include <filesystem>

namespace timingwheel::inline v1::detail {

/// Opens a file for writing, in bytes. A null pointer and errno if that fails.
inline std::FILE* openToWrite(std::filesystem::path const& path) noexcept {
#if defined(_WIN32)
    return _wfopen(path.c_str(), L"wb");  // fopen() would take its characters for another set's
#else
    return std::fopen(path.c_str(), "wb");
#endif
}

}  // namespace timingwheel::inline v1::detail
