#pragma once

#include <support/GoldenTrace.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/RejectedExecution.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::test {

/// Replays a trace recorded from Netty's `HashedWheelTimer` on a clock set by hand, as GoldenTrace
/// does one of Kafka's: takes from each line what was done, does it to the timer here, and writes
/// down what that did. Times are in nanoseconds.
///
///     config tick=.. ticksPerWheel=.. start=.. maxPending=.. hooks=0|1
///     start                             the worker, which the first timeout would start otherwise
///     new ID DELAY PLAN ok|rejected pending=N     or `stopped`
///     cancel ID 0|1 expired=0|1 cancelled=0|1 pending=N
///     advance NOW                       the clock goes from tick to tick up to NOW, or
///     jump NOW                          is there at once; what runs follows, closed by end
///     run ID NOW expired=0|1 cancel=0|1 pending=N           asked from inside the task
///     cancelled ID                      the task was told so; only where hooks=1
///     end pending=N
///     stop ID...                        what it returned
///     done runs=N
///
/// PLAN is what the task does when it runs: `-` nothing, `throw`, `cancel:ID`, or `then:ID:DELAY`,
/// a new timeout. That comes out as a line of its own, after the task's.
class NettyTrace {
public:
    std::optional<Difference> take(std::string const& line) {
        ++lines_;
        std::string const actual = follow(line);
        if (actual != line) return Difference{lines_, line, actual};
        return std::nullopt;
    }

    /// After the last line.
    std::optional<Difference> end() const {
        if (!done_) return Difference{lines_ + 1, "(the end)", "no line says done"};
        return std::nullopt;
    }

private:
    class Task final : public TimerTask {
    public:
        Task(NettyTrace& trace, std::int64_t id, std::string plan)
            : trace_{trace}, id_{id}, plan_{std::move(plan)} {}
        void run(Timeout const& timeout) override { trace_.run(id_, plan_, timeout); }
        void cancelled(Timeout const&) override { trace_.tell("cancelled " + std::to_string(id_)); }

    private:
        NettyTrace& trace_;
        std::int64_t id_;
        std::string plan_;
    };

    static std::int64_t number(std::istream& in) {
        std::int64_t value = 0;
        if (!(in >> value)) throw std::runtime_error{"a number is missing in the trace"};
        return value;
    }
    static std::int64_t setting(std::istream& in) {
        in.ignore(32, '=');
        return number(in);
    }
    static Clock::TimePoint timeOf(std::int64_t now) {
        return Clock::TimePoint{std::chrono::nanoseconds{now}};
    }

    std::string follow(std::string const& line) {
        std::istringstream in{line};
        std::string event;
        in >> event;
        // What the timer did already comes first: whatever the trace says instead is a difference.
        if (!did_.empty()) return takeFirstDone();
        if (event == "config") return config(line, in);
        if (event == "start") return start();
        if (event == "new") return addNext(in);
        if (event == "cancel") return cancel(number(in));
        if (event == "advance" || event == "jump") return move(event, in);
        if (event == "end") return "end" + pending();
        if (event == "stop") return stop();
        if (event == "done") return done();
        return "nothing";
    }

    std::string takeFirstDone() {
        std::string first = did_.front();
        did_.pop_front();
        return first;
    }

    std::string config(std::string const& line, std::istream& in) {
        HashedWheelTimerOptions options;
        options.tick = std::chrono::nanoseconds{setting(in)};
        options.ticksPerWheel = setting(in);
        clock_.emplace(timeOf(setting(in)));
        options.maxPendingTimeouts = static_cast<std::size_t>(setting(in));
        hasHooks_ = setting(in) != 0;
        options.clock = *clock_;
        options.errorHandler = [](TaskFailure const&) {};  // tasks throw by intention
        options.logger = [](TimerLog const&) {};           // and a tick may be too short
        timer_.emplace(std::move(options));
        return line;
    }

    std::string start() {
        timer_->start();
        return "start";
    }

    std::string addNext(std::istream& in) {
        std::int64_t const id = number(in);
        std::int64_t const delay = number(in);
        std::string plan;
        in >> plan;
        return add(id, delay, plan);
    }

    std::string add(std::int64_t id, std::int64_t delay, std::string const& plan) {
        std::ostringstream out;
        out << "new " << id << ' ' << delay << ' ' << plan;
        try {
            timeouts_[id] = timer_->newTimeout(std::make_shared<Task>(*this, id, plan),
                                               std::chrono::nanoseconds{delay});
            out << " ok";
        } catch (RejectedExecution const&) {
            out << " rejected";
        } catch (std::logic_error const&) {
            out << " stopped";
            return out.str();
        }
        out << pending();
        return out.str();
    }

    std::string cancel(std::int64_t id) {
        Timeout const& timeout = timeouts_.at(id);
        std::ostringstream out;
        out << "cancel " << id << ' ' << timeout.cancel() << " expired=" << timeout.isExpired()
            << " cancelled=" << timeout.isCancelled() << pending();
        return out.str();
    }

    std::string move(std::string const& how, std::istream& in) {
        std::int64_t const now = number(in);
        if (how == "jump")
            clock_->jumpTo(timeOf(now));
        else
            clock_->advanceTo(timeOf(now));
        return how + ' ' + std::to_string(now);
    }

    // On the worker's thread, while the clock waits for it.
    void run(std::int64_t id, std::string const& plan, Timeout const& timeout) {
        ++runs_;
        std::ostringstream out;
        out << "run " << id << ' ' << clock_->now().time_since_epoch().count()
            << " expired=" << timeout.isExpired() << " cancel=" << timeout.cancel() << pending();
        tell(out.str());

        std::istringstream in{plan};
        std::string what;
        std::getline(in, what, ':');
        if (what == "throw") throw std::runtime_error{"as planned"};
        if (what == "cancel") tell(cancel(number(in)));
        if (what == "then") {
            std::int64_t const next = number(in);
            in.ignore();
            tell(add(next, number(in), "-"));
        }
    }

    void tell(std::string what) {
        if (hasStopped_ || (!hasHooks_ && what.starts_with("cancelled"))) return;
        did_.push_back(std::move(what));
    }

    std::string stop() {
        hasStopped_ = true;  // what is told of cancelled ones from now on is not compared
        StoppedTimeouts const stopped = timer_->stop();
        std::vector<Timeout> returned;
        for (StoppedTimeout const& each : stopped) returned.push_back(each.timeout());
        std::sort(returned.begin(), returned.end());
        std::string out = "stop";
        for (auto const& [id, timeout] : timeouts_)
            if (std::binary_search(returned.begin(), returned.end(), timeout))
                out += ' ' + std::to_string(id);
        return out;
    }

    std::string done() {
        done_ = true;
        return "done runs=" + std::to_string(runs_);
    }

    std::string pending() const { return " pending=" + std::to_string(timer_->pendingTimeouts()); }

    std::size_t lines_ = 0;
    std::map<std::int64_t, Timeout> timeouts_;
    std::deque<std::string> did_;
    std::size_t runs_ = 0;
    bool hasHooks_ = false;
    bool hasStopped_ = false;
    bool done_ = false;
    std::optional<ManualClock> clock_;
    std::optional<HashedWheelTimer> timer_;  // dies before what its tasks and its worker use
};

}  // namespace timingwheel::test
