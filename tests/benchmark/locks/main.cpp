// What a cheaper lock would bring for a thread that uses its own shard: the experiment of
// docs/decisions/0009, run by ./dev bench locks.
//
// A "pair" is two critical sections, as schedule and cancel are, each of which writes four words.
// Of each kind of lock: a pair of the thread whose lock it is, alone, and while another thread
// takes the lock once a millisecond, as a driver does; and what that one pays each time.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#if defined(__linux__)
#    include <linux/membarrier.h>
#    include <sys/syscall.h>
#    include <unistd.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kRounds = 9;
constexpr int kPairs = 100'000;
constexpr int kVisits = 20;

/// What the library has.
struct Mutex {
    static constexpr std::string_view kName = "std::mutex";
    void lockAsOwner() { mutex.lock(); }
    void unlockAsOwner() { mutex.unlock(); }
    void lock() { mutex.lock(); }
    void unlock() { mutex.unlock(); }
    std::mutex mutex;
};

/// One exchange and one store; who waits spins.
struct Spin {
    static constexpr std::string_view kName = "exchange and store";
    void lockAsOwner() { lock(); }
    void unlockAsOwner() { unlock(); }
    void lock() {
        while (isHeld.exchange(true, std::memory_order_acquire))
            while (isHeld.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
    void unlock() { isHeld.store(false, std::memory_order_release); }
    std::atomic<bool> isHeld{false};
};

#if defined(__NR_membarrier)
void barrierOfAllThreads() { syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); }

/// Dekker's algorithm, one side of which has no fence: its owner writes and reads, and who else
/// wants the lock has the kernel run a barrier on all processors.
struct Owned {
    static constexpr std::string_view kName = "owner's fast path";
    void lockAsOwner() {
        for (;;) {
            isOwnerIn.store(true, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);
            if (!isWanted.load(std::memory_order_acquire)) return;
            isOwnerIn.store(false, std::memory_order_release);
            others.lock();  // until whoever wants it has had it
            others.unlock();
        }
    }
    void unlockAsOwner() { isOwnerIn.store(false, std::memory_order_release); }
    void lock() {
        others.lock();
        isWanted.store(true, std::memory_order_relaxed);
        barrierOfAllThreads();
        while (isOwnerIn.load(std::memory_order_acquire)) std::this_thread::yield();
    }
    void unlock() {
        isWanted.store(false, std::memory_order_release);
        others.unlock();
    }
    std::atomic<bool> isOwnerIn{false};
    std::atomic<bool> isWanted{false};
    std::mutex others;
};
#endif

/// As when there is no lock at all, with one thread only.
struct None {
    static constexpr std::string_view kName = "none";
    void lockAsOwner() {}
    void unlockAsOwner() {}
    void lock() {}
    void unlock() {}
};

template <class Lock>
struct alignas(64) Shard {
    void visit(std::uint64_t value) {
        for (std::uint64_t& word : words) {
            word += value;
            asm volatile("" : : "r"(&word) : "memory");  // not kept in a register
        }
    }
    Lock lock;
    alignas(64) std::array<std::uint64_t, 4> words{};
};

struct Result {
    double alone = 0;  // ns a pair
    double met = 0;    // the same while another thread comes once a millisecond
    double visit = 0;  // ns that the other thread takes
};

template <class Lock>
double pairs(Shard<Lock>& shard) {
    auto const begin = Clock::now();
    for (int i = 0; i < kPairs; ++i)
        for (int half = 0; half < 2; ++half) {
            shard.lock.lockAsOwner();
            shard.visit(1);
            shard.lock.unlockAsOwner();
        }
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kPairs;
}

template <class Lock>
Result measure() {
    Shard<Lock> shard;
    Result result;
    result.alone = pairs(shard);
    std::atomic<bool> isOver{false};
    std::vector<double> visits;
    std::thread driver{[&] {
        for (int i = 0; i < kVisits; ++i) {
            std::this_thread::sleep_for(1ms);
            auto const begin = Clock::now();
            shard.lock.lock();
            if constexpr (Lock::kName != None::kName) shard.visit(1);
            shard.lock.unlock();
            visits.push_back(
                std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
        }
        isOver = true;
    }};
    int runs = 0;
    for (; !isOver; ++runs) result.met += pairs(shard);
    result.met /= runs;
    driver.join();
    std::sort(visits.begin(), visits.end());
    result.visit = visits[visits.size() / 2];
    return result;
}

double medianOf(std::vector<Result> const& results, double Result::*what) {
    std::vector<double> values;
    for (Result const& each : results) values.push_back(each.*what);
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

template <class... Locks>
void compare() {
    std::array<std::vector<Result>, sizeof...(Locks)> results;
    for (int round = 0; round < kRounds; ++round) {
        std::size_t i = 0;
        (results[i++].push_back(measure<Locks>()), ...);
    }
    std::printf("ns, medians of %d rounds   a pair, alone   a pair, met   the other's visit\n",
                kRounds);
    std::size_t i = 0;
    (
        [&] {
            auto const& of = results[i++];
            std::printf("%-25s  %13.1f  %12.1f  %18.0f\n", Locks::kName.data(),
                        medianOf(of, &Result::alone), medianOf(of, &Result::met),
                        medianOf(of, &Result::visit));
        }(),
        ...);
}

}  // namespace

int main() {
#if defined(__NR_membarrier)
    if (syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) {
        compare<None, Mutex, Spin, Owned>();
        return 0;
    }
#endif
    std::puts("no membarrier here: the owner's fast path is left out");
    compare<None, Mutex, Spin>();
}
