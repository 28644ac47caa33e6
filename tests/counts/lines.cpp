#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

// Which cache lines each thread reads and writes in an operation: to be run under
// valgrind --tool=lackey --trace-mem=yes, whose trace has every address and no thread. So one
// thread does something at a time, between two stores to markers whose addresses are printed, and
// all others sleep. lines.py takes the lines of each operation out of the trace.
//
//     timingwheel-benchmark-lines <shards>

namespace timingwheel::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLine = 64;
constexpr std::size_t kTimes = 32;

/// A line of its own: what is stored does not matter.
struct alignas(kLine) Marker {
    std::uint64_t volatile stores = 0;
};

enum Operation : std::size_t { handlePair, hookPair, handlePushBack, hookPushBack, expiry };
constexpr std::array<char const*, 5> kNames{"handle-pair", "hook-pair", "handle-push-back",
                                            "hook-push-back", "expiry"};
constexpr std::size_t kThreads = 2;

std::array<std::array<Marker, kNames.size()>, kThreads> begins;
Marker end;

struct alignas(kLine) Hooked {
    std::function<void()> onDue;
    void run() { onDue(); }
    TimerHook<&Hooked::run> hook{*this};
};

/// What one thread schedules. All of it is its own, in memory that this thread allocated.
class User {
public:
    User(SystemTimer& timer, std::size_t number) : timer_{timer}, number_{number} {
        for (std::size_t i = 0; i < kTimes; ++i) {
            handles_.push_back(timer_.newTimeout([] {}, 1h));
            hooks_.push_back(std::make_unique<Hooked>());
            timer_.schedule(hooks_.back()->hook, 1h);
        }
    }

    /// The first time is for what is done once: levels are built, pages and places are found.
    void runAll() {
        std::this_thread::sleep_for(50ms);  // by then the others have stopped spinning
        for (bool const isTraced : {false, true}) {
            trace(isTraced, handlePair, [this](std::size_t i) {
                handles_[i].cancel();
                handles_[i] = timer_.newTimeout([] {}, 1h);
            });
            trace(isTraced, hookPair, [this](std::size_t i) {
                hooks_[i]->hook.cancel();
                timer_.schedule(hooks_[i]->hook, 1h);
            });
            trace(isTraced, handlePushBack,
                  [this](std::size_t i) { timer_.reschedule(handles_[i], 1h); });
            trace(isTraced, hookPushBack,
                  [this](std::size_t i) { hooks_[i]->hook.reschedule(1h); });
        }
    }

    /// Expires on the driver's thread; the first and the last task are the markers. Returns once
    /// the last has run.
    void expire() {
        for (auto& hook : hooks_) hook->hook.cancel();
        std::atomic<bool> isOver = false;
        hooks_.front()->onDue = [this] { begins[number_][expiry].stores = 1; };
        for (std::size_t i = 1; i + 1 < kTimes; ++i) hooks_[i]->onDue = [] {};
        hooks_.back()->onDue = [&isOver] {
            end.stores = 1;
            isOver = true;
            isOver.notify_one();
        };
        auto const first = std::chrono::steady_clock::now() + 1s;
        for (std::size_t i = 0; i < kTimes; ++i) timer_.schedule(hooks_[i]->hook, first + i * 1ms);
        isOver.wait(false);
    }

private:
    template <class Each>
    void trace(bool isTraced, Operation operation, Each const& each) {
        if (isTraced) begins[number_][operation].stores = 1;
        for (std::size_t i = 0; i < kTimes; ++i) each(i);
        if (isTraced) end.stores = 1;
    }

    SystemTimer& timer_;
    std::size_t number_;
    std::vector<Timeout> handles_;
    std::vector<std::unique_ptr<Hooked>> hooks_;
};

void run(std::size_t shards) {
    for (std::size_t thread = 0; thread < kThreads; ++thread)
        for (std::size_t i = 0; i < kNames.size(); ++i)
            std::printf("%p %s-%zu\n", static_cast<void*>(&begins[thread][i]), kNames[i], thread);
    std::printf("%p end\n", static_cast<void*>(&end));
    std::fflush(stdout);

    SystemTimer timer{{.shards = shards}};
    std::barrier<> turn{kThreads};
    auto const use = [&](std::size_t number) {
        User user{timer, number};
        for (std::size_t whose = 0; whose < kThreads; ++whose) {
            turn.arrive_and_wait();
            if (whose == number) user.runAll();
        }
        for (std::size_t whose = 0; whose < kThreads; ++whose) {
            turn.arrive_and_wait();
            if (whose == number) user.expire();
        }
        turn.arrive_and_wait();
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(use, i);
    for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace timingwheel::bench

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    timingwheel::bench::run(std::strtoul(argv[1], nullptr, 10));
    return 0;
}
