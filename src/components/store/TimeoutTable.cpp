#include "components/store/TimeoutTable.h"

#include <chrono>
#include <random>
#include <sqlite3.h>
#include <thread>

namespace timingwheel::inline v1::store {

namespace {

// "TWst": of files that are ours.
constexpr std::int64_t kApplication = 0x54577374;
constexpr std::int64_t kSchema = 2;

SharedRow current(Statement const& row) {
    return std::make_shared<Row const>(Row{row.number(0), row.number(1), row.text(2), row.text(3)});
}

}  // namespace

TimeoutTable::TimeoutTable(std::filesystem::path const& file, std::string const& fileSystem)
    : database_{file, fileSystem} {}

/// Others may have the file for a moment: to look into it, or because they end. Each attempt has a
/// connection of its own, since one that waits would keep a lock that others wait for.
std::unique_ptr<TimeoutTable> TimeoutTable::open(std::filesystem::path const& file,
                                                 DurableTimerOptions const& options) {
    using std::chrono::steady_clock;
    auto const end = steady_clock::now() + options.lockTimeout.nanoseconds();
    std::minstd_rand random{std::random_device{}()};
    for (;;) {
        try {
            return std::make_unique<TimeoutTable>(file, options.fileSystem);
        } catch (StoreError const& error) {
            bool const isBusy = (error.code() & 0xff) == SQLITE_BUSY;
            if (!isBusy || steady_clock::now() >= end) throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{1 + random() % 50});
    }
}

SharedRow TimeoutTable::read(Key key) {
    Reading const reading{read_};
    read_.bind(1, key);
    if (!read_.step()) refuseKey(key);
    return current(read_);
}

void TimeoutTable::refuseKey(Key key) const {
    database_.refuse("is damaged: it has no row " + std::to_string(key), SQLITE_CORRUPT);
}

bool TimeoutTable::readNear(Place behind, std::int64_t until, Amount room,
                            std::vector<SharedRow>& rows) {
    Reading const reading{readNear_};
    readNear_.bind(1, behind.first).bind(2, behind.second).bind(3, until);
    for (std::size_t bytes = 0; readNear_.step();) {
        rows.push_back(current(readNear_));
        bytes += rows.back()->bytes();
        if (rows.size() >= room.rows || bytes >= room.bytes) return true;
    }
    return false;
}

/// Everything that is confirmed is on the disk (FULL). Nobody else may write meanwhile. The file of
/// something else is left as it is: so it is looked at first.
Database& TimeoutTable::prepare() {
    // In SQLite's file format. Ours has no table yet, and so one page, while it has a journal.
    constexpr std::int64_t kPagesAt = 28;
    constexpr std::int64_t kApplicationAt = 68;
    if (database_.headerBeforeRollback(kPagesAt) > 1)
        checkApplication(database_.headerBeforeRollback(kApplicationAt));
    database_.execute("PRAGMA locking_mode = EXCLUSIVE");
    // On macOS an ordinary sync leaves it in the disk's cache. Elsewhere there is one kind. The
    // first transaction writes already, to a file that is empty.
    database_.execute("PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1");
    bool isNew = false;
    {
        Transaction transaction{database_};      // which takes the lock
        database_.leaveLog(database_.hasLog());  // it may be that of something else
        isNew = checkWhose();
        transaction.commit();
    }
    database_.leaveLog(false);
    keepWhatIsCommitted();
    if (isNew) makeTable();
    return database_;
}

void TimeoutTable::makeTable() {
    Transaction transaction{database_};
    database_.execute(
        "CREATE TABLE timeout (key INTEGER PRIMARY KEY AUTOINCREMENT,"
        " id BLOB NOT NULL, deadline INTEGER NOT NULL, payload BLOB NOT NULL);"
        "CREATE INDEX timeout_by_id ON timeout (id);"
        "CREATE INDEX timeout_by_deadline ON timeout (deadline);"
        "PRAGMA application_id = 1415017332; PRAGMA user_version = 2");
    transaction.commit();
}

/// SQLite reports neither failure: for a database in memory, or in a file that goes with the
/// connection.
void TimeoutTable::keepWhatIsCommitted() {
    std::string const mode = database_.text("PRAGMA journal_mode = WAL");
    if (mode != "wal")
        database_.refuse("its journal_mode is " + mode +
                         ": it must be wal, or nothing would be kept");
    constexpr std::int64_t kFull = 2;
    database_.execute("PRAGMA synchronous = FULL");
    std::int64_t const synchronous = database_.number("PRAGMA synchronous");
    if (synchronous != kFull)
        database_.refuse("its synchronous is " + std::to_string(synchronous) +
                         ": it must be 2, which is FULL");
    // Or the log would keep the size of the largest commit for ever. SQLite writes it back at 4 MB.
    database_.execute("PRAGMA journal_size_limit = 8000000");
}

void TimeoutTable::checkApplication(std::int64_t application) const {
    if (application != kApplication)
        database_.refuse("is a database of something else: its application_id is " +
                         std::to_string(application) + ", it must be " +
                         std::to_string(kApplication));
}

/// True if the file is empty.
bool TimeoutTable::checkWhose() {
    std::int64_t const application = database_.number("PRAGMA application_id");
    std::int64_t const schema = database_.number("PRAGMA user_version");
    if (application == 0 && schema == 0 &&
        database_.number("SELECT COUNT(*) FROM sqlite_schema") == 0)
        return true;
    checkApplication(application);
    if (schema != kSchema)
        database_.refuse("its schema is of version " + std::to_string(schema) + ": it must be " +
                         std::to_string(kSchema));
    // Throws if a column is not there.
    database_.number("SELECT key, id, deadline, payload FROM timeout LIMIT 1");
    return false;
}

}  // namespace timingwheel::inline v1::store
