#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;

namespace orders {

using Time = std::chrono::system_clock::time_point;

enum class State { open, paid, cancelled };

struct Order {
    std::string id;
    State state = State::open;
    Time placed;
    Time deadline;
};

struct Totals {
    std::uint64_t placed = 0;
    std::uint64_t paid = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t pending = 0;
    std::uint64_t untoldPending = 0;  // of the pending ones
    std::uint64_t untoldEnded = 0;    // of the others
};

/// The shop's own table: what has become of each order. Every change is on the disk when its call
/// returns. A change is marked until it has reached the timer: the process that has the timer
/// passes it on, at once or after a restart. So the two files agree, whenever a process is killed.
///
/// Thread safety  one thread at a time for each Book; several threads and processes may have the
///                file open
class Book {
public:
    /// Opens the file or makes it. Throws std::runtime_error, as all of its functions do.
    explicit Book(std::filesystem::path const& file);
    Book(Book const&) = delete;
    Book& operator=(Book const&) = delete;
    ~Book();

    /// All of them together. Those that are there already stay as they are. Returns how many were
    /// new.
    std::size_t place(std::vector<std::string> const& ids, Time now, Time deadline);
    /// Returns those of them that were open, and not overdue.
    std::vector<std::string> pay(std::vector<std::string> const& ids, Time now);
    /// False if it was not open.
    bool cancel(std::string const& id);

    std::optional<Order> find(std::string const& id);
    /// In the order of deadlines.
    std::vector<Order> open();
    /// Does not count them, so it takes no longer the more there are.
    bool hasOpen();
    /// Those whose state has not reached the timer.
    std::vector<Order> untold(std::size_t limit);
    /// These states of theirs have reached the timer.
    void told(std::vector<Order> const& orders);
    bool isTold(std::string const& id);

    Totals totals();
    /// Of the open orders, how many have their deadline in each part of a time from now. The first
    /// part has also what is overdue, the last what is later.
    std::vector<std::uint64_t> pendingByDeadline(Time now, std::chrono::milliseconds part,
                                                 std::size_t parts);

private:
    class Statement;
    class Transaction;

    [[noreturn]] void fail(std::string const& what) const;
    void execute(char const* sql);
    void makeTable();
    /// Throws if the file does not keep what was committed: if it is none.
    void useWriteAhead();
    /// Throws if it is a file of something else.
    bool isEmpty();

    std::string name_;
    sqlite3* connection_ = nullptr;
};

}  // namespace orders
