#include "PowerCut.h"

#include <algorithm>
#include <cstring>
#include <sqlite3.h>
#include <stdexcept>

namespace timingwheel::test {

namespace {

PowerCut* thePowerCut = nullptr;

struct OpenFile {
    sqlite3_file base;
    std::string* name;
};

OpenFile& open(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }

/// The file, with the lock held.
struct Access {
    explicit Access(sqlite3_file* handle)
        : lock{thePowerCut->mutex()}, file{thePowerCut->files()[*open(handle).name]} {}
    std::lock_guard<std::mutex> lock;
    PowerCut::File& file;
};

int closeFile(sqlite3_file* handle) {
    delete open(handle).name;
    return SQLITE_OK;
}

int readFile(sqlite3_file* handle, void* bytes, int count, sqlite3_int64 from) {
    Access const access{handle};
    if (int const error = thePowerCut->mayRead()) return error;
    std::memset(bytes, 0, static_cast<std::size_t>(count));
    auto const size = static_cast<sqlite3_int64>(access.file.content.size());
    sqlite3_int64 const there = std::clamp<sqlite3_int64>(size - from, 0, count);
    std::memcpy(bytes, access.file.content.data() + std::min(from, size),
                static_cast<std::size_t>(there));
    return there == count ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

void write(std::string& content, std::size_t offset, char const* bytes, std::size_t count) {
    if (content.size() < offset + count) content.resize(offset + count);
    std::memcpy(content.data() + offset, bytes, count);
}

int writeFile(sqlite3_file* handle, void const* bytes, int count, sqlite3_int64 to) {
    Access const access{handle};
    if (int const error = thePowerCut->mayWrite()) return error;
    auto const offset = static_cast<std::size_t>(to);
    auto const wanted = static_cast<std::size_t>(count);
    std::size_t const there = access.file.content.size();
    std::size_t const growth = offset + wanted > there ? offset + wanted - there : 0;
    std::size_t const refused = growth - thePowerCut->take(growth);
    std::size_t const size = wanted - std::min(wanted, refused);
    if (size > 0) {
        write(access.file.content, offset, static_cast<char const*>(bytes), size);
        access.file.unsynced.push_back(
            {offset, std::string{static_cast<char const*>(bytes), size}, false});
    }
    return refused > 0 ? SQLITE_FULL : SQLITE_OK;
}

int truncateFile(sqlite3_file* handle, sqlite3_int64 size) {
    Access const access{handle};
    if (int const error = thePowerCut->mayWrite()) return error;
    std::size_t const before = access.file.content.size();
    access.file.content.resize(static_cast<std::size_t>(size));
    thePowerCut->giveBack(before - std::min(before, access.file.content.size()));
    access.file.unsynced.push_back({static_cast<std::size_t>(size), {}, true});
    return SQLITE_OK;
}

// As on macOS, an ordinary sync leaves it in the disk's cache.
int syncFile(sqlite3_file* handle, int flags) {
    Access const access{handle};
    if (int const error = thePowerCut->mayWrite()) return error;
    thePowerCut->countSync();
    if ((flags & SQLITE_SYNC_FULL) != SQLITE_SYNC_FULL) return SQLITE_OK;
    for (PowerCut::Write const& one : access.file.unsynced) {
        if (one.isTruncation)
            access.file.synced.resize(one.offset);
        else
            write(access.file.synced, one.offset, one.bytes.data(), one.bytes.size());
    }
    access.file.unsynced.clear();
    access.file.isOnDisk = true;
    return SQLITE_OK;
}

int sizeOfFile(sqlite3_file* handle, sqlite3_int64* size) {
    Access const access{handle};
    if (int const error = thePowerCut->mayRead()) return error;
    *size = static_cast<sqlite3_int64>(access.file.content.size());
    return SQLITE_OK;
}

// One process, one connection: nobody else wants a lock.
int lockFile(sqlite3_file*, int) { return SQLITE_OK; }
int isReserved(sqlite3_file*, int* result) {
    *result = 0;
    return SQLITE_OK;
}
int control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sectorSize(sqlite3_file*) { return 512; }
int characteristics(sqlite3_file*) { return 0; }

sqlite3_io_methods const kMethods{.iVersion = 1,
                                  .xClose = closeFile,
                                  .xRead = readFile,
                                  .xWrite = writeFile,
                                  .xTruncate = truncateFile,
                                  .xSync = syncFile,
                                  .xFileSize = sizeOfFile,
                                  .xLock = lockFile,
                                  .xUnlock = lockFile,
                                  .xCheckReservedLock = isReserved,
                                  .xFileControl = control,
                                  .xSectorSize = sectorSize,
                                  .xDeviceCharacteristics = characteristics,
                                  .xShmMap = nullptr,
                                  .xShmLock = nullptr,
                                  .xShmBarrier = nullptr,
                                  .xShmUnmap = nullptr,
                                  .xFetch = nullptr,
                                  .xUnfetch = nullptr};

int openFile(sqlite3_vfs*, char const* name, sqlite3_file* handle, int flags, int* outFlags) {
    handle->pMethods = nullptr;
    std::lock_guard const lock{thePowerCut->mutex()};
    if (int const error = thePowerCut->mayRead()) return error;
    std::string const path = name == nullptr ? "temporary" : name;
    if ((flags & SQLITE_OPEN_CREATE) == 0 && !thePowerCut->files().contains(path))
        return SQLITE_CANTOPEN;
    if (thePowerCut->isFolderProtected() && !thePowerCut->files().contains(path))
        return SQLITE_READONLY_DIRECTORY;
    thePowerCut->files()[path];
    open(handle).name = new std::string{path};
    handle->pMethods = &kMethods;
    if (outFlags != nullptr) *outFlags = flags;
    if (outFlags != nullptr && thePowerCut->isProtected())
        *outFlags = (flags & ~SQLITE_OPEN_READWRITE) | SQLITE_OPEN_READONLY;
    return SQLITE_OK;
}

int removeFile(sqlite3_vfs*, char const* name, int) {
    std::lock_guard const lock{thePowerCut->mutex()};
    if (int const error = thePowerCut->mayWrite()) return error;
    auto const found = thePowerCut->files().find(name);
    if (found == thePowerCut->files().end()) return SQLITE_IOERR_DELETE_NOENT;
    thePowerCut->giveBack(found->second.content.size());
    thePowerCut->files().erase(found);
    return SQLITE_OK;
}

int accessFile(sqlite3_vfs*, char const* name, int, int* result) {
    std::lock_guard const lock{thePowerCut->mutex()};
    *result = thePowerCut->files().contains(name) ? 1 : 0;
    return SQLITE_OK;
}

int fullPath(sqlite3_vfs*, char const* name, int size, char* path) {
    sqlite3_snprintf(size, path, "%s", name);
    return SQLITE_OK;
}

sqlite3_vfs makeFileSystem() {
    sqlite3_vfs fileSystem = *sqlite3_vfs_find(nullptr);  // time, sleep and randomness
    fileSystem.iVersion = 1;
    fileSystem.szOsFile = sizeof(OpenFile);
    fileSystem.zName = PowerCut::kName;
    fileSystem.pNext = nullptr;
    fileSystem.xOpen = openFile;
    fileSystem.xDelete = removeFile;
    fileSystem.xAccess = accessFile;
    fileSystem.xFullPathname = fullPath;
    return fileSystem;
}

sqlite3_vfs& fileSystem() {
    static sqlite3_vfs one = makeFileSystem();
    return one;
}

}  // namespace

PowerCut::PowerCut(std::uint64_t seed, Unsynced unsynced) : random_{seed}, unsynced_{unsynced} {
    if (thePowerCut != nullptr) throw std::logic_error{"there is a power cut already"};
    thePowerCut = this;
    sqlite3_vfs_register(&fileSystem(), 0);
}

PowerCut::~PowerCut() {
    sqlite3_vfs_unregister(&fileSystem());
    thePowerCut = nullptr;
}

void PowerCut::cutAfter(std::uint64_t calls) {
    std::lock_guard const lock{mutex_};
    cutAt_ = calls_ + calls;
}

bool PowerCut::isCut() const {
    std::lock_guard const lock{mutex_};
    return isCut_;
}

void PowerCut::restore() {
    std::lock_guard const lock{mutex_};
    isCut_ = isFull_ = false;
    cutAt_ = fullAt_ = 0;
}

void PowerCut::fill(bool isFull) {
    std::lock_guard const lock{mutex_};
    isFull_ = isFull;
}

void PowerCut::fillAfter(std::uint64_t calls) {
    std::lock_guard const lock{mutex_};
    fullAt_ = calls_ + calls;
}

void PowerCut::leave(std::size_t bytes) {
    std::lock_guard const lock{mutex_};
    room_ = bytes;
}

std::size_t PowerCut::take(std::size_t bytes) {
    std::size_t const taken = std::min(bytes, room_);
    room_ -= taken;
    return taken;
}

bool PowerCut::isWell() const {
    std::lock_guard const lock{mutex_};
    return !isCut_ && !isFull_;
}

void PowerCut::protect(bool isProtected) {
    std::lock_guard const lock{mutex_};
    isProtected_ = isProtected;
}

void PowerCut::protectFolder(bool isProtected) {
    std::lock_guard const lock{mutex_};
    isFolderProtected_ = isProtected;
}

std::uint64_t PowerCut::calls() const {
    std::lock_guard const lock{mutex_};
    return calls_;
}

int PowerCut::mayWrite() {
    ++calls_;
    if (!isCut_ && cutAt_ != 0 && calls_ >= cutAt_) cut();
    if (isCut_) return SQLITE_IOERR;
    if (fullAt_ != 0 && calls_ >= fullAt_) isFull_ = true;
    return isFull_ ? SQLITE_FULL : SQLITE_OK;
}

int PowerCut::mayRead() const { return isCut_ ? SQLITE_IOERR : SQLITE_OK; }

void PowerCut::cut() {
    isCut_ = true;
    std::erase_if(files_, [&](auto const& file) { return !file.second.isOnDisk && !isKept(); });
    for (auto& [name, file] : files_) {
        for (std::size_t i = 0; i < file.unsynced.size(); ++i) {
            if (!isKept()) continue;
            Write const& write = file.unsynced[i];
            bool const isTorn = unsynced_ == Unsynced::byChance && i + 1 == file.unsynced.size() &&
                                !write.bytes.empty();
            apply(file.synced, write, isTorn ? random_() % write.bytes.size() : write.bytes.size());
        }
        file.content = file.synced;
        file.unsynced.clear();
        file.isOnDisk = true;
    }
}

bool PowerCut::isKept() {
    return unsynced_ == Unsynced::there || (unsynced_ == Unsynced::byChance && random_() % 2 != 0);
}

void PowerCut::apply(std::string& content, Write const& one, std::size_t bytes) {
    if (one.isTruncation) return content.resize(one.offset);
    write(content, one.offset, one.bytes.data(), bytes);
}

}  // namespace timingwheel::test
