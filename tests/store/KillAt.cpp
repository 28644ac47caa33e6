#include "KillAt.h"

#include <atomic>
#include <csignal>
#include <cstddef>
#include <sqlite3.h>

namespace timingwheel::test {

namespace {

sqlite3_vfs* theSystems = nullptr;
std::uint64_t theCall = 0;
bool isInTheMiddle = false;
std::atomic<std::uint64_t> calls{0};

/// The system's file lies behind it.
struct OpenFile {
    sqlite3_file base;
    sqlite3_file* systems() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
sqlite3_file* systems(sqlite3_file* file) { return reinterpret_cast<OpenFile*>(file)->systems(); }

bool isTheCall() { return ++calls == theCall; }

void mayDie() {
    if (isTheCall()) std::raise(SIGKILL);
}

int closeFile(sqlite3_file* file) { return systems(file)->pMethods->xClose(systems(file)); }
int readFile(sqlite3_file* file, void* bytes, int count, sqlite3_int64 from) {
    return systems(file)->pMethods->xRead(systems(file), bytes, count, from);
}
int writeFile(sqlite3_file* file, void const* bytes, int count, sqlite3_int64 to) {
    if (isTheCall()) {
        if (isInTheMiddle) systems(file)->pMethods->xWrite(systems(file), bytes, count / 2, to);
        std::raise(SIGKILL);
    }
    return systems(file)->pMethods->xWrite(systems(file), bytes, count, to);
}
int truncateFile(sqlite3_file* file, sqlite3_int64 size) {
    mayDie();
    return systems(file)->pMethods->xTruncate(systems(file), size);
}
int syncFile(sqlite3_file* file, int flags) {
    mayDie();
    return systems(file)->pMethods->xSync(systems(file), flags);
}
int sizeOfFile(sqlite3_file* file, sqlite3_int64* size) {
    return systems(file)->pMethods->xFileSize(systems(file), size);
}
int lockFile(sqlite3_file* file, int kind) {
    return systems(file)->pMethods->xLock(systems(file), kind);
}
int unlockFile(sqlite3_file* file, int kind) {
    return systems(file)->pMethods->xUnlock(systems(file), kind);
}
int isReserved(sqlite3_file* file, int* result) {
    return systems(file)->pMethods->xCheckReservedLock(systems(file), result);
}
int control(sqlite3_file* file, int what, void* argument) {
    return systems(file)->pMethods->xFileControl(systems(file), what, argument);
}
int sectorSize(sqlite3_file* file) { return systems(file)->pMethods->xSectorSize(systems(file)); }
int characteristics(sqlite3_file* file) {
    return systems(file)->pMethods->xDeviceCharacteristics(systems(file));
}

// Version 1: no shared memory, which an exclusive lock does without.
sqlite3_io_methods const kMethods{.iVersion = 1,
                                  .xClose = closeFile,
                                  .xRead = readFile,
                                  .xWrite = writeFile,
                                  .xTruncate = truncateFile,
                                  .xSync = syncFile,
                                  .xFileSize = sizeOfFile,
                                  .xLock = lockFile,
                                  .xUnlock = unlockFile,
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

int openFile(sqlite3_vfs*, char const* name, sqlite3_file* file, int flags, int* outFlags) {
    int const result = theSystems->xOpen(theSystems, name, systems(file), flags, outFlags);
    file->pMethods = systems(file)->pMethods == nullptr ? nullptr : &kMethods;
    return result;
}

int removeFile(sqlite3_vfs*, char const* name, int syncsFolder) {
    mayDie();
    return theSystems->xDelete(theSystems, name, syncsFolder);
}

}  // namespace

void killAt(std::uint64_t call, bool inTheMiddle) {
    theSystems = sqlite3_vfs_find(nullptr);
    theCall = call;
    isInTheMiddle = inTheMiddle;
    static sqlite3_vfs one = *theSystems;
    one.zName = "kill-at";
    one.pNext = nullptr;
    one.szOsFile = static_cast<int>(sizeof(OpenFile)) + theSystems->szOsFile;
    one.xOpen = openFile;
    one.xDelete = removeFile;
    sqlite3_vfs_register(&one, 1);
}

std::uint64_t callsUntilNow() { return calls; }

}  // namespace timingwheel::test
