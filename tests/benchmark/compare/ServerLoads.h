#pragma once

#include "Filled.h"
#include "Latencies.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

/// What a server does to a timer with many threads around it: `heartbeat`, `answers`, `mixed`,
/// `bulk` and `storm`.
namespace timingwheel::bench::loads {

inline constexpr auto kIdleTimeout = 30s;
inline constexpr std::size_t kBatch = 1'024;

inline constexpr std::size_t kAtHand = 64;  ///< packets that a loop handles for one wake-up

/// n timeouts of which random ones are touched, kBatch at a time. A timeout belongs to one thread.
/// `touch(filled, tokens, share, random)` does one batch.
template <TimerAdapter Timer, class Touch>
Result atRandom(Request const& request, Touch const& touch) {
    auto const producers = static_cast<std::size_t>(request.threads);
    std::size_t const share = request.count / producers;
    if (share < kAtHand) throw std::invalid_argument{"too few timeouts for each thread"};
    Filled<Timer> filled{request};
    filled.reserve(request.count);

    std::vector<Random> states;
    for (std::size_t i = 0; i < producers; ++i) states.emplace_back(request.seed + i);
    auto const prepare = [&](std::size_t producer) {
        auto* const tokens = filled.tokens.data() + producer * share;
        for (std::size_t i = 0; i < share; ++i)
            filled.timer.schedule(tokens[i], kIdleTimeout, {&filled.sink, 0});
    };
    auto const result = runProducers(filled, request, prepare, [&](std::size_t producer) {
        auto* const tokens = filled.tokens.data() + producer * share;
        Random random = states[producer];
        // A clock that stands still would leave every deadline where it is.
        if constexpr (Driven<Timer>) filled.timer.advance(1ms);
        touch(filled, tokens, share, random);
        states[producer] = random;
        return kBatch;
    });
    filled.expectPending(producers * share);
    return result;
}

/// n connections with an idle timeout; each packet pushes that of a random one back.
template <TimerAdapter Timer>
Result heartbeat(Request const& request) {
    return atRandom<Timer>(
        request, [](Filled<Timer>& filled, auto* tokens, std::size_t share, Random& random) {
            for (std::size_t i = 0; i < kBatch; ++i)
                pushBack(filled, tokens[random.below(share)], kIdleTimeout);
        });
}

/// n requests, each with a timeout; the answer to a random one comes, and the next begins.
template <TimerAdapter Timer>
Result answers(Request const& request) {
    return atRandom<Timer>(
        request, [](Filled<Timer>& filled, auto* tokens, std::size_t share, Random& random) {
            for (std::size_t i = 0; i < kBatch; ++i) {
                auto& token = tokens[random.below(share)];
                filled.timer.cancel(token);
                filled.timer.schedule(token, kIdleTimeout, {&filled.sink, 0});
            }
        });
}

/// The same as above with kAtHand at a time, none twice: `call(filled, batch)`.
template <ReschedulesBatches Timer, class Call>
Result inBatches(Request const& request, Call const& call) {
    static_assert(kBatch % kAtHand == 0);
    return atRandom<Timer>(
        request, [&](Filled<Timer>& filled, auto* tokens, std::size_t share, Random& random) {
            std::array<typename Timer::Batched, kAtHand> batch;
            std::size_t const part = share / kAtHand;
            for (std::size_t done = 0; done < kBatch; done += kAtHand) {
                for (std::size_t i = 0; i < kAtHand; ++i)
                    batch[i] = Timer::batched(tokens[i * part + random.below(part)]);
                call(filled, std::span<typename Timer::Batched const>{batch});
            }
        });
}

template <ReschedulesBatches Timer>
Result heartbeatInBatches(Request const& request) {
    return inBatches<Timer>(request, [](Filled<Timer>& filled, auto batch) {
        filled.timer.rescheduleAll(batch, kIdleTimeout);
    });
}

template <ReplacesBatches Timer>
Result answersInBatches(Request const& request) {
    return inBatches<Timer>(request, [](Filled<Timer>& filled, auto batch) {
        filled.timer.replaceAll(batch, kIdleTimeout);
    });
}

/// Requests of which some time out: each thread cancels and schedules long timeouts, pushes others
/// back, and schedules short ones that expire meanwhile. A short one is scheduled again when it has
/// run, so that a slow timer is not asked for more than it can do.
template <TimerAdapter Timer>
class Mixed {
public:
    explicit Mixed(Request const& request) : request_{request}, filled_{request} {
        filled_.reserve(producers_ * kTokens);
        auto const delays = randomDelays(delays_.size(), 1ms, 20ms, request.seed);
        std::copy(delays.begin(), delays.end(), delays_.begin());
    }

