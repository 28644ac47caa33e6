#pragma once

#include "apps/orders/Book.h"

#include <timingwheel/store/DurableTimer.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>

namespace orders {

/// The book's side and the timer's. Other processes may have placed or paid orders meanwhile.
struct Ledger {
    Totals totals;
    std::uint64_t timeouts = 0;
    /// By the timer's file, which may still have a timeout of an order that has ended, until that
    /// has reached the timer.
    std::uint64_t pending() const noexcept {
        std::uint64_t const known = totals.pending - totals.untoldPending;
        std::uint64_t const tooMany = timeouts > known ? timeouts - known : 0;
        return timeouts - std::min(tooMany, totals.untoldEnded) + totals.untoldPending;
    }
    bool balances() const noexcept {
        return totals.placed == totals.paid + totals.cancelled + pending();
    }
};

/// Owns the timer: cancels orders when they are due, and passes on to the timer what the book says.
///
/// The book comes first. Until a change has reached the timer, the book has it as untold. If the
/// process dies anywhere between, the next one passes it on again, which is harmless: an open order
/// has its timeout replaced by one at the same deadline, another one is cancelled once more.
/// And a timeout that comes again finds that its order is not open.
///
/// Thread safety  one thread
class Shop {
public:
    /// Throws store::StoreError if another process has the timer and keeps it for `wait`: see
    /// isInUse().
    Shop(std::filesystem::path const& file, std::chrono::milliseconds wait);

    static bool isInUse(timingwheel::store::StoreError const& error);

    Book& book() { return book_; }
    /// Returns when the timer has confirmed all that was untold at the call.
    void tellTimer();
    std::uint64_t timeouts() const { return timer_.pendingTimeouts(); }
    /// The books at the end. What is overdue stays for the next shop.
    Ledger close();
    /// The last error of recent seconds where no caller waited; empty: none. A lasting cause gives
    /// a new one within them.
    std::string lastError() const;

private:
    void note(std::exception_ptr const& error);

    Book book_;
    Book timersBook_;  // the handler's
    std::mutex mutable mutex_;
    std::string lastError_;
    std::chrono::steady_clock::time_point whenLastError_;
    timingwheel::store::DurableTimer timer_;  // the last: its handler uses the others
};

}  // namespace orders
