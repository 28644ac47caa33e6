#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace walkthrough {

/// A bucket that is armed, and what it holds.
struct BucketPicture {
    std::uint32_t level;
    std::uint32_t slot;
    std::int64_t expiration;
    std::vector<std::size_t> tasks;
};

/// One ring. Only buckets that are armed are listed: the others are empty.
struct LevelPicture {
    std::int64_t slots;
    std::int64_t granularity;
    std::int64_t interval;
    std::int64_t clock;
    std::vector<BucketPicture> buckets;
};

struct TaskPicture {
    enum class State : std::uint8_t { queued, flushed, ran, cancelled };

    std::string name;
    std::int64_t scheduledAt;
    std::int64_t delay;
    std::int64_t deadline;
    State state = State::queued;
    std::int64_t endedAt = 0;
    std::size_t cascades = 0;
};

/// The flat wheel at the same time, with the same tasks.
struct FlatPicture {
    struct Entry {
        std::size_t task;
        std::size_t slot;
        std::int64_t rounds;
    };
    std::int64_t clock;
    std::int64_t slots;
    std::int64_t ticksWalked;
    std::int64_t passedOver;  ///< entries that a visit found too early
    std::vector<Entry> entries;
};

/// What is where at one moment, read off the wheels. Times are ticks.
struct Picture {
    std::int64_t now;
    std::int64_t clock;  ///< the wheel's: it moves only when something happens
    std::size_t wakeUps;
    std::size_t cascades;
    std::vector<LevelPicture> levels;
    std::vector<BucketPicture> heap;  ///< earliest first
    std::vector<TaskPicture> tasks;
    FlatPicture flat;
};

}  // namespace walkthrough
