#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace timingwheel::inline v1::kafka {

struct Header {
    std::string_view name;
    std::optional<std::string_view> value;

    friend bool operator==(Header const&, Header const&) = default;
};

/// The value of the last header of this name, if there is one.
inline std::optional<std::string_view> lastHeader(std::vector<Header> const& headers,
                                                  std::string_view name) noexcept {
    for (auto header = headers.rbegin(); header != headers.rend(); ++header)
        if (header->name == name) return header->value.value_or(std::string_view{});
    return std::nullopt;
}

/// A record of a topic, as views: its maker keeps the bytes.
struct Record {
    std::optional<std::string_view> key;
    std::optional<std::string_view> value;
    std::vector<Header> headers;
    std::int64_t offset = 0;
};

}  // namespace timingwheel::inline v1::kafka
