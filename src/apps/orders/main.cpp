/// timingwheel-orders: a shop whose orders cancel themselves unless they are paid in time, whatever
/// happens to the program until then.

#include "apps/orders/Book.h"
#include "apps/orders/Customers.h"
#include "apps/orders/Shop.h"
#include "apps/orders/View.h"
#include "apps/terminal/Format.h"
#include "apps/terminal/Interrupt.h"
#include "apps/terminal/Terminal.h"
#include "apps/terminal/Within.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace orders {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;
using terminal::grouped;
using terminal::Terminal;
using timingwheel::store::StoreError;

constexpr int kFailed = 1;
constexpr int kMisunderstood = 2;
constexpr int kInterrupted = 130;
constexpr char kToldLater[] = "; it reaches the timer at its next start";

struct Options {
    std::string file = "orders.db";
    std::string id;
    std::string after = "30min";
    Customers::Options customers;
};

/// Nothing for what is not a time from 100 ms to a year.
std::optional<milliseconds> parseTime(std::string const& written) {
    double value = 0;
    char unit[8] = "";
    int end = 0;
    if (std::sscanf(written.c_str(), "%lf%7[a-z]%n", &value, unit, &end) != 2) return {};
    std::string const name = unit;
    double const factor = name == "ms"    ? 1
                          : name == "s"   ? 1e3
                          : name == "min" ? 60e3
                          : name == "h"   ? 3600e3
                                          : 0;
    double const time = value * factor;
    if (static_cast<std::size_t>(end) != written.size() || !(time >= 100 && time <= 366 * 86400e3))
        return {};
    return milliseconds{static_cast<std::int64_t>(time)};
}

std::string checkTime(std::string const& written) {
    if (parseTime(written)) return {};
    return written + " is not a time from 100ms to a year, such as 20s, 30min or 2h";
}

/// The timer takes no other length. A control character may do anything to a terminal.
std::string checkId(std::string const& id) {
    constexpr std::size_t kMost = 1'000;
    std::string shown;
    bool hasControl = false;
    for (std::size_t i = 0; i < id.size(); ++i) {
        auto const byte = static_cast<unsigned char>(id[i]);
        // U+0080 to U+009F are C2 80 to C2 9F.
        bool const isC1 = i > 0 && id[i - 1] == '\xC2' && byte >= 0x80 && byte < 0xA0;
        bool const isControl = byte < 0x20 || byte == 0x7F || isC1;
        hasControl = hasControl || isControl;
        if (isC1) shown.pop_back();
        shown += isControl ? '?' : id[i];
    }
    if (hasControl) return "'" + shown + "' has a control character, here '?': it must have none";
    if (!id.empty() && id.size() <= kMost) return {};
    if (id.size() > kMost) shown = std::string{terminal::cut(shown, 20)} + "...";
    return "'" + shown + "' has " + grouped(id.size()) + " bytes: it must have 1 to " +
           grouped(kMost);
}

/// A `place` has the timer's file for a moment, a shop until it ends.
std::unique_ptr<Shop> openShop(std::string const& file) {
    try {
        return std::make_unique<Shop>(file, 2s);
    } catch (StoreError const& error) {
        if (!Shop::isInUse(error)) throw;
        throw std::runtime_error{file + ": another shop has it open"};
    }
}

/// Passes a change in the book on to the timer: here, or by the shop that is open. Returns what to
/// print if neither is possible: the shop was stopped, or the timer's file is damaged. The change
/// stands.
std::string haveTimerTold(Options const& options, Book& book) {
    auto const last = steady_clock::now() + 5s;
    try {
        for (; !book.isTold(options.id); std::this_thread::sleep_for(5ms)) {
            try {
                Shop{options.file, 0ms};
            } catch (StoreError const& error) {
                if (!Shop::isInUse(error)) throw;
                if (steady_clock::now() >= last) return kToldLater;
            }
        }
        return {};
    } catch (std::exception const& exception) {
        std::fprintf(stderr, "timingwheel-orders: %s\n", exception.what());
        return kToldLater;
    }
}

int place(Options const& options) {
    Book book{options.file};
    auto const now = system_clock::now();
    if (book.place({options.id}, now, now + *parseTime(options.after)) == 0)
        throw std::runtime_error{"there is an order " + options.id};
    std::string const told = haveTimerTold(options, book);
    std::printf("%s: placed, to be paid within %s%s\n", options.id.c_str(), options.after.c_str(),
                told.c_str());
    return 0;
}

int pay(Options const& options) {
    Book book{options.file};
    bool const isPaid = !book.pay({options.id}, system_clock::now()).empty();
    std::optional<Order> const order = book.find(options.id);
    if (!order) throw std::runtime_error{"there is no order " + options.id};
    std::string const told = haveTimerTold(options, book);
    char const* const outcome = isPaid                        ? "paid"
                                : order->state == State::paid ? "paid before"
                                                              : "too late";
    std::printf("%s: %s%s\n", options.id.c_str(), outcome, told.c_str());
    return order->state == State::paid ? 0 : kFailed;
}

/// An id and what follows it, in a row. Of the id some characters are always shown.
std::string shortened(std::string const& id, std::size_t columns, std::size_t following) {
    constexpr std::size_t kLeast = 8;
    std::size_t const room = std::max(columns, following + kLeast) - following;
    if (terminal::columnsOf(id) <= room) return id;
    return std::string{terminal::cut(id, room - 3)} + "...";
}

