#include "apps/demo/Watch.h"

#include "apps/demo/Drawing.h"
#include "apps/demo/Format.h"

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
    return std::accumulate(statistics.cascaded.begin(), statistics.cascaded.end(),
                           std::uint64_t{0});
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
    if (terminal_.canRedraw()) screen_.emplace();
}

void Watch::addLevels(Picture& picture, Occupancy::Snapshot const& snapshot, TimePoint time) {
    constexpr double kSinks = 0.97;  // a picture
    for (double& fullest : fullest_) fullest *= kSinks;
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
        constexpr std::size_t kNext = 8;
        if (snapshot.start && picture.next.size() < kNext)
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
    picture.rates = {.scheduled = perSecond(before.scheduled, now.scheduled),
                     .cancelled = perSecond(before.cancelled, now.cancelled),
                     .pushedBack = perSecond(before.rescheduled, now.rescheduled),
                     .cascades = perSecond(cascadesOf(before), cascadesOf(now)),
                     .runs = perSecond(before.runs, now.runs),
                     .wakeUps = perSecond(before.wakeUps, now.wakeUps)};
    LatenessHistogram const late = between(before.lateness, now.lateness);
    picture.lateness = {.half = std::min(late.quantile(0.5), now.maxLateness),
                        .hundredth = std::min(late.quantile(0.99), now.maxLateness),
                        .worst = now.maxLateness};
    readings_.push_back({time, now});
    while (readings_.size() > 1 && time - readings_[1].time >= 1s) readings_.pop_front();
}

Picture Watch::look(TimerStatistics const& now, TimePoint time) {
    Picture picture;
    picture.tick = options_.tick;
    picture.wheelSize = static_cast<std::size_t>(options_.wheelSize);
    picture.elapsed = time - begin_;
    picture.duration = options_.duration;
    picture.pending = now.pending;
    addLevels(picture, occupancy_.snapshot(), time);
    addRates(picture, now, time);
    return picture;
}

void Watch::print(Picture const& picture) {
    for (std::string const& line : draw(picture, terminal_.size(), terminal_.abilities()))
        terminal_.line(line);
}

void Watch::show(TimerStatistics const& now) {
    TimePoint const time = timingwheel::Clock::steady().now();
    Picture const picture = look(now, time);
    if (screen_) {
        Terminal::Size const size = terminal_.size();
        screen_->show(draw(picture, size, terminal_.abilities()), size);
    } else if (time >= nextPrint_) {
        print(picture);
        terminal_.line();
        nextPrint_ += 1s;
    }
}

void Watch::finish(TimerStatistics const& now) {
    screen_.reset();
    print(look(now, timingwheel::Clock::steady().now()));
    terminal_.line();
}

}  // namespace demo
