#pragma once

#include <timingwheel/store/DurableTimer.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_backup;
struct sqlite3_stmt;

namespace timingwheel::inline v1::store {

/// A connection to SQLite. Each failure throws StoreError.
///
/// Thread safety  one thread at a time
class Database {
public:
    Database(std::filesystem::path const& file, std::string const& fileSystem);
    Database(Database const&) = delete;
    Database& operator=(Database const&) = delete;
    ~Database();

    /// Whether to leave a log as it is when this is closed. By default SQLite writes it back.
    void leaveLog(bool isLeft) noexcept;
    /// True if there is a log with commits. REQUIRES: a transaction has begun.
    bool hasLog() const noexcept;
    /// A number in the header of a file that has a journal, which the first statement may roll
    /// back; else 0.
    std::int64_t headerBeforeRollback(std::int64_t offset) const;

    void execute(char const* sql);
    std::int64_t number(char const* sql);
    std::string text(char const* sql);
    /// How many rows the last statement has changed, and the key of the last row it added.
    int changes() const noexcept;
    std::int64_t lastKey() const noexcept;

    /// Throws the last failure: "<file>: <what>: <SQLite's words>".
    [[noreturn]] void fail(std::string_view what) const;
    [[noreturn]] void refuse(std::string_view why, int code = 1) const;  // SQLITE_ERROR

private:
    friend class Statement;
    friend class Backup;

    std::string name_;
    sqlite3* connection_ = nullptr;
};

/// All that is done in its lifetime is done together, or not at all.
class Transaction {
public:
    explicit Transaction(Database& database) : database_{database} {
        database_.execute("BEGIN IMMEDIATE");
    }
    Transaction(Transaction const&) = delete;
    Transaction& operator=(Transaction const&) = delete;
    /// Rolls back what was not committed.
    ~Transaction();

    void commit();

private:
    Database& database_;
    bool isOver_ = false;
};

/// A statement with parameters ?1, ?2, ...: bind all, then step through the rows.
class Statement {
public:
    Statement(Database& database, char const* sql);
    Statement(Statement const&) = delete;
    Statement& operator=(Statement const&) = delete;
    ~Statement();

    Statement& bind(int parameter, std::int64_t value);
    Statement& bind(int parameter, std::string_view value);
    /// True if there is a row. After the last the statement begins anew.
    bool step();
    /// Begins anew, wherever it is.
    void reset() noexcept;
    /// Steps to the end.
    void run();

    std::int64_t number(int column) const;
    std::string text(int column) const;

private:
    Database& database_;
    sqlite3_stmt* statement_ = nullptr;
};

/// While it lives, rows are read. A statement that stayed at one could not be bound again.
class Reading {
public:
    explicit Reading(Statement& statement) noexcept : statement_{statement} {}
    Reading(Reading const&) = delete;
    Reading& operator=(Reading const&) = delete;
    ~Reading() { statement_.reset(); }

private:
    Statement& statement_;
};

/// A copy of a database into a file that is not there or empty. The database may be used and
/// changed between the steps: the copy has the changes, too.
class Backup {
public:
    Backup(Database& database, std::filesystem::path const& file, std::string const& fileSystem);
    Backup(Backup const&) = delete;
    Backup& operator=(Backup const&) = delete;
    /// A copy that is not whole becomes empty.
    ~Backup();

    /// Copies so many pages, and as many as were added since the last step: so it comes to an end,
    /// however fast the database grows. False when the copy is whole, and on the disk.
    bool step(int pages);

private:
    Database& source_;
    std::int64_t size_;  // of the source at the last step, in pages
    Database copy_;
    sqlite3_backup* backup_ = nullptr;
};

}  // namespace timingwheel::inline v1::store
