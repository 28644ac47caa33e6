#include "core/base/ReadableTime.h"

#include <timingwheel/TimerStatistics.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ostream>

namespace timingwheel::inline v1 {

using detail::ReadableTime;

namespace {

// 8 buckets to an octave; the first 8 hold 0 to 7 ns.
constexpr unsigned kBits = 3;
constexpr std::uint64_t kSteps = 1U << kBits;

}  // namespace

std::size_t LatenessHistogram::bucketOf(std::chrono::nanoseconds lateness) noexcept {
    auto const value = static_cast<std::uint64_t>(std::max<std::int64_t>(lateness.count(), 0));
    if (value < kSteps) return static_cast<std::size_t>(value);
    auto const octave = static_cast<unsigned>(std::bit_width(value)) - 1 - kBits;
    return static_cast<std::size_t>((octave + 1) * kSteps + ((value >> octave) - kSteps));
}

std::chrono::nanoseconds LatenessHistogram::upperBound(std::size_t bucket) noexcept {
    if (bucket < kSteps) return std::chrono::nanoseconds{static_cast<std::int64_t>(bucket)};
    auto const octave = static_cast<unsigned>(bucket / kSteps) - 1;
    std::uint64_t const step = bucket % kSteps + kSteps;
    return std::chrono::nanoseconds{static_cast<std::int64_t>(((step + 1) << octave) - 1)};
}

void LatenessHistogram::add(std::chrono::nanoseconds lateness, std::uint64_t times) noexcept {
    counts_[bucketOf(lateness)] += times;
}

std::uint64_t LatenessHistogram::count() const noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t const times : counts_) sum += times;
    return sum;
}

std::chrono::nanoseconds LatenessHistogram::quantile(double fraction) const noexcept {
    std::uint64_t const all = count();
    if (all == 0) return std::chrono::nanoseconds{0};
    double const wanted = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(all));
    // Neither for NaN nor for what rounds to more than all: no whole number may hold these.
    std::uint64_t rank = 1;
    if (wanted >= static_cast<double>(all))
        rank = all;
    else if (wanted > 1)
        rank = static_cast<std::uint64_t>(wanted);
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
        seen += counts_[bucket];
        if (seen >= rank) return upperBound(bucket);
    }
    return upperBound(kBuckets - 1);
}

std::ostream& operator<<(std::ostream& out, TimerStatistics const& s) {
    out << "timer \"" << s.name << "\"\n"
        << "  scheduled " << s.scheduled << " = fired " << s.fired << " + cancelled " << s.cancelled
        << " + rejected " << s.rejected << " + returned " << s.returned << " + pending "
        << s.pending << '\n'
        << "  runs " << s.runs << ", rescheduled " << s.rescheduled << ", refused " << s.refused
        << ", driver wake-ups " << s.wakeUps << '\n'
        << "  cascaded from level";
    for (std::size_t level = 1; level < s.cascaded.size(); ++level)
        out << ' ' << level << ": " << s.cascaded[level]
            << (level + 1 < s.cascaded.size() ? "," : "");
    if (s.cascaded.size() < 2) out << " none";
    auto const quantile = [&s](double fraction) {
        return ReadableTime{std::min(s.lateness.quantile(fraction), s.maxLateness)};
    };
    return out << "\n  lateness p50 " << quantile(0.5) << ", p99 " << quantile(0.99) << ", p99.9 "
               << quantile(0.999) << ", max " << ReadableTime{s.maxLateness} << "; longest run "
               << ReadableTime{s.longestRun} << '\n';
}

}  // namespace timingwheel::inline v1
