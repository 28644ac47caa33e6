#include "apps/demo/Producer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <thread>

namespace demo {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

nanoseconds times(nanoseconds time, double factor) {
    return nanoseconds{std::llround(static_cast<double>(time.count()) * factor)};
}

}  // namespace

Producer::Producer(Server& server, Rates const& rates, std::uint64_t seed)
    : server_{server},
      requests_{rates.requests},
      packets_{rates.packets},
      orders_{rates.orders},
      random_{seed} {
    auto const connections = std::max<long>(1, std::lround(rates.connections));
    for (long i = 0; i < connections; ++i) connections_.emplace_back(server);
    silent_.resize(connections_.size());
}

std::size_t Producer::Pace::in(nanoseconds step) noexcept {
    credit_ += rate_ * std::chrono::duration<double>{step}.count();
    double const whole = std::floor(credit_);
    credit_ -= whole;
    return static_cast<std::size_t>(whole);
}

void Producer::run(std::atomic<bool> const& finish) {
    constexpr nanoseconds kStep = 1ms;
    // Catches up on what a busy machine has missed, but not in one burst.
    constexpr nanoseconds kMost = 20ms;
    timingwheel::Clock const& clock = timingwheel::Clock::steady();
    TimePoint last = clock.now();
    TimePoint next = last + kStep;
    while (!finish.load(std::memory_order_relaxed)) {
        std::this_thread::sleep_until(next);
        TimePoint const now = clock.now();
        step(now, std::min<nanoseconds>(now - last, kMost));
        last = now;
        next = std::max(next + kStep, now);
    }
}

void Producer::step(TimePoint now, nanoseconds length) {
    for (std::size_t n = requests_.in(length); n > 0; --n) request(now, 1);
    for (std::uint32_t const attempt : outbox_.take()) request(now, attempt);
    for (std::size_t n = orders_.in(length); n > 0; --n) order(now);
    for (std::size_t n = packets_.in(length); n > 0; --n) {
        hearFrom(next_, now);
        next_ = (next_ + 1) % connections_.size();
    }
    cancelWhatIsDue(timingwheel::Clock::steady().now());
}

/// Most responses come within milliseconds, some about when the request times out, some never.
void Producer::request(TimePoint now, std::uint32_t attempt) {
    constexpr std::array<nanoseconds, 3> kPatience{250ms, 500ms, 1s};
    constexpr double kLost = 0.03;
    constexpr double kSlow = 0.01;
    nanoseconds const patience = kPatience[random_() % kPatience.size()];
    timingwheel::Timeout timeout = server_.timer.newTimeout(
        RequestTimeout{&server_, &outbox_, now + patience, attempt}, patience);
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
    if (happens(0.25))
        cancellations_.push({now + times(delay, random()), std::move(timeout), Kind::order});
}

/// Every now and then a connection falls silent, or is closed; later it is opened again.
void Producer::hearFrom(std::size_t which, TimePoint now) {
    constexpr double kFallsSilent = 0.0025;
    constexpr double kIsClosed = 0.001;
    constexpr double kComesBack = 0.1;
    Connection& connection = connections_[which];
    if (!connection.isOpen()) {
        if (silent_[which] && !happens(kComesBack)) return;
        silent_[which] = false;
        connection.open(now);
    } else if (!silent_[which]) {
        if (happens(kIsClosed)) {
            connection.close();
            silent_[which] = true;
        } else if (happens(kFallsSilent)) {
            silent_[which] = true;
        } else {
            connection.packet(now);
        }
    }
}

void Producer::cancelWhatIsDue(TimePoint now) {
    while (!cancellations_.empty() && cancellations_.top().at <= now) {
        Cancellation const& first = cancellations_.top();
        // False if it has timed out: then the response comes too late.
        if (first.timeout.cancel()) server_.ledger.cancelled(first.kind);
        cancellations_.pop();
    }
}

}  // namespace demo
