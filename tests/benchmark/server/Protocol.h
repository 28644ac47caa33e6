#pragma once

#include <chrono>
#include <cstdint>

struct Packet {
    enum Kind : std::uint32_t { kTouch, kStorm, kState };
    std::int64_t due = 0;  // when it was to be sent
    std::uint32_t session = 0;
    std::uint32_t kind = kTouch;
};

// What the server says of itself.
struct State {
    std::int64_t processorTime = 0;
    std::int64_t allocated = 0;  // bytes that malloc has handed out
    std::int64_t open = 0;
    std::int64_t closed = 0;
    std::int64_t early = 0;
    std::int64_t stormDue = 0;
    std::int64_t lastClose = 0;
};

struct Sizes {
    std::uint32_t sessions = 1'000'000;
    std::uint32_t storm = 100'000;
    std::uint32_t rate = 80'000;  // packets a second
    double seconds = 12;
    // Each session gets a packet in time: all of them in turn take sessions / rate, 12.5 s.
    std::chrono::milliseconds idle{15'000};
    std::chrono::milliseconds stormIdle{2'000};
};

inline std::int64_t now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1};
}
