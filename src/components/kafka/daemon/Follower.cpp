#include "components/kafka/daemon/Follower.h"

#include "components/kafka/daemon/Horizon.h"
#include "components/kafka/daemon/Placement.h"
#include "components/kafka/daemon/StateReader.h"
#include "components/kafka/daemon/TimeOfDay.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel::inline v1::kafka {

namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// Brokers that have nothing new let it wait for so long: that costs few requests.
constexpr milliseconds kLongPoll{200};
// How long it waits for a record before it looks after the rest.
constexpr milliseconds kRecordPatience{20};
constexpr milliseconds kCare{100};
// How often it asks where the log ends. StateCopy::kMaxAge is much longer.
constexpr std::chrono::minutes kQuestion{1};
constexpr milliseconds kFirstRetry{1'000};
constexpr milliseconds kLongestRetry{60'000};

}  // namespace

Follower::Follower(Shared& shared, std::int32_t number)
    : duty_{shared, number}, metrics_{shared.metrics, number} {
    thread_ = std::thread{[this] { run(); }};
}

Follower::~Follower() { handOver(); }

std::unique_ptr<StateCopy> Follower::handOver() {
    stop();
    if (thread_.joinable()) thread_.join();
    return std::move(copy_);
}

void Follower::run() {
    while (!duty_.isStopping) {
        try {
            follow();
            return;
        } catch (std::exception const& error) {
            // Once: it goes on trying.
            spdlog::log(failures_ == 0 ? spdlog::level::warn : spdlog::level::debug,
                        "partition {}: no standby for now: {}", duty_.number, error.what());
        }
        copy_.reset();
        metrics_.pending = 0;
        metrics_.lag = Metrics::OfStandby::kUnknown;
        isReady_ = true;
        duty_.pause(std::min(kFirstRetry * (1 << std::min(failures_++, 6)), kLongestRetry));
    }
}

void Follower::follow() {
    Shared& shared = duty_.shared;
    Placement const placement{duty_};
    copy_ = std::make_unique<StateCopy>(shared, duty_.number);
    StateCopy& copy = *copy_;
    Horizon horizon{duty_, copy.timers};
    StateReader reader{shared.options, duty_.number, kLongPoll};
    reader.goTo(copy.next());
    auto asked = Steady::now() - kQuestion;
    auto glanced = Steady::now();
    while (!duty_.isStopping) {
        placement.requireUnchanged();
        Message const message = reader.next(kRecordPatience);
        if (message) copy.take(*message, placement, horizon);
        auto const now = Steady::now();
        if (message && now - glanced < kCare) continue;
        glanced = now;
        if (copy.isSettled() && now - asked >= kQuestion) {
            asked = now;
            auto const when = copy.now();
            if (auto const end = reader.askForEnd()) copy.settle(*end, when);
        }
        copy.account();
        metrics_.pending = copy.timers.size();
        if (auto const end = reader.lastEnd())
            metrics_.lag = *end - std::clamp<std::int64_t>(copy.next(), 0, *end);
        if (shared.isTight())
            throw std::runtime_error{"three quarters of --memory-mb " +
                                     std::to_string(shared.options.memory) + " are in use"};
        if (copy.wasAtTheEnd()) {
            isReady_ = true;
            failures_ = 0;
            copy.timers.advance(nowInMilliseconds());
            horizon.bringNear(nowInMilliseconds());
        }
    }
}

}  // namespace timingwheel::inline v1::kafka
