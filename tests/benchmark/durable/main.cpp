// What timeouts that survive the process cost, as JSON.
//
// timingwheel-benchmark-durable schedule <file> <group> <count>  changes a second, so many a commit
// timingwheel-benchmark-durable raw <file> <group> <count>       the same rows by SQLite alone
// timingwheel-benchmark-durable deliver <file> <count>           all are due at once
// timingwheel-benchmark-durable late <file> <rate> <count>       so many are due in a second
// timingwheel-benchmark-durable make <file> <count>              due within the next 30 days
// timingwheel-benchmark-durable start <file>                     what it takes to start with that

#include <timingwheel/store/DurableTimer.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>
#include <sqlite3.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;
using timingwheel::store::DurableTimeout;
using timingwheel::store::DurableTimer;
using timingwheel::store::DurableTimerOptions;

constexpr std::size_t kPayload = 40;

double since(steady_clock::time_point begin) {
    return std::chrono::duration<double>{steady_clock::now() - begin}.count();
}

std::string idOf(std::uint64_t number) {
    char id[32];
    std::snprintf(id, sizeof id, "order-%010llu", static_cast<unsigned long long>(number));
    return id;
}

/// Of this process, in MB, by /proc/self/status.
double memory(std::string const& what) {
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(what + ':')) return std::stod(line.substr(what.size() + 1)) / 1'024;
    return 0;
}

double sizeOf(std::string const& file) {
    return static_cast<double>(std::filesystem::file_size(file)) / 1e6;
}

void removeFile(std::string const& file) {
    for (char const* ending : {"", "-wal", "-shm", "-journal"})
        std::filesystem::remove(file + ending);
}

/// Schedules with as many waiting as keep each group full.
template <class Deadline>
double schedule(DurableTimer& timer, std::size_t group, std::uint64_t count, Deadline deadline) {
    std::string const payload(kPayload, 'x');
    auto const begin = steady_clock::now();
    std::deque<std::future<bool>> answers;
    for (std::uint64_t i = 0; i < count; ++i) {
        answers.push_back(timer.schedule(idOf(i), deadline(), payload));
        for (; answers.size() > 2 * group; answers.pop_front()) answers.front().get();
    }
    for (auto& answer : answers) answer.get();
    return since(begin);
}

DurableTimerOptions groupsOf(std::size_t group) {
    return {.maxGroup = group, .maxWaiting = 2 * group + 1};
}

auto within30Days() {
    return [random = std::mt19937_64{1}, begin = system_clock::now()]() mutable {
        constexpr std::uint64_t kMilliseconds = 30ULL * 24 * 3'600 * 1'000;
        return begin + 1h + std::chrono::milliseconds{random() % kMilliseconds};
    };
}

void nothing(DurableTimeout const&) {}

void measureSchedule(std::string const& file, std::size_t group, std::uint64_t count) {
    DurableTimer timer{file, nothing, groupsOf(group)};
    double const seconds = schedule(timer, group, count, within30Days());
    if (timer.pendingTimeouts() != count) throw std::runtime_error{"some are missing"};
    std::printf("{\"perSecond\": %.1f}\n", static_cast<double>(count) / seconds);
}

// ---- SQLite alone ------------------------------------------------------------------------------

