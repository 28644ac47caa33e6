#include "apps/orders/Shop.h"

#include <cstddef>
#include <future>
#include <limits>
#include <sqlite3.h>
#include <thread>
#include <vector>

namespace orders {

using timingwheel::store::DurableTimeout;
using timingwheel::store::StoreError;

Shop::Shop(std::filesystem::path const& file, std::chrono::milliseconds wait)
    : book_{file},
      timersBook_{file},
      timer_{file.string() + "-timeouts",
             [this](DurableTimeout const& order) { timersBook_.cancel(order.id); },
             {.retryDelay = std::chrono::milliseconds{50},  // 64 times that is less than 5 s
              .lockTimeout = wait,
              .errorHandler = [this](std::exception_ptr error) { note(error); }}} {
    tellTimer();
}

bool Shop::isInUse(StoreError const& error) { return (error.code() & 0xff) == SQLITE_BUSY; }

void Shop::tellTimer() {
    constexpr std::size_t kAtOnce = 10'000;
    for (;;) {
        std::vector<Order> const orders = book_.untold(kAtOnce);
        if (orders.empty()) return;
        std::vector<std::future<bool>> answers;
        for (Order const& one : orders)
            answers.push_back(one.state == State::open ? timer_.schedule(one.id, one.deadline)
                                                       : timer_.cancel(one.id));
        for (auto& answer : answers) answer.get();
        book_.told(orders);
    }
}

Ledger Shop::close() {
    using std::chrono::steady_clock;
    constexpr std::chrono::seconds kMostIdle{2};
    auto const begin = std::chrono::system_clock::now();
    auto least = std::numeric_limits<std::uint64_t>::max();
    auto last = steady_clock::now() + kMostIdle;
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds{5})) {
        tellTimer();
        Ledger const ledger = readLedger();
        if (ledger.tooMany() == 0) {
            timer_.stop();
            return ledger;
        }
        // What was paid late waits in the timer behind orders that are overdue.
        std::uint64_t const left = ledger.tooMany() + book_.countOverdue(begin);
        if (left < least) {
            least = left;
            last = steady_clock::now() + kMostIdle;
        }
        if (steady_clock::now() >= last) break;
    }
    timer_.stop();  // which commits the last that a slow disk has kept waiting
    return readLedger();
}

Ledger Shop::readLedger() {
    // In this order: if an order is cancelled in between, there seems to be a timeout too many.
    Ledger ledger;
    ledger.timeouts = timer_.pendingTimeouts();
    ledger.totals = book_.totals();
    return ledger;
}

std::string Shop::lastError() const {
    std::lock_guard const lock{mutex_};
    bool const isOld = std::chrono::steady_clock::now() - whenLastError_ > std::chrono::seconds{5};
    return isOld ? "" : lastError_;
}

void Shop::note(std::exception_ptr const& error) {
    std::lock_guard const lock{mutex_};
    whenLastError_ = std::chrono::steady_clock::now();
    try {
        std::rethrow_exception(error);
    } catch (std::exception const& exception) {
        lastError_ = exception.what();
    }
}

}  // namespace orders
