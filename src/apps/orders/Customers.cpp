#include "apps/orders/Customers.h"

#include <algorithm>
#include <cstdio>
#include <random>

namespace orders {

namespace {

/// 0 if it is not an order of these customers.
std::uint64_t numberOf(std::string const& id) {
    unsigned long long number = 0;
    int end = 0;
    if (std::sscanf(id.c_str(), "order-%llu%n", &number, &end) != 1) return 0;
    return static_cast<std::size_t>(end) == id.size() ? number : 0;
}

}  // namespace

Customers::Customers(Options const& options, Book& book, SteadyTime now)
    : options_{options}, last_{now} {
    while (book.find(idOf(number_ + 1))) ++number_;
    for (Order const& one : book.open()) expect(one.id, one.placed, one.deadline);
}

std::vector<std::string> Customers::order(SteadyTime now) {
    std::vector<std::string> ids;
    std::chrono::duration<double> const passed = now - last_;
    waiting_ += options_.rate * std::min(passed.count(), 1.0);
    last_ = now;
    for (; waiting_ >= 1 && !haveAllOrdered(); --waiting_) ids.push_back(idOf(++number_));
    return ids;
}

void Customers::ordered(std::vector<std::string> const& ids, Time now, Time deadline) {
    for (std::string const& id : ids) expect(id, now, deadline);
}

std::vector<std::string> Customers::pay(Time now) {
    std::vector<std::string> ids;
    for (; !payments_.empty() && payments_.top().first <= now; payments_.pop())
        ids.push_back(payments_.top().second);
    return ids;
}

std::string Customers::idOf(std::uint64_t number) {
    char id[32];
    std::snprintf(id, sizeof id, "order-%08llu", static_cast<unsigned long long>(number));
    return id;
}

void Customers::expect(std::string const& id, Time placed, Time deadline) {
    std::uint64_t const number = numberOf(id);
    if (number == 0) return;
    std::mt19937_64 random{options_.seed * 1'000'003 + number};
    std::uniform_real_distribution<double> part{0, 1};
    if (part(random) >= options_.paid) return;
    std::chrono::duration<double> const limit = deadline - placed;
    payments_.emplace(placed + std::chrono::duration_cast<Time::duration>(limit * part(random)),
                      id);
}

}  // namespace orders