void execute(sqlite3* connection, char const* sql) {
    if (sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        throw std::runtime_error{sqlite3_errmsg(connection)};
}

void measureRaw(std::string const& file, std::size_t group, std::uint64_t count) {
    sqlite3* connection = nullptr;
    sqlite3_stmt* insert = nullptr;
    if (sqlite3_open(file.c_str(), &connection) != SQLITE_OK)
        throw std::runtime_error{"no database"};
    execute(connection,
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
            "PRAGMA synchronous = FULL;"
            "CREATE TABLE timeout (key INTEGER PRIMARY KEY AUTOINCREMENT,"
            " id BLOB NOT NULL UNIQUE, deadline INTEGER NOT NULL, payload BLOB NOT NULL);"
            "CREATE INDEX timeout_by_deadline ON timeout (deadline)");
    sqlite3_prepare_v2(connection,
                       "INSERT OR REPLACE INTO timeout (id, deadline, payload) VALUES (?1, ?2, ?3)",
                       -1, &insert, nullptr);
    std::string const payload(kPayload, 'x');
    auto deadline = within30Days();
    auto const begin = steady_clock::now();
    for (std::uint64_t i = 0; i < count;) {
        execute(connection, "BEGIN IMMEDIATE");
        for (std::size_t j = 0; j < group && i < count; ++j, ++i) {
            std::string const id = idOf(i);
            std::int64_t const time = deadline().time_since_epoch() / 1ms;
            sqlite3_bind_blob(insert, 1, id.data(), static_cast<int>(id.size()), SQLITE_TRANSIENT);
            sqlite3_bind_int64(insert, 2, time);
            sqlite3_bind_blob(insert, 3, payload.data(), static_cast<int>(payload.size()),
                              SQLITE_STATIC);
            if (sqlite3_step(insert) != SQLITE_DONE)
                throw std::runtime_error{sqlite3_errmsg(connection)};
            sqlite3_reset(insert);
        }
        execute(connection, "COMMIT");
    }
    std::printf("{\"perSecond\": %.1f}\n", static_cast<double>(count) / since(begin));
    sqlite3_finalize(insert);
    sqlite3_close(connection);
}

// ---- deliveries --------------------------------------------------------------------------------

void measureDeliver(std::string const& file, std::uint64_t count) {
    {
        DurableTimer timer{file, nothing};
        schedule(timer, 10'000, count, [at = system_clock::now() + 1h] { return at; });
    }
    // They are overdue at the start, whenever that is.
    sqlite3* connection = nullptr;
    sqlite3_open(file.c_str(), &connection);
    execute(connection, "UPDATE timeout SET deadline = 1");
    sqlite3_close(connection);
    std::atomic<std::uint64_t> delivered{0};
    auto const begin = steady_clock::now();
    DurableTimer timer{file, [&](DurableTimeout const&) { ++delivered; }};
    while (timer.pendingTimeouts() > 0) std::this_thread::sleep_for(1ms);
    double const seconds = since(begin);
    if (delivered != count) throw std::runtime_error{"some were delivered twice, or not"};
    std::printf("{\"perSecond\": %.1f}\n", static_cast<double>(count) / seconds);
}

void measureLate(std::string const& file, std::uint64_t rate, std::uint64_t count) {
    std::vector<double> late;
    {
        DurableTimer timer{file, [&](DurableTimeout const& timeout) {
                               std::chrono::duration<double, std::milli> const by =
                                   system_clock::now() - timeout.deadline;
                               late.push_back(by.count());
                           }};
        // Far enough for all to be there before the first is due.
        schedule(timer, 10'000, count, [next = system_clock::now() + 3s, rate]() mutable {
            return next += std::chrono::nanoseconds{1'000'000'000 / rate};
        });
        while (timer.pendingTimeouts() > 0) std::this_thread::sleep_for(10ms);
    }
    if (late.size() != count) throw std::runtime_error{"some were delivered twice, or not"};
    std::sort(late.begin(), late.end());
    if (late.front() < 0) throw std::runtime_error{"one was early"};
    std::printf("{\"half\": %.3f, \"hundredth\": %.3f, \"worst\": %.3f}\n", late[count / 2],
                late[count - 1 - count / 100], late.back());
}

// ---- many --------------------------------------------------------------------------------------

void measureMake(std::string const& file, std::uint64_t count) {
    auto const begin = steady_clock::now();
    {
        DurableTimer timer{file, nothing};
        schedule(timer, 10'000, count, within30Days());
    }
    std::printf("{\"seconds\": %.2f, \"megabytes\": %.1f}\n", since(begin), sizeOf(file));
}

void measureStart(std::string const& file) {
    double const before = memory("VmRSS");
    auto const begin = steady_clock::now();
    DurableTimer timer{file, nothing};
    double const seconds = since(begin);
    std::printf("{\"seconds\": %.3f, \"memory\": %.2f, \"pending\": %llu}\n", seconds,
                memory("VmHWM") - before, static_cast<unsigned long long>(timer.pendingTimeouts()));
}

std::uint64_t numberOf(char const* text) { return std::strtoull(text, nullptr, 10); }

void measure(std::string const& what, std::string const& file, char** numbers, int count) {
    if (what == "start" && count == 0) return measureStart(file);
    removeFile(file);
    if (what == "schedule" && count == 2)
        measureSchedule(file, numberOf(numbers[0]), numberOf(numbers[1]));
    else if (what == "raw" && count == 2)
        measureRaw(file, numberOf(numbers[0]), numberOf(numbers[1]));
    else if (what == "deliver" && count == 1)
        measureDeliver(file, numberOf(numbers[0]));
    else if (what == "late" && count == 2)
        measureLate(file, numberOf(numbers[0]), numberOf(numbers[1]));
    else if (what == "make" && count == 1)
        return measureMake(file, numberOf(numbers[0]));
    else
        throw std::runtime_error{"that is not understood"};
    removeFile(file);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        if (count < 3) throw std::runtime_error{"what is to be measured, with which file?"};
        measure(arguments[1], arguments[2], arguments + 3, count - 3);
        return 0;
    } catch (std::exception const& exception) {
        std::fprintf(stderr, "%s: %s\n", arguments[0], exception.what());
        return 1;
    }
}