    Result run() {
        Result result = runProducers(
            filled_, request_, [this](std::size_t p) { prepare(p); },
            [this](std::size_t p) { return share(p); });
        std::size_t scheduled = 0;
        for (Producer const& producer : states_) scheduled += producer.scheduled;
        sink_.waitFor(scheduled, 1min);
        if (sink_.count() != scheduled) throw std::runtime_error{"more ran than were scheduled"};
        filled_.timer.settle();
        filled_.expectPending(producers_ * 2 * kLong);
        auto const part = static_cast<double>(scheduled);
        result["expiredMillionPerSecond"] = part * result["millionPerSecond"] / operations();
        return result;
    }

private:
    static constexpr std::size_t kLong = 1'000;   ///< that come and go; as many are pushed back
    static constexpr std::size_t kShort = 4'096;  ///< that expire
    static constexpr std::size_t kTokens = 2 * kLong + kShort;

    struct alignas(64) Producer {
        std::size_t next = 0;
        std::size_t scheduled = 0;
        std::size_t operations = 0;
    };

    auto* longOnes(std::size_t producer) { return filled_.tokens.data() + producer * kTokens; }
    auto* shortOnes(std::size_t producer) { return longOnes(producer) + 2 * kLong; }

    void prepare(std::size_t producer) {
        for (std::size_t i = 0; i < 2 * kLong; ++i)
            filled_.timer.schedule(longOnes(producer)[i], 30s, {&filled_.sink, 0});
    }

    std::size_t share(std::size_t producer) {
        Producer& state = states_[producer];
        auto* const comingAndGoing = longOnes(producer);
        auto* const pushedBack = comingAndGoing + kLong;
        std::size_t const scheduledBefore = state.scheduled;
        for (std::size_t i = 0; i < kLong; ++i) {
            filled_.timer.cancel(comingAndGoing[i]);
            filled_.timer.schedule(comingAndGoing[i], 30s, {&filled_.sink, 0});
            pushBack(filled_, pushedBack[i], 30s);
            scheduleShort(producer, state);
        }
        std::size_t const operations = 3 * kLong + state.scheduled - scheduledBefore;
        state.operations += operations;
        return operations;
    }

    void scheduleShort(std::size_t producer, Producer& state) {
        std::size_t const i = state.next % kShort;
        std::size_t const id = producer * kShort + i;
        if (!sink_.takeHasRun(id)) return;
        filled_.timer.schedule(shortOnes(producer)[i], delays_[state.next % delays_.size()],
                               {&sink_, static_cast<std::uint32_t>(id)});
        ++state.next;
        ++state.scheduled;
    }

    double operations() const {
        double sum = 0;
        for (Producer const& producer : states_) sum += static_cast<double>(producer.operations);
        return sum;
    }

