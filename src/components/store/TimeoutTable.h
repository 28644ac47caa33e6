#pragma once

#include "components/store/Database.h"
#include "components/store/Row.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace timingwheel::inline v1::store {

/// The table of timeouts, in a file that nobody else uses meanwhile. Each failure throws
/// StoreError. What is changed outside a Transaction is a transaction of its own.
///
/// Thread safety  one thread at a time
class TimeoutTable {
public:
    /// Makes the table if the file is empty.
    TimeoutTable(std::filesystem::path const& file, std::string const& fileSystem);

    /// Waits up to `lockTimeout` while others use the file.
    static std::unique_ptr<TimeoutTable> open(std::filesystem::path const& file,
                                              DurableTimerOptions const& options);

    Database& database() noexcept { return database_; }

    /// The newest first.
    Keys keysOf(std::string_view id) {
        Reading const reading{keysOf_};
        keysOf_.bind(1, id);
        Keys keys;
        while (keysOf_.step()) keys.push_back(keysOf_.number(0));
        return keys;
    }
    Key insert(std::string_view id, std::int64_t deadline, std::string_view payload) {
        insert_.bind(1, id).bind(2, deadline).bind(3, payload).run();
        return database_.lastKey();
    }
    /// Both throw if it is not there: only a damaged index names such a key.
    void move(Key key, std::int64_t deadline) {
        move_.bind(1, key).bind(2, deadline).run();
        if (database_.changes() == 0) refuseKey(key);
    }
    SharedRow read(Key key);
    /// False if it was not there.
    bool remove(Key key) {
        remove_.bind(1, key).run();
        return database_.changes() > 0;
    }
    /// Adds those behind a place and before a time: as many as there is room for, and at least one.
    /// False if there are no more. If it throws, it has added those before the damage.
    bool readNear(Place behind, std::int64_t until, Amount room, std::vector<SharedRow>& rows);
    /// Writes the log back into the file, and makes it empty.
    void emptyLog() { database_.execute("PRAGMA wal_checkpoint(TRUNCATE)"); }
    std::uint64_t count() {
        return static_cast<std::uint64_t>(database_.number("SELECT COUNT(*) FROM timeout"));
    }

private:
    Database& prepare();
    void keepWhatIsCommitted();
    bool checkWhose();
    void checkApplication(std::int64_t application) const;
    [[noreturn]] void refuseKey(Key key) const;
    void makeTable();

    Database database_;
    // The first: before that there may be no table.
    Statement keysOf_{prepare(), "SELECT key FROM timeout WHERE id = ?1 ORDER BY key DESC"};
    Statement insert_{database_, "INSERT INTO timeout (id, deadline, payload) VALUES (?1, ?2, ?3)"};
    Statement move_{database_, "UPDATE timeout SET deadline = ?2 WHERE key = ?1"};
    Statement remove_{database_, "DELETE FROM timeout WHERE key = ?1"};
    Statement read_{database_, "SELECT key, deadline, id, payload FROM timeout WHERE key = ?1"};
    Statement readNear_{database_,
                        "SELECT key, deadline, id, payload FROM timeout"
                        " WHERE (deadline, key) > (?1, ?2) AND deadline < ?3"
                        " ORDER BY deadline, key"};
};

}  // namespace timingwheel::inline v1::store
