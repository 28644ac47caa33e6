#include "apps/orders/Shop.h"

#include <cstddef>
#include <future>
#include <sqlite3.h>
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
              .errorHandler = [this](auto& failure) { note(failure.exception); }}} {
    tellTimer();
}

bool Shop::isInUse(StoreError const& error) { return (error.code() & 0xff) == SQLITE_BUSY; }

void Shop::tellTimer() {
    constexpr std::size_t kAtOnce = 10'000;
    for (std::size_t told = kAtOnce; told == kAtOnce;) {
        std::vector<Order> const orders = book_.untold(kAtOnce);
        auto const later = std::chrono::system_clock::now() + std::chrono::hours{24};
        std::vector<std::future<bool>> answers;
        for (Order const& one : orders) {
            // A timeout that is due goes only together with one that is pending.
            answers.push_back(timer_.schedule(one.id, later));
            answers.push_back(timer_.cancel(one.id));
            if (one.state == State::open) answers.push_back(timer_.schedule(one.id, one.deadline));
        }
        for (auto& answer : answers) answer.get();
        if (!orders.empty()) book_.told(orders);
        told = orders.size();
    }
}

Ledger Shop::close() {
    tellTimer();
    timer_.stop();
    return {book_.totals(), timer_.pendingTimeouts()};
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
