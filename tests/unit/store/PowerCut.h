#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

/// A file system for SQLite, in memory, whose power can be cut.
///
/// What was written and not synced then is there or not, each write by chance, the last of a file
/// perhaps in part. Files that were never synced are there or not. Until `restore()` every call
/// fails.
namespace timingwheel::test {

class PowerCut {
public:
    explicit PowerCut(std::uint64_t seed);
    PowerCut(PowerCut const&) = delete;
    PowerCut& operator=(PowerCut const&) = delete;
    ~PowerCut();

    /// SQLite's name for it: at most one is there at a time.
    static constexpr char const* kName = "power-cut";

    /// Cuts the power at the so-manieth write or sync from now.
    void cutAfter(std::uint64_t calls);
    bool isCut() const;
    /// The power comes back: files are as they were found.
    void restore();
    /// From now on the disk is full: writes fail, and change nothing.
    void fill(bool isFull);
    /// Writes and syncs until now.
    std::uint64_t calls() const;

    // What follows is for SQLite's functions.
    struct Write {
        std::size_t offset;
        std::string bytes;
        bool isTruncation;  // to offset
    };
    struct File {
        std::string content;
        std::string synced;
        std::vector<Write> unsynced;
        bool isOnDisk = false;
    };
    std::mutex& mutex() { return mutex_; }
    std::map<std::string, File>& files() { return files_; }
    /// SQLITE_OK, or why the next write or sync fails.
    int mayWrite();
    int mayRead() const;

private:
    void cut();
    void apply(std::string& content, Write const& write, std::size_t bytes);

    std::mutex mutable mutex_;
    std::mt19937_64 random_;
    std::map<std::string, File> files_;
    std::uint64_t calls_ = 0;
    std::uint64_t cutAt_ = 0;
    bool isCut_ = false;
    bool isFull_ = false;
};

}  // namespace timingwheel::test
