#include "components/store/Database.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <sqlite3.h>
#include <utility>

namespace timingwheel::inline v1::store {

namespace {

/// SQLite takes UTF-8, also where a path's own characters are others.
std::string utf8(std::filesystem::path const& file) {
    std::u8string const name = file.u8string();
    return {name.begin(), name.end()};
}

}  // namespace

Database::Database(std::filesystem::path const& file, std::string const& fileSystem)
    : name_{utf8(file)} {
    std::size_t const nul = name_.find('\0');
    if (name_.empty() || nul != std::string::npos)
        throw StoreError{"store: file is \"" + name_.substr(0, nul) +
                             (name_.empty() ? "\"" : "\" and a NUL byte") +
                             ": it must be a name without NUL bytes",
                         SQLITE_CANTOPEN};
    int const result =
        sqlite3_open_v2(name_.c_str(), &connection_,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        fileSystem.empty() ? nullptr : fileSystem.c_str());
    // SQLite is content to read what it may not write, and no change would ever be accepted.
    bool const isReadOnly = result == SQLITE_OK && sqlite3_db_readonly(connection_, "main") == 1;
    if (result == SQLITE_OK && !isReadOnly) {
        sqlite3_extended_result_codes(connection_, 1);
        return;
    }
    std::string const why = isReadOnly    ? "it may only be read"
                            : connection_ ? sqlite3_errmsg(connection_)
                                          : sqlite3_errstr(result);
    sqlite3_close(connection_);
    throw StoreError{name_ + ": cannot be opened: " + why, isReadOnly ? SQLITE_READONLY : result};
}

Database::~Database() { sqlite3_close(connection_); }

void Database::leaveLog(bool isLeft) noexcept {
    sqlite3_db_config(connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isLeft ? 1 : 0, nullptr);
}

bool Database::hasLog() const noexcept {
    sqlite3_file* log = nullptr;
    sqlite3_int64 size = 0;
    sqlite3_file_control(connection_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    return log != nullptr && log->pMethods != nullptr &&
           log->pMethods->xFileSize(log, &size) == SQLITE_OK && size > 0;
}

std::int64_t Database::headerBeforeRollback(std::int64_t offset) const {
    char const* const name = sqlite3_db_filename(connection_, "main");
    sqlite3_vfs* system = nullptr;
    sqlite3_file* file = nullptr;
    int hasJournal = 0;
    std::array<unsigned char, 4> bytes{};
    sqlite3_file_control(connection_, "main", SQLITE_FCNTL_VFS_POINTER, &system);
    sqlite3_file_control(connection_, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (name == nullptr || *name == 0 || file->pMethods == nullptr) return 0;
    system->xAccess(system, sqlite3_filename_journal(name), SQLITE_ACCESS_EXISTS, &hasJournal);
    if (hasJournal == 0 || file->pMethods->xRead(file, bytes.data(), 4, offset) != SQLITE_OK)
        return 0;
    std::uint32_t number = 0;
    for (unsigned char const byte : bytes) number = number << 8U | byte;
    return static_cast<std::int32_t>(number);
}

void Database::execute(char const* sql) {
    if (sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
}

std::int64_t Database::number(char const* sql) {
    Statement statement{*this, sql};
    return statement.step() ? statement.number(0) : 0;
}

std::string Database::text(char const* sql) {
    Statement statement{*this, sql};
    return statement.step() ? statement.text(0) : std::string{};
}

int Database::changes() const noexcept { return sqlite3_changes(connection_); }

std::int64_t Database::lastKey() const noexcept { return sqlite3_last_insert_rowid(connection_); }

void Database::fail(std::string_view what) const {
    int const code = sqlite3_extended_errcode(connection_);
    char const* const why = (code & 0xFF) == SQLITE_BUSY ? ": a timer or program uses the file"
                            : code == SQLITE_READONLY_DIRECTORY
                                ? ": its folder may not be written to"
                                : "";
    throw StoreError{name_ + ": " + std::string{what} + ": " + sqlite3_errmsg(connection_) + why,
                     code};
}

void Database::refuse(std::string_view why, int code) const {
    throw StoreError{name_ + ": " + std::string{why}, code};
}

// Some failures have ended the transaction already.
Transaction::~Transaction() {
    if (isOver_) return;
    try {
        database_.execute("ROLLBACK");
    } catch (StoreError const&) {
        return;
    }
}

void Transaction::commit() {
    database_.execute("COMMIT");
    isOver_ = true;
}

Statement::Statement(Database& database, char const* sql) : database_{database} {
    if (sqlite3_prepare_v3(database_.connection_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_,
                           nullptr) != SQLITE_OK)
        database_.fail(sql);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(int parameter, std::int64_t value) {
    if (sqlite3_bind_int64(statement_, parameter, value) != SQLITE_OK)
        database_.fail(sqlite3_sql(statement_));
    return *this;
}

Statement& Statement::bind(int parameter, std::string_view value) {
    // An empty one may have no address, which SQLite would take for NULL.
    char const* const bytes = value.empty() ? "" : value.data();
    if (sqlite3_bind_blob64(statement_, parameter, bytes, value.size(), SQLITE_TRANSIENT) !=
        SQLITE_OK)
        database_.fail(sqlite3_sql(statement_));
    return *this;
}

bool Statement::step() {
    int const result = sqlite3_step(statement_);
    if (result == SQLITE_ROW) return true;
    sqlite3_reset(statement_);
    if (result != SQLITE_DONE) database_.fail(sqlite3_sql(statement_));
    return false;
}

void Statement::reset() noexcept { sqlite3_reset(statement_); }

void Statement::run() {
    while (step()) {
    }
}

std::int64_t Statement::number(int column) const {
    return sqlite3_column_int64(statement_, column);
}

std::string Statement::text(int column) const {
    auto const* const bytes = static_cast<char const*>(sqlite3_column_blob(statement_, column));
    auto const size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? std::string{} : std::string(bytes, size);
}

Backup::Backup(Database& database, std::filesystem::path const& file, std::string const& fileSystem)
    : source_{database}, size_{database.number("PRAGMA page_count")}, copy_{file, fileSystem} {
    copy_.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA fullfsync = 1");
    char const* const path = sqlite3_db_filename(copy_.connection_, "main");
    if (path == nullptr || *path == 0) copy_.refuse("a copy there would not be kept");
    if (copy_.number("PRAGMA page_count") != 0)
        copy_.refuse("is not empty: a copy needs a file of its own");
    backup_ = sqlite3_backup_init(copy_.connection_, "main", database.connection_, "main");
    if (backup_ == nullptr) copy_.fail("copying");
}

Backup::~Backup() { sqlite3_backup_finish(backup_); }

bool Backup::step(int pages) {
    std::int64_t const size = source_.number("PRAGMA page_count");
    std::int64_t const added = std::max<std::int64_t>(size - std::exchange(size_, size), 0);
    if (sqlite3_backup_step(backup_, pages + static_cast<int>(added)) == SQLITE_OK) return true;
    // Whether it is whole, or what was wrong.
    if (sqlite3_backup_finish(std::exchange(backup_, nullptr)) != SQLITE_OK) copy_.fail("copying");
    return false;
}

}  // namespace timingwheel::inline v1::store
