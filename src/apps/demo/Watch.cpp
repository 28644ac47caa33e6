#include "apps/demo/Watch.h"

#include "apps/terminal/Format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

namespace demo {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using timingwheel::LatenessHistogram;
using timingwheel::TimerStatistics;

std::uint64_t cascadesOf(TimerStatistics const& statistics) {
    return std::reduce(statistics.cascaded.begin(), statistics.cascaded.end());
}

LatenessHistogram between(LatenessHistogram const& before, LatenessHistogram const& after) {
    LatenessHistogram difference;
    for (std::size_t bucket = 0; bucket < LatenessHistogram::kBuckets; ++bucket)
        difference.add(LatenessHistogram::upperBound(bucket),
                       after.counts()[bucket] - before.counts()[bucket]);
    return difference;
}

}  // namespace

Watch::Watch(Options const& options, Occupancy const& occupancy, Terminal& terminal,
             TimePoint begin)
    : options_{options},
      occupancy_{occupancy},
      terminal_{terminal},
      begin_{begin},
      nextPrint_{begin + 1s},
      readings_{{begin, {}}} {
    if (terminal_.canRedraw()) screen_ = std::make_unique<Screen>();
}

void Watch::addLevels(Picture& picture, TimePoint time) {
    Occupancy::Snapshot const snapshot = occupancy_.snapshot();
    for (double& fullest : fullest_) fullest *= 0.97;
    for (Occupancy::Bucket const& bucket : snapshot.buckets) {
        if (bucket.level >= fullest_.size()) fullest_.resize(bucket.level + 1);
        fullest_[bucket.level] =
            std::max(fullest_[bucket.level], static_cast<double>(bucket.timeouts));
    }
    std::int64_t const tick = snapshot.start ? (time - *snapshot.start) / options_.tick : 0;
    std::int64_t granularity = 1;
    for (double const fullest : fullest_) {
        picture.levels.push_back(
            {.granularity = options_.tick * granularity,
             .hand = static_cast<std::size_t>(tick / granularity % options_.wheelSize),
             .fullest = static_cast<std::size_t>(std::ceil(fullest)),
             .armed = {}});
        granularity *= options_.wheelSize;
    }
    for (Occupancy::Bucket const& bucket : snapshot.buckets) {
        picture.levels[bucket.level].armed.push_back({bucket.slot, bucket.timeouts});
        if (snapshot.start && picture.next.size() < 8)
            picture.next.push_back(
                {bucket.level, bucket.slot,
                 *snapshot.start + options_.tick * bucket.expiration.value() - time,
                 bucket.timeouts});
    }
}

void Watch::addRates(Picture& picture, TimerStatistics const& now, TimePoint time) {
    Reading const& first = readings_.front();
    TimerStatistics const& before = first.statistics;
    double const seconds = std::max(toSeconds(time - first.time), 1e-3);
    auto const perSecond = [seconds](std::uint64_t earlier, std::uint64_t later) {
        return static_cast<std::uint64_t>(
            std::llround(static_cast<double>(later - earlier) / seconds));
    };
    picture.rates = {{"scheduled/s", perSecond(before.scheduled, now.scheduled)},
                     {"cancelled/s", perSecond(before.cancelled, now.cancelled)},
                     {"pushed back/s", perSecond(before.rescheduled, now.rescheduled)},
                     {"cascades/s", perSecond(cascadesOf(before), cascadesOf(now))},
                     {"runs/s", perSecond(before.runs, now.runs)},
                     {"wake-ups/s", perSecond(before.wakeUps, now.wakeUps)}};
    LatenessHistogram const late = between(before.lateness, now.lateness);
    auto const within = [&](double fraction) {
        return readable(std::min(late.quantile(fraction), now.maxLateness));
    };
    picture.lateness = "p50 " + within(0.5) + "  p99 " + within(0.99) + "  worst " +
                       readable(now.maxLateness) + "   (p50, p99: last second)";
    readings_.push_back({time, now});
    while (readings_.size() > 1 && time - readings_[1].time >= 1s) readings_.pop_front();
}

void Watch::show(TimerStatistics const& now, bool isLast) {
    TimePoint const time = timingwheel::Clock::steady().now();
    Picture picture;
    picture.tick = options_.tick;
    picture.wheelSize = static_cast<std::size_t>(options_.wheelSize);
    picture.elapsed = time - begin_;
    picture.duration = options_.duration;
    picture.pending = now.pending;
    addLevels(picture, time);
    addRates(picture, now, time);

    Terminal::Size const size = terminal_.size();
    std::vector<std::string> const lines = draw(picture, size, terminal_.abilities());
    if (isLast) screen_.reset();
    if (screen_) {
        screen_->show(lines, size);
    } else if (isLast || (time >= nextPrint_ && !terminal_.canRedraw())) {
        for (std::string const& line : lines) terminal_.line(line);
        terminal_.line();
        nextPrint_ += 1s;
    }
}

}  // namespace demo
