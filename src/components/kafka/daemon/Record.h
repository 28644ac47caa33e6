#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

struct Header {
    std::string_view name;
    std::optional<std::string_view> value;

    friend bool operator==(Header const&, Header const&) = default;
};

/// A record of a topic, as views: its maker keeps the bytes.
struct Record {
    std::optional<std::string_view> key;
    std::optional<std::string_view> value;
    std::vector<Header> headers;
    std::int64_t offset = 0;
};

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
