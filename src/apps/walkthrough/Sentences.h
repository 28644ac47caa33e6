#pragma once

#include <timingwheel/wheel/TimingWheelLevel.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace walkthrough {

/// How a story says its times: a tick is a millisecond, or a second of a clock.
class Times {
public:
    enum class Style : std::uint8_t { milliseconds, clock };

    explicit Times(Style style) noexcept : isClock_{style == Style::clock} {}

    /// A time within a sentence: "8,499"; "9:16:05", "7:00:00 of day 2".
    std::string at(std::int64_t tick) const;
    /// How long something takes: "8,499 ms"; "42 min 17 s".
    std::string lasting(std::int64_t ticks) const;
    /// What a time is divided by: "8,000"; "1 h".
    std::string divisor(std::int64_t ticks) const;
    /// Where a story begins: "0 ms"; "9:15:40".
    std::string moment(std::int64_t tick) const { return isClock_ ? at(tick) : lasting(tick); }

private:
    bool isClock_;
};

struct Place {
    std::uint32_t level;
    std::uint32_t slot;
    std::int64_t expiration;
};

struct TaskPicture {
    std::string name;
    std::int64_t scheduledAt;
    std::int64_t delay;
    std::int64_t deadline;
    char const* state = "queued";  ///< queued, flushed, ran or cancelled
    std::int64_t endedAt = 0;
    std::size_t cascades = 0;
};

/// What the story's frames say. Numbers come in, words go out; nothing here knows a wheel's rules.
namespace sentence {

std::string begin(Times const& times, std::int64_t start, std::int64_t slots);
std::string schedule(Times const& times, TaskPicture const& task);
/// `highest` is the highest level that existed before the task came.
std::string place(Times const& times, TaskPicture const& task,
                  timingwheel::TimingWheelLevel const& level,
                  timingwheel::TimingWheelLevel const* below,
                  timingwheel::TimingWheelLevel const& highest, Place const& to);
/// `earliestBefore` is the earliest expiration in the heap before; none if it was empty.
std::string arm(Times const& times, Place const& to, std::optional<std::int64_t> earliestBefore,
                std::int64_t now);
std::string wake(Times const& times, Place const& from, std::int64_t slept, std::size_t tasks);
std::string cascade(Times const& times, TaskPicture const& task, Place const& from, Place const& to,
                    std::int64_t now, bool arms);
std::string run(Times const& times, TaskPicture const& task, Place const& from);
std::string cancel(Times const& times, TaskPicture const& task, Place const& from, bool wasAlone);
std::string wait(Times const& times, std::int64_t now, std::int64_t clock);

std::string flatPlace(Times const& times, TaskPicture const& task, std::size_t slot,
                      std::int64_t rounds, std::int64_t slots);
std::string flatWalk(std::int64_t ticks, std::int64_t passedOver, std::string const& ran);

}  // namespace sentence

}  // namespace walkthrough
