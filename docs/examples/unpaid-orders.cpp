// When each order is paid in time or cancels itself, never both, and none is lost when the program
// ends: orders, requests and their answers, reservations.

#include <timingwheel/SystemTimer.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

namespace {

constexpr std::size_t kOrders = 20'000;
constexpr std::size_t kCashiers = 4;    // threads that take payments
constexpr std::size_t kOneUnpaid = 10;  // of this many: nobody pays for it

class Shop {
public:
    explicit Shop(std::size_t orders) : orders_(orders) {}

    void place(timingwheel::Timer& timer, std::size_t order, nanoseconds timeToPay) {
        orders_[order].unpaid = timer.newTimeout(Cancel{this, order}, timeToPay);
    }

    timingwheel::Clock::TimePoint deadline(std::size_t order) const {
        return orders_[order].unpaid.deadline();
    }

    // cancel() decides the winner: it is true for one caller only, and then the task does not
    // run, even if it is due already. So there is no lock here, and no third state.
    bool pay(std::size_t order) {
        if (!orders_[order].unpaid.cancel()) return false;  // too late
        end(order), ++paid;
        return true;
    }

    // What a service writes to its database at its end: exactly the orders that are still open.
    std::size_t store(timingwheel::StoppedTimeouts const& stopped, std::FILE* file) const {
        for (timingwheel::StoppedTimeout const& timeout : stopped)
            if (auto const* const task = timeout.target<Cancel>())
                std::fprintf(file, "%zu %lld\n", task->order,
                             static_cast<long long>(timeout.remaining().count()));
        return stopped.size();
    }

    // What it does when it starts again: each order has as much time as it had left.
    void restore(timingwheel::Timer& timer, std::FILE* file) {
        std::size_t order = 0;
        long long left = 0;
        while (std::fscanf(file, "%zu %lld", &order, &left) == 2)
            place(timer, order, nanoseconds{left});
    }

    // By its own books; and by the handles, which may be kept for ever, and still say what became
    // of their timeouts when the timer is gone.
    bool eachHasOneEnd() const {
        auto const hasOne = [](Order const& order) { return order.ends == 1; };
        auto const hasRun = [](Order const& order) { return order.unpaid.isExpired(); };
        return std::ranges::all_of(orders_, hasOne) &&
               std::ranges::count_if(orders_, hasRun) == static_cast<std::ptrdiff_t>(cancelled);
    }

    std::atomic<std::size_t> paid = 0;
    std::atomic<std::size_t> cancelled = 0;

private:
    struct Cancel {  // a task with a name: stop() can tell what it was
        Shop* shop;
        std::size_t order;
        void operator()() const { shop->end(order), ++shop->cancelled; }
    };
    struct Order {
        timingwheel::Timeout unpaid;
        std::atomic<int> ends = 0;
    };

    void end(std::size_t order) { ++orders_[order].ends; }

    std::vector<Order> orders_;
};

// Customers pay at the last moment: half of them a little before the deadline, half after it.
void takePayments(Shop& shop, std::size_t cashier) {
    std::mt19937 random{static_cast<std::uint32_t>(cashier)};
    std::uniform_int_distribution<int> microseconds{-2'000, 2'000};
    std::vector<std::pair<timingwheel::Clock::TimePoint, std::size_t>> payments;
    for (std::size_t order = cashier; order < kOrders; order += kCashiers)
        if (order % kOneUnpaid != 0)
            payments.emplace_back(shop.deadline(order) + microseconds(random) * 1us, order);
    std::ranges::sort(payments);
    for (auto const& [time, order] : payments) {
        std::this_thread::sleep_until(time);
        shop.pay(order);
    }
}

}  // namespace

int main() {
    std::FILE* const database = std::tmpfile();
    if (database == nullptr) return 1;
    Shop shop{kOrders};

    std::size_t stored = 0;
    {
        timingwheel::SystemTimer timer;
        for (std::size_t order = 0; order < kOrders; ++order)
            shop.place(timer, order, 300ms + order * 25us);
        std::vector<std::jthread> cashiers;
        for (std::size_t i = 0; i < kCashiers; ++i)
            cashiers.emplace_back([&shop, i] { takePayments(shop, i); });
        // The program ends in the middle of it all. A payment after stop() comes too late.
        while (shop.paid + shop.cancelled < kOrders / 2) std::this_thread::sleep_for(1ms);
        stored = shop.store(timer.stop(), database);
    }
    std::size_t const ended = shop.paid + shop.cancelled;

    std::rewind(database);
    {
        timingwheel::SystemTimer timer;
        shop.restore(timer, database);
        timer.drain();  // waits until each has cancelled itself: nobody pays any more
    }
    std::fclose(database);

    std::printf("%zu orders ended or were stored, %zu ended in all\n", ended + stored,
                shop.paid + shop.cancelled);
    std::puts(shop.eachHasOneEnd() ? "each has one end" : "some have none, or two");
    std::printf("~ %zu paid, %zu cancelled, of which %zu after the restart\n", shop.paid.load(),
                shop.cancelled.load(), stored);
    bool const balances = ended + stored == kOrders && shop.paid + shop.cancelled == kOrders &&
                          shop.cancelled >= kOrders / kOneUnpaid;
    return balances && shop.eachHasOneEnd() ? 0 : 1;
}
