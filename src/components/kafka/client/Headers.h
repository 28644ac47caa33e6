#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The names of headers, and bounds: what users of any Kafka client, the daemon and its state agree
/// on. docs/beyond.md describes them.
namespace timingwheel::inline v1::kafka {
namespace header {

inline constexpr std::string_view kPrefix = "timingwheel-";

inline constexpr std::string_view kCommand = "timingwheel-command";
inline constexpr std::string_view kSchedule = "schedule";
inline constexpr std::string_view kPushBack = "push-back";
inline constexpr std::string_view kCancel = "cancel";

/// When it is due: milliseconds since 1970, decimal.
inline constexpr std::string_view kAt = "timingwheel-at";
/// The topic to deliver to.
inline constexpr std::string_view kTo = "timingwheel-to";
/// The key of what is delivered; the timer's id if there is none.
inline constexpr std::string_view kKey = "timingwheel-key";
/// In the state, where a record without value is a tombstone: the timer has none.
inline constexpr std::string_view kValue = "timingwheel-value";
inline constexpr std::string_view kNone = "none";
/// The timer's id, in what is delivered.
inline constexpr std::string_view kId = "timingwheel-id";

/// The rule of a timer that recurs, one of these: milliseconds from one delivery to the next,
/// decimal; a cron expression; what systemd calls OnCalendar.
inline constexpr std::string_view kEvery = "timingwheel-every";
inline constexpr std::string_view kCron = "timingwheel-cron";
inline constexpr std::string_view kCalendar = "timingwheel-calendar";
/// Of the latter two: the IANA zone, UTC by default, and what happens where its clocks change.
inline constexpr std::string_view kZone = "timingwheel-zone";
inline constexpr std::string_view kGap = "timingwheel-gap";
inline constexpr std::string_view kAtItsEnd = "at-its-end";  // the default
inline constexpr std::string_view kSkip = "skip";
inline constexpr std::string_view kOverlap = "timingwheel-overlap";
inline constexpr std::string_view kFirst = "first";  // the default
inline constexpr std::string_view kLast = "last";
inline constexpr std::string_view kBoth = "both";
/// What becomes of times that have passed at a delivery: kSkip, the default, or this.
inline constexpr std::string_view kMissed = "timingwheel-missed";
inline constexpr std::string_view kCatchUp = "catch-up";

/// Asks for a reply, and is in it.
inline constexpr std::string_view kReply = "timingwheel-reply";
inline constexpr std::string_view kOutcome = "timingwheel-outcome";
/// Why a command was refused, or a delivery failed.
inline constexpr std::string_view kReason = "timingwheel-reason";
/// Where a dead letter comes from: topic/partition, of a command with /offset.
inline constexpr std::string_view kFrom = "timingwheel-from";

}  // namespace header

/// The outcomes, in replies.
inline constexpr std::string_view kScheduled = "scheduled";
inline constexpr std::string_view kReplaced = "replaced";
inline constexpr std::string_view kPushedBack = "pushed-back";
inline constexpr std::string_view kCancelled = "cancelled";
inline constexpr std::string_view kTooLate = "too-late";
inline constexpr std::string_view kRefused = "refused";

/// Bytes of a timer's id, and headers of its user's own.
inline constexpr std::size_t kMaxId = 1'000;
inline constexpr std::size_t kMaxHeaders = 100;

/// What Kafka allows as the name of a topic.
inline constexpr char const* kTopicBound =
    "1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-', and not '.' or '..'";
inline bool isTopic(std::string_view name) {
    constexpr char const* kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !name.empty() && name.size() <= 249 && name != "." && name != ".." &&
           name.find_first_not_of(kLetters) == std::string_view::npos;
}

/// For messages: what a stranger has written, in bounds.
inline std::string quoted(std::string_view text) {
    constexpr std::size_t kMost = 60;
    std::string result = "\"";
    for (char const letter : text.substr(0, kMost))
        result += letter >= ' ' && letter <= '~' ? letter : '?';
    return result + (text.size() > kMost ? "...\"" : "\"");
}

/// From one delivery to the next, in milliseconds; and the bytes of a header of a rule.
inline constexpr std::int64_t kMinEvery = 1'000;
inline constexpr std::size_t kMaxRule = 1'000;

/// In the state, the key of a record that is no timer's: its value is the offset behind the
/// commands that are taken in, decimal.
inline constexpr std::string_view kPositionKey = "";

/// Days from now to a timer's time: what a worker's options allow at most. Seconds in place of
/// milliseconds are of 1970, and beyond.
inline constexpr std::int64_t kMaxPastDays = 10'000;
inline constexpr std::int64_t kMaxDelayDays = 36'600;
inline constexpr std::int64_t kDay = 24 * 3'600'000;  // ms

}  // namespace timingwheel::inline v1::kafka
