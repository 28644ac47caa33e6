// Which mistake this process makes, and which it comes by. A library of its own, which no sanitizer
// and no simulation looks into: what it reads is no access of the program's.
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" bool timingwheelMutant(int number) noexcept;
extern "C" bool timingwheelSkipLocks(int more) noexcept;

namespace {

int theNumber = 0;
unsigned char* theReached = nullptr;  // a byte for each; shared, as some tests fork
thread_local int theSkips = 0;

/// Before any static object of the program asks.
[[gnu::constructor]] void begin() {
    if (char const* const number = std::getenv("TIMINGWHEEL_MUTANT")) theNumber = std::atoi(number);
    if (char const* const file = std::getenv("TIMINGWHEEL_MUTANTS_REACHED")) {
        int const descriptor = open(file, O_RDWR | O_CLOEXEC);
        if (descriptor < 0) std::abort();
        off_t const size = lseek(descriptor, 0, SEEK_END);
        void* const at = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                              MAP_SHARED, descriptor, 0);
        if (at == MAP_FAILED) std::abort();
        close(descriptor);
        theReached = static_cast<unsigned char*>(at);
    }
}

}  // namespace

bool timingwheelMutant(int number) noexcept {
    if (theReached != nullptr) theReached[number] = 1;
    return number == theNumber;
}

bool timingwheelSkipLocks(int more) noexcept {
    theSkips += more;
    return theSkips > 0;
}
