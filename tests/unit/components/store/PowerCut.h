#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

/// A file system for SQLite, in memory, whose power can be cut.
///
/// What was written and not synced then is there or not: each write by chance, the last of a file
/// perhaps in part, or none, or all. So are files that were never synced. Until `restore()` every
/// call fails.
namespace timingwheel::test {

class PowerCut {
public:
    /// What becomes of writes that were not synced.
    enum class Unsynced { byChance, lost, there };

    explicit PowerCut(std::uint64_t seed, Unsynced unsynced = Unsynced::byChance);
    PowerCut(PowerCut const&) = delete;
    PowerCut& operator=(PowerCut const&) = delete;
    ~PowerCut();

    /// SQLite's name for it: at most one is there at a time.
    static constexpr char const* kName = "power-cut";

    /// Cuts the power at the n-th write, sync, truncation or removal, which is not done.
    void cutAfter(std::uint64_t calls);
    bool isCut() const;
    /// The power comes back, and there is room: files are as they were found.
    void restore();
    /// From now, or from the n-th such call, the disk is full: they fail and change nothing.
    void fill(bool isFull);
    void fillAfter(std::uint64_t calls);
    /// From now, all files together may grow by so much. A write that goes beyond is done in part.
    void leave(std::size_t bytes);
    /// Neither cut nor full.
    bool isWell() const;
    /// Whoever opens a file may only read it.
    void protect(bool isProtected);
    /// Nobody makes a new file.
    void protectFolder(bool isProtected);
    /// Writes, syncs, truncations and removals until now.
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
    /// Takes room for so many bytes, or what there is of it.
    std::size_t take(std::size_t bytes);
    void giveBack(std::size_t bytes) { room_ += bytes; }
    std::uint64_t syncs() const { return syncs_; }
    void countSync() { ++syncs_; }
    bool isProtected() const { return isProtected_; }
    bool isFolderProtected() const { return isFolderProtected_; }

private:
    void cut();
    bool isKept();
    void apply(std::string& content, Write const& write, std::size_t bytes);

    std::mutex mutable mutex_;
    std::mt19937_64 random_;
    Unsynced unsynced_;
    std::map<std::string, File> files_;
    std::uint64_t calls_ = 0;
    std::uint64_t cutAt_ = 0;
    bool isCut_ = false;
    std::uint64_t fullAt_ = 0;
    bool isFull_ = false;
    std::size_t room_ = std::numeric_limits<std::size_t>::max() / 2;
    std::uint64_t syncs_ = 0;
    bool isProtected_ = false;
    bool isFolderProtected_ = false;
};

}  // namespace timingwheel::test
