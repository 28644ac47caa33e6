#include "apps/orders/Book.h"

#include <algorithm>
#include <sqlite3.h>
#include <stdexcept>
#include <thread>

namespace orders {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kMostWait{60'000};  // for another process

std::int64_t toFile(Time time) {
    return std::chrono::ceil<milliseconds>(time.time_since_epoch()).count();
}
Time fromFile(std::int64_t time) { return Time{milliseconds{time}}; }

}  // namespace

/// Bind all parameters, then step through the rows.
class Book::Statement {
public:
    Statement(Book& book, char const* sql) : book_{book}, sql_{sql} {
        if (sqlite3_prepare_v2(book.connection_, sql, -1, &statement_, nullptr) != SQLITE_OK)
            book.fail(sql);
    }
    Statement(Statement const&) = delete;
    Statement& operator=(Statement const&) = delete;
    ~Statement() { sqlite3_finalize(statement_); }

    Statement& bind(int parameter, std::int64_t value) {
        if (sqlite3_bind_int64(statement_, parameter, value) != SQLITE_OK) book_.fail(sql_);
        return *this;
    }
    Statement& bind(int parameter, std::string const& value) {
        if (sqlite3_bind_text(statement_, parameter, value.c_str(), -1, SQLITE_TRANSIENT) !=
            SQLITE_OK)
            book_.fail(sql_);
        return *this;
    }
    /// True if there is a row. After the last the statement begins anew.
    bool step() {
        int const result = sqlite3_step(statement_);
        if (result == SQLITE_ROW) return true;
        sqlite3_reset(statement_);
        if (result != SQLITE_DONE) book_.fail(sql_);
        return false;
    }
    /// For one that gives no rows: whether it has changed something.
    bool change() {
        step();
        return sqlite3_changes(book_.connection_) > 0;
    }
    std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
    std::string text(int column) const {
        return reinterpret_cast<char const*>(sqlite3_column_text(statement_, column));
    }
    /// Reads the columns id, state, placed, deadline.
    Order order() const {
        return {text(0), static_cast<State>(number(1)), fromFile(number(2)), fromFile(number(3))};
    }

private:
    Book& book_;
    char const* sql_;
    sqlite3_stmt* statement_ = nullptr;
};

/// Rolled back unless it is committed.
class Book::Transaction {
public:
    explicit Transaction(Book& book) : book_{book} { book_.execute("BEGIN IMMEDIATE"); }
    Transaction(Transaction const&) = delete;
    Transaction& operator=(Transaction const&) = delete;
    ~Transaction() {
        if (!isOver_) sqlite3_exec(book_.connection_, "ROLLBACK", nullptr, nullptr, nullptr);
    }
    void commit() {
        book_.execute("COMMIT");
        isOver_ = true;
    }

private:
    Book& book_;
    bool isOver_ = false;
};

Book::Book(std::filesystem::path const& file) : name_{file.string()} {
    try {
        if (sqlite3_open(name_.c_str(), &connection_) != SQLITE_OK) fail("it cannot be opened");
        sqlite3_busy_timeout(connection_, static_cast<int>(kMostWait.count()));
        makeTable();
    } catch (...) {
        sqlite3_close(connection_);
        throw;
    }
}

Book::~Book() { sqlite3_close(connection_); }

void Book::makeTable() {
    static_cast<void>(isEmpty());  // before anything is changed
    useWriteAhead();
    Transaction transaction{*this};
    if (!isEmpty()) return;
    execute(
        "CREATE TABLE orders (id TEXT PRIMARY KEY, state INTEGER NOT NULL,"
        " placed INTEGER NOT NULL, deadline INTEGER NOT NULL, isTold INTEGER NOT NULL)"
        " WITHOUT ROWID;"
        "CREATE INDEX orders_by_state ON orders (state, deadline);"
        "CREATE INDEX orders_untold ON orders (id) WHERE isTold = 0;"
        "PRAGMA application_id = 1415017327; PRAGMA user_version = 1");  // "TWso"
    transaction.commit();
}

void Book::useWriteAhead() {
    // SQLite itself does not wait here.
    constexpr char kChange[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
    auto const last = steady_clock::now() + kMostWait;
    while (sqlite3_exec(connection_, kChange, nullptr, nullptr, nullptr) != SQLITE_OK) {
        if (sqlite3_errcode(connection_) != SQLITE_BUSY || steady_clock::now() >= last)
            fail(kChange);
        std::this_thread::sleep_for(milliseconds{5});
    }
    Statement mode{*this, "PRAGMA journal_mode"};
    Statement synchronous{*this, "PRAGMA synchronous"};
    if (!mode.step() || !synchronous.step()) fail("its mode cannot be read");
    constexpr std::int64_t kFull = 2;
    if (mode.text(0) == "wal" && synchronous.number(0) == kFull) return;
    throw std::runtime_error{"'" + name_ + "' has the journal mode " + mode.text(0) +
                             ": it must be wal, which only a file on a disk has"};
}

bool Book::isEmpty() {
    Statement whose{*this,
                    "SELECT application_id, user_version, (SELECT COUNT(*) FROM sqlite_schema)"
                    " FROM pragma_application_id, pragma_user_version"};
    whose.step();
    if (whose.number(2) == 0) return true;
    if (whose.number(0) != 1415017327 || whose.number(1) != 1)
        throw std::runtime_error{name_ + ": is not a file of this program"};
    return false;
}

std::size_t Book::place(std::vector<std::string> const& ids, Time now, Time deadline) {
    std::size_t placed = 0;
    Transaction transaction{*this};
    Statement insert{*this, "INSERT OR IGNORE INTO orders VALUES (?1, 0, ?2, ?3, 0)"};
    for (std::string const& id : ids)
        if (insert.bind(1, id).bind(2, toFile(now)).bind(3, toFile(deadline)).change()) ++placed;
    transaction.commit();
    return placed;
}

std::vector<std::string> Book::pay(std::vector<std::string> const& ids, Time now) {
    std::vector<std::string> paid;
    Transaction transaction{*this};
    Statement update{*this,
                     "UPDATE orders SET state = 1, isTold = 0"
                     " WHERE id = ?1 AND state = 0 AND deadline > ?2"};
    for (std::string const& id : ids)
        if (update.bind(1, id).bind(2, toFile(now)).change()) paid.push_back(id);
    transaction.commit();
    return paid;
}

bool Book::cancel(std::string const& id) {
    Statement update{*this, "UPDATE orders SET state = 2, isTold = 0 WHERE id = ?1 AND state = 0"};
    return update.bind(1, id).change();
}

std::optional<Order> Book::find(std::string const& id) {
    Statement select{*this, "SELECT id, state, placed, deadline FROM orders WHERE id = ?1"};
    if (!select.bind(1, id).step()) return {};
    return select.order();
}

std::vector<Order> Book::open() {
    Statement select{*this,
                     "SELECT id, state, placed, deadline FROM orders WHERE state = 0"
                     " ORDER BY deadline, id"};
    std::vector<Order> orders;
    while (select.step()) orders.push_back(select.order());
    return orders;
}

bool Book::hasOpen() {
    Statement select{*this, "SELECT 1 FROM orders WHERE state = 0 LIMIT 1"};
    return select.step();
}

std::vector<Order> Book::untold(std::size_t limit) {
    Statement select{*this,
                     "SELECT id, state, placed, deadline FROM orders WHERE isTold = 0 LIMIT ?1"};
    select.bind(1, static_cast<std::int64_t>(limit));
    std::vector<Order> orders;
    while (select.step()) orders.push_back(select.order());
    return orders;
}

void Book::told(std::vector<Order> const& orders) {
    Transaction transaction{*this};
    Statement update{*this, "UPDATE orders SET isTold = 1 WHERE id = ?1 AND state = ?2"};
    for (Order const& one : orders)
        update.bind(1, one.id).bind(2, static_cast<std::int64_t>(one.state)).change();
    transaction.commit();
}

bool Book::isTold(std::string const& id) {
    Statement select{*this, "SELECT isTold FROM orders WHERE id = ?1"};
    return select.bind(1, id).step() && select.number(0) == 1;
}

Totals Book::totals() {
    Statement select{*this,
                     "SELECT COUNT(*), (SELECT COUNT(*) FROM orders WHERE state = 1),"
                     " (SELECT COUNT(*) FROM orders WHERE state = 2),"
                     " (SELECT COUNT(*) FROM orders WHERE state = 0),"
                     " (SELECT COUNT(*) FROM orders WHERE state = 0 AND isTold = 0),"
                     " (SELECT COUNT(*) FROM orders WHERE state > 0 AND isTold = 0) FROM orders"};
    select.step();
    auto const count = [&](int column) {
        return static_cast<std::uint64_t>(select.number(column));
    };
    return {count(0), count(1), count(2), count(3), count(4), count(5)};
}

std::vector<std::uint64_t> Book::pendingByDeadline(Time now, milliseconds part, std::size_t parts) {
    std::vector<std::uint64_t> counts(parts);
    Statement select{*this,
                     "SELECT (deadline - ?1 - 1) / ?2, COUNT(*) FROM orders WHERE state = 0"
                     " GROUP BY 1"};
    select.bind(1, toFile(now)).bind(2, part.count());
    while (select.step()) {
        auto const last = static_cast<std::int64_t>(parts) - 1;
        auto const which = std::clamp<std::int64_t>(select.number(0), 0, last);
        counts[static_cast<std::size_t>(which)] += static_cast<std::uint64_t>(select.number(1));
    }
    return counts;
}

void Book::execute(char const* sql) {
    if (sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
}

void Book::fail(std::string const& what) const {
    throw std::runtime_error{name_ + ": " + what + ": " + sqlite3_errmsg(connection_)};
}

}  // namespace orders