int list(Options const& options) {
    Terminal const terminal;
    std::size_t const columns = terminal.size().columns;
    Book book{options.file};
    auto const now = system_clock::now();
    for (Order const& one : book.open()) {
        auto const left = std::chrono::ceil<std::chrono::seconds>(one.deadline - now);
        std::string const what = left > 0s ? ": pending, " + terminal::readable(left) + " left"
                                           : ": overdue: cancelled as soon as a shop is open";
        std::string const id =
            terminal.canRedraw() ? shortened(one.id, columns, what.size()) : one.id;
        std::printf("%s%s\n", id.c_str(), what.c_str());
    }
    Totals const totals = book.totals();
    std::printf("placed %s = paid %s + cancelled %s + pending %s\n", grouped(totals.placed).c_str(),
                grouped(totals.paid).c_str(), grouped(totals.cancelled).c_str(),
                grouped(totals.pending).c_str());
    return 0;
}

/// Ends when nobody orders any more and nothing is pending, or after Ctrl-C.
void trade(Options const& options, Shop& shop, Terminal& terminal) {
    milliseconds const limit = *parseTime(options.after);
    Customers customers{options.customers, shop.book(), steady_clock::now()};
    View view{options.file, limit, terminal};
    while (!terminal::isInterrupted()) {
        auto const now = system_clock::now();
        std::vector<std::string> const ordered = customers.order(steady_clock::now());
        if (!ordered.empty()) shop.book().place(ordered, now, now + limit);
        customers.ordered(ordered, now, now + limit);
        std::vector<std::string> const paid = customers.pay(now);
        if (!paid.empty()) shop.book().pay(paid, now);
        shop.tellTimer();
        if (view.isDue()) view.show(shop.book(), shop.timeouts(), shop.lastError(), now);
        if (customers.haveAllOrdered() && !shop.book().hasOpen()) return;
        std::this_thread::sleep_for(20ms);
    }
}

int run(Options const& options) {
    Terminal terminal;
    terminal::noteInterrupts();
    std::unique_ptr<Shop> const shop = openShop(options.file);
    trade(options, *shop, terminal);
    Ledger const ledger = shop->close();
    Totals const& totals = ledger.totals;
    terminal.line("placed " + grouped(totals.placed) + " = paid " + grouped(totals.paid) +
                  " + cancelled " + grouped(totals.cancelled) + " + pending " +
                  grouped(ledger.pending()) + ", by the timer's file");
    terminal.line(ledger.balances()
                      ? terminal.styled(Terminal::Style::good, "The ledger balances.")
                      : terminal.styled(Terminal::Style::bad, "The ledger DOES NOT balance."));
    if (!ledger.balances()) return kFailed;
    return terminal::isInterrupted() ? kInterrupted : 0;
}

/// The disk may be full: a reader must not take half of the output for the whole.
int afterWriting(int exitStatus) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exitStatus;
    throw std::runtime_error{"its output could not be written"};
}

int command(int count, char** arguments) {
    CLI::App app{
        "A shop: orders cancel themselves unless they are paid in time, also if the program "
        "ends\nbefore, or is killed. place, pay and list work while `run` does, and without "
        "it."};
    Options options;
    app.require_subcommand(1);
    app.fallthrough();
    app.add_option("--file", options.file, "where orders are kept; timeouts are in <file>-timeouts")
        ->take_last()
        ->capture_default_str();
    auto const addAfter = [&](CLI::App* command) {
        command->add_option("--after", options.after, "orders cancel themselves after this")
            ->check(CLI::Validator{checkTime, ""})
            ->take_last()
            ->capture_default_str();
    };
    CLI::App* const runs = app.add_subcommand("run", "open the shop, and show what is pending");
    runs->add_option(
            "--orders", options.customers.orders,
            "customers order this many in all; then it ends when none is pending. 0: until "
            "Ctrl-C")
        ->check(CLI::Range(0, 100'000'000))
        ->capture_default_str();
    runs->add_option("--rate", options.customers.rate, "orders a second; 0: no customers")
        ->check(terminal::Within{0.0, 100'000.0})
        ->capture_default_str();
    runs->add_option("--paid", options.customers.paid, "the part of orders that is paid in time")
        ->check(terminal::Within{0.0, 1.0})
        ->capture_default_str();
    runs->add_option("--seed", options.customers.seed, "of everything random")
        ->capture_default_str();
    addAfter(runs);
    CLI::App* const places = app.add_subcommand("place", "place an order");
    addAfter(places);
    CLI::App* const pays = app.add_subcommand("pay", "pay an order");
    for (CLI::App* const one : {places, pays})
        one->add_option("id", options.id, "of the order")
            ->check(CLI::Validator{checkId, ""})
            ->required();
    app.add_subcommand("list", "list the pending orders");
    try {
        app.parse(count, arguments);
    } catch (CLI::ParseError const& error) {
        return app.exit(error) == 0 ? 0 : kMisunderstood;
    }
    if (*runs) return run(options);
    if (*places) return place(options);
    if (*pays) return pay(options);
    return list(options);
}

}  // namespace

}  // namespace orders

int main(int count, char** arguments) {
    try {
        return orders::afterWriting(orders::command(count, arguments));
    } catch (std::exception const& exception) {
        std::fprintf(stderr, "timingwheel-orders: %s\n", exception.what());
        return orders::kFailed;
    }
}
