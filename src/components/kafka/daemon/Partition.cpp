#include "components/kafka/daemon/Partition.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/CommandReader.h"
#include "components/kafka/daemon/Committer.h"
#include "components/kafka/daemon/Delivery.h"
#include "components/kafka/daemon/Horizon.h"
#include "components/kafka/daemon/Intake.h"
#include "components/kafka/daemon/Outputs.h"
#include "components/kafka/daemon/PendingGauges.h"
#include "components/kafka/daemon/PendingTimers.h"
#include "components/kafka/daemon/Placement.h"
#include "components/kafka/daemon/Producer.h"
#include "components/kafka/daemon/TakeOver.h"
#include "components/kafka/daemon/TimeOfDay.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace timingwheel::inline v1::kafka {

namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// How often the thread looks at the clock, which somebody may set.
constexpr milliseconds kGlance{1'000};
// How long it waits for commands while it reads what comes near.
constexpr milliseconds kShortly{1};
constexpr milliseconds kPauseAfterFailure{1'000};
constexpr milliseconds kLongestPause{60'000};
// The most bytes that one transaction delivers. A larger timer comes alone.
constexpr std::size_t kMaxBytesDue = 8'000'000;

milliseconds untilNextOf(PendingTimers const& timers) {
    auto const next = timers.nextExpiration();
    if (!next) return kGlance;
    return std::clamp(milliseconds{*next - nowInMilliseconds()}, milliseconds{0}, kGlance);
}

}  // namespace

Partition::Partition(Shared& shared, std::int32_t number, std::unique_ptr<Follower> follower)
    : assignment_{shared, number},
      inbox_{2 * shared.options.batch},
      refusals_{assignment_},
      follower_{std::move(follower)},
      waitForMemory_{kPauseAfterFailure} {
    thread_ = std::thread{[this] { run(); }};
}

Partition::~Partition() {
    stop();
    thread_.join();
}

void Partition::stop() noexcept {
    assignment_.isStopping = true;
    inbox_.wake();
}

void Partition::run() {
    std::minstd_rand random{static_cast<unsigned>(assignment_.number) + 1};
    if (follower_) copy_ = follower_->handOver();
    follower_.reset();
    while (!assignment_.isStopping) {
        milliseconds length = kPauseAfterFailure;
        try {
            own();
            break;
        } catch (TakenAway const& error) {
            report(spdlog::level::info, error);
        } catch (ClientError const& error) {
            report(isFenced(error.code()) ? spdlog::level::info : spdlog::level::err, error);
        } catch (DoesNotFit const& error) {
            report(spdlog::level::err, error);
            copy_.reset();
            // Two that do not fit together must not keep each other out: one waits for longer.
            waitForMemory_ = std::min(2 * waitForMemory_, kLongestPause);
            length = milliseconds{std::uniform_int_distribution{waitForMemory_.count() / 2,
                                                                waitForMemory_.count()}(random)};
        } catch (std::exception const& error) {
            report(spdlog::level::err, error);
            copy_.reset();  // no broker is at fault: it may be
        }
        assignment_.pause(length);
    }
    end();
}

void Partition::end() noexcept {
    hasEnded_ = true;
    hasEnded_.notify_all();
}

/// Takes the partition over, and works until it is stopped. What memory holds goes with the end: it
/// is in the log, and others may need the room.
void Partition::own() {
    auto const began = Steady::now();
    Shared& shared = assignment_.shared;
    if (!copy_ || copy_->isTooOld())
        copy_ = std::make_unique<StateCopy>(shared, assignment_.number);
    std::unique_ptr<StateCopy> owned;  // what it does to the timers, no copy may have
    PendingTimers& timers = copy_->timers;
    Outputs outputs;
    PendingGauges gauges{assignment_, *copy_, outputs};
    Placement const placement{assignment_};
    Horizon horizon{assignment_, timers};
    TakenOver taken = takeOver(assignment_, placement, *copy_, horizon, gauges);
    if (assignment_.isStopping) return;
    owned = std::move(copy_);
    CommandReader commands{assignment_, inbox_, taken.next, taken.commands};
    Committer committer(assignment_, timers, outputs, refusals_, std::move(taken.producer),
                        placement.partitions(), commands.next());
    Intake intake{timers,
                  {.source = shared.options.commands + "/" + std::to_string(assignment_.number),
                   .targets = shared.options.targets,
                   .maxPast = shared.options.maxPastDays * kDay,
                   .maxDelay = shared.options.maxDelayDays * kDay,
                   .hasReplies = !shared.options.replies.empty(),
                   .isOurs =
                       [&](std::string_view id) {
                           bool const isOurs = placement.isOurs(id);
                           if (!isOurs) placement.requireUnchangedSince(commands.readAt());
                           return isOurs;
                       },
                   .refusalOf = [&](std::int64_t offset) { return refusals_.reasonOf(offset); },
                   .refusalOfTopic =
                       [&](std::string_view topic) {
                           return shared.topics.refusalOfTopic(topic, commands.readAt());
                       }}};
    gauges.allIsKnown();
    waitForMemory_ = kPauseAfterFailure;
    auto const took = Steady::now() - began;
    shared.metrics.tookOver(took);
    spdlog::info(
        "partition {}: taken over in {:.3f} s, {} timers pending, {} records read, commands from "
        "{}",
        assignment_.number, std::chrono::duration<double>(took).count(), timers.size(), taken.read,
        commands.next());

    while (!assignment_.isStopping) {
        placement.requireUnchanged();
        bool const isReading = horizon.bringNear(nowInMilliseconds());
        auto const batch = commands.read(isReading ? kShortly : untilNextOf(timers));
        if (batch.lost > 0) outputs.lost(batch.lost, batch.begin);
        horizon.bringNear(batch.commands);
        for (Record const& command : batch.commands)
            intake.take(command, nowInMilliseconds(), outputs);
        deliverDue(timers, {assignment_.sourceOfLetters(), shared.options.batch, kMaxBytesDue},
                   nowInMilliseconds(), commands.next(), outputs);
        gauges.updateEarliest();
        if (!batch.commands.empty() || !outputs.empty() || committer.isDue(commands.next())) {
            committer.commit(commands.next());
            horizon.putAway(outputs, nowInMilliseconds());
            outputs.clear();
        }
        gauges.update();
        commands.showLag();
        auto& worked = assignment_.metrics->worked;
        worked = std::max(worked.load(), shared.topics.answered());
    }
    if (committer.isBehind(commands.next())) committer.commit(commands.next());
    end();
}

void Partition::report(int level, std::exception const& error) const {
    // A worker that stops waits for no broker that is away. What is not committed begins anew
    // elsewhere.
    if (assignment_.isStopping) level = spdlog::level::debug;
    spdlog::log(static_cast<spdlog::level::level_enum>(level), "partition {}: begins anew: {}",
                assignment_.number, error.what());
}

}  // namespace timingwheel::inline v1::kafka