    Request const& request_;
    std::size_t const producers_ = static_cast<std::size_t>(request_.threads);
    Sink sink_{producers_ * kShort, Sink::Record::hasRun};
    std::vector<Producer> states_{producers_};
    std::array<nanoseconds, 1'021> delays_{};  // a prime, so that tokens and delays drift apart
    Filled<Timer> filled_;
};

template <TimerAdapter Timer>
Result mixed(Request const& request) {
    return Mixed<Timer>{request}.run();
}

/// For each of n tasks with one deadline. Some timers take all that is due out of their queue
/// before they run the first task: so there is the time from the first task on, and all of it.
inline Result perTask(Sink const& sink, std::size_t tasks, Steady::time_point due,
                      std::int64_t allCpuNanoseconds) {
    auto const n = static_cast<double>(tasks);
    auto const running = sink.last().cpuNanoseconds - sink.first().cpuNanoseconds;
    return {{"ns", count(sink.last().time - due) / n},
            {"cpuNs", static_cast<double>(running) / n},
            {"allCpuNs", static_cast<double>(allCpuNanoseconds) / n}};
}

/// n tasks with one deadline: from that on until the last has run, for each; and what the timer's
/// threads use, from the first task on, and from the last schedule on, cascades included.
template <TimerAdapter Timer>
Result bulk(Request const& request) {
    auto const measure = [&](Filled<Timer>& filled, Sink& sink, ThreadWatch const& watch,
                             Steady::time_point due, auto const& inTime) -> std::optional<Result> {
        filled.timer.settle();
        auto const before = watch.usage();
        if (!inTime()) return {};
        sink.waitForAll(1min);
        auto const used = watch.usage() - before;
        filled.expectPending(0);
        return perTask(sink, request.count, due, used.cpuNanoseconds);
    };
    return onceScheduled<Timer>(request, std::vector<nanoseconds>(request.count), measure);
}

/// The same where the load moves the time.
template <Driven Timer>
Result drivenBulk(Request const& request) {
    Sink sink{request.count};
    Filled<Timer> filled{request};
    filled.reserve(request.count);
    for (std::size_t i = 0; i < request.count; ++i) {
        filled.timer.schedule(filled.tokens[i], 1s, {&sink, static_cast<std::uint32_t>(i)});
    }
    auto const start = Sink::Moment::now();
    filled.timer.advance(1s + request.tick);
    auto const used = Sink::Moment::now().cpuNanoseconds - start.cpuNanoseconds;
    sink.waitForAll(0s);
    filled.expectPending(0);
    return perTask(sink, request.count, start.time, used);
}

/// The same n tasks, while another thread schedules and cancels all the time: how long each of its
/// calls of schedule takes, the reading of the clock around it included.
template <TimerAdapter Timer>
Result storm(Request const& request) {
    auto const measure = [&](Filled<Timer>& filled, Sink& sink, ThreadWatch const& watch,
                             Steady::time_point due, auto const& inTime) -> std::optional<Result> {
        filled.timer.settle();
        auto const usedBefore = watch.usage();
        if (!inTime()) return {};
        typename Timer::Token token{};
        Latencies before;  // while they move down a level, if there are any
        Latencies during;
        // The counter is in the other thread's cache: not asked for each time.
        while (sink.count() < request.count) {
            for (int i = 0; i < 16; ++i) {
                auto const start = Steady::now();
                filled.timer.schedule(token, 30s, {&filled.sink, 0});
                auto const end = Steady::now();
                (end < due ? before : during).add(end - start);
                filled.timer.cancel(token);
            }
            if (Steady::now() > due + 1min) throw std::runtime_error{"not all fired in time"};
        }
        auto const used = watch.usage() - usedBefore;
        filled.timer.settle();
        filled.expectPending(0);
        Result result = perTask(sink, request.count, due, used.cpuNanoseconds);
        result["medianUs"] = during.percentileUs(0.5);
        result["p99Us"] = during.percentileUs(0.99);
        result["p999Us"] = during.percentileUs(0.999);
        result["maxUs"] = during.maxUs();
        result["maxBeforeUs"] = before.maxUs();
        result["calls"] = static_cast<double>(during.total());
        return result;
    };
    return onceScheduled<Timer>(request, std::vector<nanoseconds>(request.count), measure);
}

}  // namespace timingwheel::bench::loads
