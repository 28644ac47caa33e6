#include "components/store/Database.h"
#include "core/base/OptionChecks.h"
#include "core/base/TimeArithmetic.h"
#include "core/base/platform/Thread.h"

#include <timingwheel/SystemTimer.h>
#include <timingwheel/store/DurableTimer.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <sqlite3.h>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace store {

namespace {

using std::chrono::milliseconds;
using timingwheel::detail::deadlineToMilliseconds;
using timingwheel::detail::refuseOption;
using timingwheel::detail::requireWithin;

// "TWst": of files that are ours.
constexpr std::int64_t kApplication = 0x54577374;
constexpr std::int64_t kSchema = 2;

/// Far times saturate: the file may hold what the clock cannot say.
DurableTimer::TimePoint fromFile(std::int64_t time) {
    using Length = DurableTimer::TimePoint::duration;
    constexpr std::int64_t kLast = std::chrono::floor<milliseconds>(Length::max()).count();
    constexpr std::int64_t kFirst = std::chrono::ceil<milliseconds>(Length::min()).count();
    return DurableTimer::TimePoint{milliseconds{std::clamp(time, kFirst, kLast)}};
}

template <class Number>
void require(char const* option, Number value, Number least, Number most) {
    requireWithin(std::string{"store: "} + option, value, least, most);
}

void checkOptions(DurableTimerOptions const& options) {
    constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
    // A row of both is below SQLite's 1,000,000,000.
    constexpr std::size_t kMostOfAnId = 1'000'000;
    constexpr std::size_t kMostOfAPayload = 990'000'000;
    auto const inMilliseconds = [](Duration duration) {
        return std::chrono::ceil<milliseconds>(duration.nanoseconds()).count();
    };
    require<std::int64_t>("horizon in ms", inMilliseconds(options.horizon), 1'000,
                          std::int64_t{366} * 24 * 3'600 * 1'000);
    require<std::int64_t>("retryDelay in ms", inMilliseconds(options.retryDelay), 1, 3'600'000);
    require<std::int64_t>("lockTimeout in ms", inMilliseconds(options.lockTimeout), 0, 3'600'000);
    require<std::size_t>("maxRead", options.maxRead, 1, kMost);
    require<std::size_t>("maxBytes", options.maxBytes, 1, 1'000'000'000'000);
    require<std::size_t>("maxGroup", options.maxGroup, 1, kMost);
    require<std::size_t>("maxWaiting", options.maxWaiting, 1, kMost);
    require<std::size_t>("maxId", options.maxId, 1, kMostOfAnId);
    require<std::size_t>("maxPayload", options.maxPayload, 1, kMostOfAPayload);
    require<std::size_t>("threads", options.threads, 1, 1'000);
    if (options.clock.get().kind() != Clock::Kind::wall)
        refuseOption("store: clock", "not a wall clock",
                     "of Clock::Kind::wall: deadlines that survive the process are times of day");
    if (options.retryClock.get().kind() == Clock::Kind::wall)
        refuseOption("store: retryClock", "a wall clock",
                     "of another kind: a delay must not depend on the time of day");
}

void printError(std::exception_ptr const& error) {
    try {
        std::rethrow_exception(error);
    } catch (std::exception const& exception) {
        std::fprintf(stderr, "timingwheel: %s\n", exception.what());
    } catch (...) {
        std::fputs("timingwheel: the store failed\n", stderr);
    }
}

/// What a caller asks for.
struct Change {
    enum class Kind { schedule, reschedule, cancel };
    Kind kind;
    std::string id;
    std::int64_t deadline = 0;
    std::string payload;
    std::promise<bool> answer;

    std::size_t bytes() const { return id.size() + payload.size(); }
};

/// A row of the table. Keys are never used twice: AUTOINCREMENT.
struct Row {
    std::int64_t key;
    std::int64_t deadline;
    std::string id;
    std::string payload;
    /// Its id was cancelled when it was due. Guarded by the store's mutex.
    bool mutable isDropped = false;

    std::size_t bytes() const { return id.size() + payload.size(); }
};

using SharedRow = std::shared_ptr<Row const>;

struct Amount {
    std::size_t rows = 0;
    std::size_t bytes = 0;
};

/// The table.
class Table {
public:
    Table(std::filesystem::path const& file, std::string const& fileSystem)
        : database_{file, fileSystem}, opened_{open()} {}

    Database& database() { return database_; }

    /// The newest first.
    std::vector<std::int64_t> keysOf(std::string_view id) {
        Reading const reading{keysOf_};
        keysOf_.bind(1, id);
        std::vector<std::int64_t> keys;
        while (keysOf_.step()) keys.push_back(keysOf_.number(0));
        return keys;
    }
    std::int64_t insert(std::string_view id, std::int64_t deadline, std::string_view payload) {
        insert_.bind(1, id).bind(2, deadline).bind(3, payload).run();
        return database_.lastKey();
    }
    void move(std::int64_t key, std::int64_t deadline) {
        move_.bind(1, key).bind(2, deadline).run();
    }
    /// False if it was not there.
    bool remove(std::int64_t key) {
        remove_.bind(1, key).run();
        return database_.changes() > 0;
    }
    SharedRow read(std::int64_t key) {
        Reading const reading{read_};
        read_.bind(1, key);
        return read_.step() ? current(read_) : SharedRow{};
    }
    /// Adds those behind a place in the order of deadlines and keys, and before a time: as many as
    /// there is room for, and at least one. False if there are no more. If it throws, it has added
    /// those before the damage.
    bool readNear(std::pair<std::int64_t, std::int64_t> behind, std::int64_t until, Amount room,
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
    /// Writes the log back into the file, and makes it empty.
    void emptyLog() { database_.execute("PRAGMA wal_checkpoint(TRUNCATE)"); }
    std::uint64_t count() {
        return static_cast<std::uint64_t>(database_.number("SELECT COUNT(*) FROM timeout"));
    }

private:
    static SharedRow current(Statement const& row) {
        return std::make_shared<Row const>(
            Row{row.number(0), row.number(1), row.text(2), row.text(3)});
    }

    /// Everything that is confirmed is on the disk (FULL). Nobody else may write meanwhile. The
    /// file of something else is left as it is: so it is looked at first.
    bool open() {
        database_.execute("PRAGMA locking_mode = EXCLUSIVE");
        // On macOS an ordinary sync leaves it in the disk's cache. Elsewhere there is one kind. The
        // first transaction writes already, to a file that is empty.
        database_.execute("PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1");
        bool isNew = false;
        {
            Transaction transaction{database_};  // which takes the lock
            isNew = checkWhose();
            transaction.commit();
        }
        keepWhatIsCommitted();
        if (!isNew) return true;
        Transaction transaction{database_};
        database_.execute(
            "CREATE TABLE timeout (key INTEGER PRIMARY KEY AUTOINCREMENT,"
            " id BLOB NOT NULL, deadline INTEGER NOT NULL, payload BLOB NOT NULL);"
            "CREATE INDEX timeout_by_id ON timeout (id);"
            "CREATE INDEX timeout_by_deadline ON timeout (deadline);"
            "PRAGMA application_id = 1415017332; PRAGMA user_version = 2");
        transaction.commit();
        return true;
    }

    /// SQLite reports neither failure: for a database in memory, or in a file that goes with the
    /// connection.
    void keepWhatIsCommitted() {
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
        // Or the log would keep the size of the largest commit for ever. SQLite writes it back at
        // 4 MB.
        database_.execute("PRAGMA journal_size_limit = 8000000");
    }

    /// True if the file is empty.
    bool checkWhose() {
        std::int64_t const application = database_.number("PRAGMA application_id");
        std::int64_t const schema = database_.number("PRAGMA user_version");
        if (application == 0 && schema == 0 &&
            database_.number("SELECT COUNT(*) FROM sqlite_schema") == 0)
            return true;
        if (application != kApplication)
            database_.refuse("is a database of something else: its application_id is " +
                             std::to_string(application) + ", it must be " +
                             std::to_string(kApplication));
        if (schema != kSchema)
            database_.refuse("its schema is of version " + std::to_string(schema) +
                             ": it must be " + std::to_string(kSchema));
        // Throws if a column is not there.
        database_.number("SELECT key, id, deadline, payload FROM timeout LIMIT 1");
        return false;
    }

    Database database_;
    bool opened_;
    Statement keysOf_{database_, "SELECT key FROM timeout WHERE id = ?1 ORDER BY key DESC"};
    Statement insert_{database_, "INSERT INTO timeout (id, deadline, payload) VALUES (?1, ?2, ?3)"};
    Statement move_{database_, "UPDATE timeout SET deadline = ?2 WHERE key = ?1"};
    Statement remove_{database_, "DELETE FROM timeout WHERE key = ?1"};
    Statement read_{database_, "SELECT key, deadline, id, payload FROM timeout WHERE key = ?1"};
    Statement readNear_{database_,
                        "SELECT key, deadline, id, payload FROM timeout"
                        " WHERE (deadline, key) > (?1, ?2) AND deadline < ?3"
                        " ORDER BY deadline, key"};
};

/// Others may have the file for a moment: to look into it, or because they end. Each attempt has a
/// connection of its own, since one that waits would keep a lock that others wait for.
std::unique_ptr<Table> openTable(std::filesystem::path const& file,
                                 DurableTimerOptions const& options) {
    using std::chrono::steady_clock;
    auto const end = steady_clock::now() + options.lockTimeout.nanoseconds();
    std::minstd_rand random{std::random_device{}()};
    for (;;) {
        try {
            return std::make_unique<Table>(file, options.fileSystem);
        } catch (StoreError const& error) {
            bool const isBusy = (error.code() & 0xff) == SQLITE_BUSY;
            if (!isBusy || steady_clock::now() >= end) throw;
        }
        std::this_thread::sleep_for(milliseconds{1 + random() % 50});
    }
}

}  // namespace

/// Callers append changes. One thread, the writer, commits them in groups, and keeps in the wheel
/// what is near. The wheel hands over what is due to the threads that call the handler, and these
/// report to the writer.
class DurableTimer::Store {
public:
    Store(std::filesystem::path const& file, Handler handler, DurableTimerOptions options)
        : handler_{std::move(handler)},
          options_{std::move(options)},
          table_{openTable(file, options_)},
          timer_{{.clock = options_.clock}},
          retryTimer_{{.clock = options_.retryClock}} {
        count_ = table_->count();
        readNear();
    }

    ~Store() { stop(); }

    /// A handler may call the timer from now on, so this is the last that its constructor does.
    void start() {
        detail::SignalsBlocked const blocked;
        try {
            writer_ = std::thread{[this] { write(); }};
            for (std::size_t i = 0; i < options_.threads; ++i)
                handling_.emplace_back([this] { handle(); });
        } catch (...) {
            stop();
            throw;
        }
    }

    std::future<bool> append(Change change) {
        checkText("an id", change.id, 1, options_.maxId);
        checkText("a payload", change.payload, 0, options_.maxPayload);
        std::future<bool> answer = change.answer.get_future();
        std::unique_lock lock{mutex_};
        room_.wait(lock, [&] {
            return isClosed_ ||
                   (changes_.size() < options_.maxWaiting && waitingBytes_ < options_.maxBytes);
        });
        refuseIfClosed();
        waitingBytes_ += change.bytes();
        changes_.push_back(std::move(change));
        work_.notify_one();
        return answer;
    }

    std::future<void> backup(std::filesystem::path file) {
        std::lock_guard const lock{mutex_};
        refuseIfClosed();
        copies_.push_back({std::move(file), {}});
        work_.notify_one();
        return copies_.back().answer.get_future();
    }

    std::uint64_t pending() const noexcept { return count_.load(std::memory_order_acquire); }

    void stop() {
        std::lock_guard const stopping{stopMutex_};
        {
            std::lock_guard const lock{mutex_};
            isClosed_ = true;
            room_.notify_all();
            due_.notify_all();
        }
        for (std::thread& thread : handling_)
            if (thread.joinable()) thread.join();
        {
            std::lock_guard const lock{mutex_};
            isStopping_ = true;
            work_.notify_one();
        }
        if (writer_.joinable()) writer_.join();
        // The writer needs them: they say whether a cancel has won.
        static_cast<void>(timer_.stop());
        static_cast<void>(retryTimer_.stop());
    }

private:
    /// What is near: in the wheel, or its handler runs. Without its row it waits for the next call
    /// of its handler, which has thrown, or for its removal from the file.
    struct Near {
        SharedRow row;
        Timeout timeout;
        unsigned failures = 0;        // of its handler
        Clock::TimePoint nextCall{};  // by retryClock, after a failure
    };

    /// A requested copy of the file.
    struct Copy {
        std::filesystem::path file;
        std::promise<void> answer;
    };

    /// What a group does beside the file, if it is committed.
    struct Effects {
        std::vector<bool> answers;
        std::map<std::int64_t, SharedRow> arms;     // what it brings into the wheel
        std::unordered_set<std::int64_t> disarmed;  // what it has taken out
        std::vector<std::int64_t> dropped;          // was due, and its id is cancelled
        std::int64_t count = 0;                     // of rows: what it adds
    };

    static void checkText(char const* what, std::string const& text, std::size_t least,
                          std::size_t most) {
        requireWithin(std::string{"store: the length of "} + what, text.size(), least, most,
                      " bytes");
    }

    void refuseIfClosed() const {
        if (isClosed_) throw std::logic_error{"store: it was stopped"};
    }

    // ---- the threads that call the handler -----------------------------------------------------

    /// What is due when it stops stays in the file.
    void handle() {
        std::unique_lock lock{mutex_};
        for (;;) {
            due_.wait(lock, [this] { return isClosed_ || !dueRows_.empty(); });
            if (isClosed_) return;
            SharedRow const row = std::move(dueRows_.front());
            dueRows_.pop_front();
            if (row->isDropped) continue;
            lock.unlock();
            std::vector<std::int64_t>& outcome = call(*row);
            lock.lock();
            outcome.push_back(row->key);
            work_.notify_one();
        }
    }

    /// Returns the list where it belongs then.
    std::vector<std::int64_t>& call(Row const& row) {
        TimePoint const deadline = fromFile(row.deadline);
        if (deadline > Clock::systemTime(now())) return early_;
        try {
            handler_({row.id, row.payload, deadline});
            return ended_;
        } catch (...) {
            report(std::current_exception());
            return failed_;
        }
    }

    /// On the timer's thread.
    void handOver(SharedRow const& row) {
        std::lock_guard const lock{mutex_};
        dueRows_.push_back(row);
        due_.notify_one();
    }

    void wake(bool& wish) {
        std::lock_guard const lock{mutex_};
        wish = true;
        work_.notify_one();
    }

    // ---- the writer ----------------------------------------------------------------------------

    void write() {
        std::unique_lock lock{mutex_};
        for (;;) {
            work_.wait(lock, [this] { return hasWork(); });
            bool const isLast =
                isStopping_ && changes_.size() <= options_.maxGroup && copies_.empty();
            std::vector<Change> group = nextGroup();
            std::vector<std::int64_t> const ended = std::exchange(ended_, {});
            std::vector<std::int64_t> const failed = std::exchange(failed_, {});
            std::vector<std::int64_t> const early = std::exchange(early_, {});
            std::vector<std::int64_t> const again = std::exchange(again_, {});
            Copy* const copy = copies_.empty() ? nullptr : &copies_.front();
            hasMore_ = std::exchange(wantsRead_, false) || hasMore_;
            wantsRetry_ = false;
            room_.notify_all();
            lock.unlock();

            for (std::int64_t const key : ended) end(key);
            for (std::int64_t const key : early) armWhenEarly(key);
            commit(group);
            for (std::int64_t const key : failed) retry(key);
            waiting_.insert(waiting_.end(), again.begin(), again.end());
            callAgain();
            if (hasMore_ && hasRoom()) tryToRead();
            bool const isCopied = copy != nullptr && copyOn(*copy);

            lock.lock();
            if (isCopied) copies_.pop_front();
            if (isLast && !wantsRetry_) return;
        }
    }

    bool hasWork() const {
        return !changes_.empty() || !ended_.empty() || !failed_.empty() || !early_.empty() ||
               !again_.empty() || !copies_.empty() || wantsRead_ || wantsRetry_ || isStopping_;
    }

    std::vector<Change> nextGroup() {
        auto const end = changes_.begin() +
                         static_cast<std::ptrdiff_t>(std::min(changes_.size(), options_.maxGroup));
        std::vector<Change> group{std::make_move_iterator(changes_.begin()),
                                  std::make_move_iterator(end)};
        changes_.erase(changes_.begin(), end);
        for (Change const& change : group) waitingBytes_ -= change.bytes();
        return group;
    }

    /// One transaction for what was asked for, and for what has ended, or a part of that. If the
    /// disk refuses it, all is as before: callers get the error, and what has ended is tried again.
    void commit(std::vector<Change>& group) {
        if (group.empty() && unwritten_.empty()) return;
        Effects effects;
        auto const removed = unwritten_.end() - static_cast<std::ptrdiff_t>(
                                                    std::min(unwritten_.size(), removalsAtOnce_));
        try {
            Transaction transaction{table_->database()};
            std::for_each(removed, unwritten_.end(),
                          [&](std::int64_t key) { remove(key, effects); });
            for (Change const& change : group) effects.answers.push_back(apply(change, effects));
            transaction.commit();
        } catch (...) {
            std::exception_ptr const error = std::current_exception();
            for (std::int64_t const key : effects.disarmed) armAgain(key);
            makeRoom();
            for (Change& change : group) change.answer.set_exception(error);
            if (group.empty()) report(error);
            return;
        }
        std::for_each(removed, unwritten_.end(), [&](std::int64_t key) { forget(key); });
        unwritten_.erase(removed, unwritten_.end());
        removalsAtOnce_ = std::min(options_.maxGroup, removalsAtOnce_ * 2);
        if (!unwritten_.empty()) wake(wantsRetry_);
        // After what the handlers did: a thread that sees 0 may look at that.
        count_.fetch_add(static_cast<std::uint64_t>(effects.count), std::memory_order_release);
        for (std::int64_t const key : effects.disarmed) forget(key);
        for (std::int64_t const key : effects.dropped) drop(key);
        for (auto const& [key, row] : effects.arms) arm(row);
        for (std::size_t i = 0; i < group.size(); ++i)
            group[i].answer.set_value(effects.answers[i]);
    }

    /// After a refusal. What it has written would keep its place in the log, and a smaller commit
    /// may still fit.
    void makeRoom() {
        removalsAtOnce_ = std::max<std::size_t>(removalsAtOnce_ / 2, 1);
        try {
            table_->emptyLog();
        } catch (StoreError const&) {  // there is no room for that either
        }
        if (!unwritten_.empty()) tryToWakeAfter(delay(), wantsRetry_, retry_);
    }

    /// A row that is due is not pending. It stays until its handler has run, whatever is scheduled
    /// meanwhile, so its id may have several. A cancel that answers true ends them all.
    bool apply(Change const& change, Effects& effects) {
        std::vector<std::int64_t> const keys = table_->keysOf(change.id);
        if (keys.empty()) {
            if (change.kind == Change::Kind::schedule) insert(change, effects);
            return false;
        }
        std::int64_t const newest = keys.front();
        bool const wasPending = disarm(newest, effects);
        switch (change.kind) {
            case Change::Kind::schedule:
                if (wasPending) remove(newest, effects);
                insert(change, effects);
                break;
            case Change::Kind::reschedule:
                if (!wasPending) break;
                table_->move(newest, change.deadline);
                if (isNear(change.deadline, newest)) effects.arms[newest] = table_->read(newest);
                break;
            case Change::Kind::cancel:
                if (!wasPending) break;
                for (std::int64_t const key : keys) {
                    if (key != newest && !disarm(key, effects)) effects.dropped.push_back(key);
                    remove(key, effects);
                }
                break;
        }
        return wasPending;
    }

    void insert(Change const& change, Effects& effects) {
        std::int64_t const key = table_->insert(change.id, change.deadline, change.payload);
        ++effects.count;
        if (isNear(change.deadline, key))
            effects.arms[key] =
                std::make_shared<Row const>(Row{key, change.deadline, change.id, change.payload});
    }

    void remove(std::int64_t key, Effects& effects) {
        effects.count -= table_->remove(key) ? 1 : 0;
    }

    /// False if it is due, or its handler has run.
    bool disarm(std::int64_t key, Effects& effects) {
        effects.arms.erase(key);
        if (effects.disarmed.contains(key)) return true;
        auto const found = near_.find(key);
        if (found == near_.end()) return true;  // far, or not armed yet
        if (!found->second.timeout.cancel()) return false;
        effects.disarmed.insert(key);
        return true;
    }

    /// Its handler is not called, unless it runs. Then it is not called again.
    void drop(std::int64_t key) {
        std::lock_guard const lock{mutex_};
        if (SharedRow const& row = near_.at(key).row) row->isDropped = true;
        forget(key);
    }

    bool isNear(std::int64_t deadline, std::int64_t key) const {
        return std::pair{deadline, key} <= end_;
    }

    // ---- the wheel -----------------------------------------------------------------------------

    void arm(SharedRow const& row) {
        Near& near = near_[row->key];
        hold(near, row);
        armByDeadline(near);
    }

    void armByDeadline(Near& near) {
        place(near, timer_, Clock::wallTime(fromFile(near.row->deadline)),
              [this, row = near.row] { handOver(row); });
    }

    void armForNextCall(std::int64_t key, Near& near) {
        place(near, retryTimer_, near.nextCall, [this, key] { askAgain(key); });
    }

    /// A commit that has taken it out was refused.
    void armAgain(std::int64_t key) {
        Near& near = near_.at(key);
        if (near.failures == 0)
            armByDeadline(near);
        else
            armForNextCall(key, near);
    }

    /// The clock was set back.
    void armWhenEarly(std::int64_t key) {
        auto const found = near_.find(key);
        if (found == near_.end()) return;
        SharedRow const row = found->second.row;
        forget(key);
        arm(row);
    }

    template <class Task>
    void place(Near& near, SystemTimer& timer, Clock::TimePoint time, Task task) {
        near.timeout = {};
        try {
            near.timeout = timer.newTimeout(std::move(task), time);
        } catch (...) {
            report(std::current_exception());  // what is in the file waits for the next start
        }
    }

    // ---- what is in memory ---------------------------------------------------------------------

    Amount& amountOf(Near const& near) { return near.failures == 0 ? held_ : called_; }

    void hold(Near& near, SharedRow const& row) {
        near.row = row;
        Amount& amount = amountOf(near);
        ++amount.rows;
        amount.bytes += row->bytes();
    }

    void release(Near& near) {
        if (!near.row) return;
        Amount& amount = amountOf(near);
        --amount.rows;
        amount.bytes -= near.row->bytes();
        near.row = {};
    }

    void forget(std::int64_t key) {
        auto const found = near_.find(key);
        if (found == near_.end()) return;
        release(found->second);
        if (found->second.failures > 0) --retrying_;
        near_.erase(found);
    }

    /// Its handler has returned. Until it is removed from the file, its id may not find it pending.
    void end(std::int64_t key) {
        unwritten_.push_back(key);
        auto const found = near_.find(key);
        if (found == near_.end()) return;
        release(found->second);
        found->second.timeout = {};
    }

    /// What keeps its place here counts, too: what could not be removed, and the keys of those
    /// whose handlers have thrown. If all of them do, reading on would not help.
    bool hasRoom() const {
        return held_.rows <= options_.maxRead / 2 && held_.bytes <= options_.maxBytes / 2 &&
               retrying_ + unwritten_.size() < options_.maxRead;
    }

    // ---- handlers that have thrown -------------------------------------------------------------

    void retry(std::int64_t key) {
        auto const found = near_.find(key);
        if (found == near_.end()) return;
        Near& near = found->second;
        release(near);
        if (near.failures == 0) ++retrying_;
        constexpr unsigned kMostDoublings = 6;
        near.nextCall = options_.retryClock.get().now() +
                        delay() * (1 << std::min(near.failures, kMostDoublings));
        ++near.failures;
        armForNextCall(key, near);
    }

    /// On the timer's thread.
    void askAgain(std::int64_t key) {
        std::lock_guard const lock{mutex_};
        again_.push_back(key);
        work_.notify_one();
    }

    /// Reads and hands over what waits for its next call, as far as memory has room.
    void callAgain() {
        for (; !waiting_.empty(); waiting_.pop_front()) {
            if (called_.rows >= options_.maxRead || called_.bytes >= options_.maxBytes) return;
            std::int64_t const key = waiting_.front();
            auto const found = near_.find(key);
            if (found == near_.end()) continue;
            try {
                SharedRow const row = table_->read(key);
                hold(found->second, row);
                handOver(row);
            } catch (...) {
                report(std::current_exception());
                retry(key);
            }
        }
    }

    std::chrono::nanoseconds delay() const { return options_.retryDelay.nanoseconds(); }

    /// Wakes the writer with a wish, once: an earlier wake-up for it is cancelled.
    void wakeAt(SystemTimer& timer, Clock::TimePoint time, bool& wish, Timeout& wakeUp) {
        wakeUp.cancel();
        wakeUp = timer.newTimeout([this, &wish] { wake(wish); }, time);
    }

    void tryToWakeAfter(std::chrono::nanoseconds delay, bool& wish, Timeout& wakeUp) {
        try {
            wakeAt(retryTimer_, options_.retryClock.get().now() + delay, wish, wakeUp);
        } catch (...) {
            report(std::current_exception());
        }
    }

    Clock::TimePoint now() const { return options_.clock.get().now(); }

    // ---- what comes near -----------------------------------------------------------------------

    void tryToRead() {
        try {
            readNear();
        } catch (...) {
            report(std::current_exception());
            tryToWakeAfter(delay(), wantsRead_, reading_);
        }
    }

    /// Reads what is due within the horizon, or a portion of it, and looks again after half of it.
    void readNear() {
        Clock::TimePoint const time = now();
        Duration const horizon = options_.horizon;
        std::int64_t const until = deadlineToMilliseconds(Clock::systemTime(time)) +
                                   std::chrono::ceil<milliseconds>(horizon.nanoseconds()).count();
        Amount const room{options_.maxRead - std::min(options_.maxRead, held_.rows),
                          options_.maxBytes - std::min(options_.maxBytes, held_.bytes)};
        std::vector<SharedRow> rows;
        std::exception_ptr error;
        hasMore_ = false;
        try {
            hasMore_ = table_->readNear(end_, until, room, rows);
        } catch (...) {
            error = std::current_exception();
        }
        for (SharedRow const& row : rows) arm(row);
        if (!rows.empty() && (error || hasMore_)) end_ = {rows.back()->deadline, rows.back()->key};
        if (error) std::rethrow_exception(error);
        if (!hasMore_) end_ = std::max(end_, {until - 1, std::numeric_limits<std::int64_t>::max()});
        wakeAt(timer_, time + horizon.nanoseconds() / 2, wantsRead_, reading_);
    }

    // ---- copies --------------------------------------------------------------------------------

    /// Copies a part, so that changes need not wait for the whole. True when nothing is left to do.
    bool copyOn(Copy& copy) {
        constexpr int kPages = 256;  // 1 MiB
        try {
            if (!backup_) backup_.emplace(table_->database(), copy.file, options_.fileSystem);
            if (backup_->step(kPages)) return false;
            backup_.reset();
            copy.answer.set_value();
        } catch (...) {
            backup_.reset();
            copy.answer.set_exception(std::current_exception());
        }
        return true;
    }

    void report(std::exception_ptr const& error) {
        std::lock_guard const lock{reportMutex_};
        if (!options_.errorHandler) return printError(error);
        options_.errorHandler(error);
    }

    Handler const handler_;
    DurableTimerOptions const options_;
    std::unique_ptr<Table> const table_;
    std::atomic<std::uint64_t> count_{0};

    std::mutex stopMutex_;    // of those who stop it
    std::mutex reportMutex_;  // of the error handler

    std::mutex mutex_;  // of what follows
    std::condition_variable work_;
    std::condition_variable room_;
    std::condition_variable due_;
    std::deque<SharedRow> dueRows_;
    std::deque<Change> changes_;
    std::vector<std::int64_t> ended_;
    std::vector<std::int64_t> failed_;
    std::vector<std::int64_t> early_;  // were due, but the clock was set back
    std::vector<std::int64_t> again_;  // have thrown, and are to be called again
    std::size_t waitingBytes_ = 0;     // of changes_
    std::deque<Copy> copies_;
    bool wantsRead_ = false;
    bool wantsRetry_ = false;
    bool isClosed_ = false;
    bool isStopping_ = false;

    // The writer's own.
    std::unordered_map<std::int64_t, Near> near_;
    Amount held_;                          // the rows of near_ whose handlers have not thrown
    Amount called_;                        // and those whose handlers are called again
    std::size_t retrying_ = 0;             // of near_, whose handlers have thrown
    std::deque<std::int64_t> waiting_;     // were in again_, and memory had no room
    std::vector<std::int64_t> unwritten_;  // have ended, and are still in the file
    std::size_t removalsAtOnce_ = options_.maxGroup;
    static constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
    /// What is not beyond this, by deadline and key, is in near_.
    std::pair<std::int64_t, std::int64_t> end_{kLowest, kLowest};
    bool hasMore_ = false;
    Timeout reading_;
    Timeout retry_;
    std::optional<Backup> backup_;

    SystemTimer timer_;
    SystemTimer retryTimer_;
    std::thread writer_;
    std::vector<std::thread> handling_;
};

DurableTimer::DurableTimer(std::filesystem::path const& file, Handler handler,
                           DurableTimerOptions options) {
    if (!handler) refuseOption("store: handler", "empty", "something that can be called");
    checkOptions(options);
    store_ = std::make_unique<Store>(file, std::move(handler), std::move(options));
    store_->start();
}

// While store_ is still there: handlers that run may call the timer.
DurableTimer::~DurableTimer() { stop(); }

std::future<bool> DurableTimer::schedule(std::string id, TimePoint deadline, std::string payload) {
    return store_->append({Change::Kind::schedule,
                           std::move(id),
                           deadlineToMilliseconds(deadline),
                           std::move(payload),
                           {}});
}

std::future<bool> DurableTimer::reschedule(std::string id, TimePoint deadline) {
    return store_->append(
        {Change::Kind::reschedule, std::move(id), deadlineToMilliseconds(deadline), {}, {}});
}

std::future<bool> DurableTimer::cancel(std::string id) {
    return store_->append({Change::Kind::cancel, std::move(id), 0, {}, {}});
}

std::future<void> DurableTimer::backup(std::filesystem::path file) {
    return store_->backup(std::move(file));
}

std::uint64_t DurableTimer::pendingTimeouts() const noexcept { return store_->pending(); }

void DurableTimer::stop() { store_->stop(); }

}  // namespace store
}  // namespace v1
}  // namespace timingwheel
