#include "apps/demo/Producer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>
#include <utility>

namespace demo {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

nanoseconds times(nanoseconds time, double factor) {
    return nanoseconds{std::llround(static_cast<double>(time.count()) * factor)};
}

}  // namespace

Producer::Producer(Server& server, double share, std::uint64_t seed)
    : server_{server},
      requests_{40'000 * share},
      packets_{100'000 * share},
      orders_{3'000 * share},
      random_{seed},
      silent_(static_cast<std::size_t>(std::max(1.0, 10'000 * share))) {
    for (std::size_t i = 0; i < silent_.size(); ++i) connections_.emplace_back(server);
}

std::size_t Producer::Pace::in(nanoseconds step) noexcept {
    credit += rate * std::chrono::duration<double>{step}.count();
    double const whole = std::floor(credit);
    credit -= whole;
    return static_cast<std::size_t>(whole);
}

void Producer::run(std::atomic<bool> const& finish) {
    timingwheel::Clock const& clock = timingwheel::Clock::steady();
    TimePoint last = clock.now();
    TimePoint next = last + 1ms;
    while (!finish.load(std::memory_order_relaxed)) {
        std::this_thread::sleep_until(next);
        TimePoint const now = clock.now();
        // Catches up on what a busy machine has missed, but not in one burst.
        step(now, std::min<nanoseconds>(now - last, 20ms));
        last = now;
        next = std::max(next + 1ms, now);
    }
}

void Producer::step(TimePoint now, nanoseconds length) {
    for (std::size_t n = requests_.in(length); n > 0; --n) request(now);
    for (std::size_t n = orders_.in(length); n > 0; --n) order(now);
    for (std::size_t n = packets_.in(length); n > 0; --n) {
        hearFrom(next_, now);
        next_ = (next_ + 1) % connections_.size();
    }
    cancelWhatIsDue(timingwheel::Clock::steady().now());
}

/// Most responses come within milliseconds, some about when the request times out, some never.
void Producer::request(TimePoint now) {
    constexpr std::array<nanoseconds, 3> kPatience{250ms, 500ms, 1s};
    constexpr double kLost = 0.03;
    constexpr double kSlow = 0.01;
    nanoseconds const patience = kPatience[random_() % kPatience.size()];
    timingwheel::Timeout timeout =
        server_.timer.newTimeout(RequestTimeout{&server_, now + patience}, patience);
    server_.ledger.accepted(Kind::request);

    double const luck = random();
    if (luck < kLost) return;
    nanoseconds const response = luck < kLost + kSlow
                                     ? times(patience, 0.5 + random())
                                     : times(4ms, std::lognormal_distribution{0.0, 0.8}(random_));
    cancellations_.push({now + response, std::move(timeout), Kind::request});
}

/// Orders wait from 50 ms to a minute, short ones more often; a quarter is called off.
void Producer::order(TimePoint now) {
    nanoseconds const delay = times(50ms, std::pow(1200.0, random()));
    timingwheel::Timeout timeout =
        server_.timer.newTimeout(DelayedOrder{&server_, now + delay}, delay);
    server_.ledger.accepted(Kind::order);
    if (random() < 0.25)
        cancellations_.push({now + times(delay, random()), std::move(timeout), Kind::order});
}

/// Every now and then a connection falls silent, or is closed; later it is opened again.
void Producer::hearFrom(std::size_t which, TimePoint now) {
    constexpr double kIsClosed = 0.001;
    constexpr double kFallsSilent = 0.0025;
    constexpr double kComesBack = 0.1;
    Connection& connection = connections_[which];
    double const luck = random();
    if (!connection.isOpen()) {
        if (silent_[which] && luck >= kComesBack) return;
        silent_[which] = false;
        connection.open(now);
    } else if (!silent_[which]) {
        silent_[which] = luck < kIsClosed + kFallsSilent;
        if (luck < kIsClosed)
            connection.close();
        else if (!silent_[which])
            connection.packet(now);
    }
}

void Producer::cancelWhatIsDue(TimePoint now) {
    for (; !cancellations_.empty() && cancellations_.top().at <= now; cancellations_.pop()) {
        Cancellation const& first = cancellations_.top();
        // False if it has timed out: then the response comes too late.
        if (first.timeout.cancel()) server_.ledger.cancelled(first.kind);
    }
}

}  // namespace demo
