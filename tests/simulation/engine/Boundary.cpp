#include "Boundary.h"

#include "Report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <memory>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <utility>
#include <vector>

namespace timingwheel::test::simulation {

namespace {

Machine* theMachine = nullptr;
thread_local bool simulates = false;
thread_local bool isMemoryScarce = false;
thread_local bool isMemoryGone = false;
std::vector<pthread_t> handles;  // by the thread's number

/// The system's own function of that name.
template <class Function>
Function* real(char const* name) noexcept {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void setMachine(Machine& machine) noexcept { theMachine = &machine; }
Machine& machine() noexcept { return *theMachine; }
bool isSimulated() noexcept { return simulates; }

Aside::Aside() noexcept : wasSimulated_{std::exchange(simulates, false)} {}
Aside::~Aside() { simulates = wasSimulated_; }

Scarcity::Scarcity(bool isScarce) noexcept : wasScarce_{std::exchange(isMemoryScarce, isScarce)} {}
Scarcity::~Scarcity() { isMemoryScarce = wasScarce_; }

NoMemory::NoMemory() noexcept { isMemoryGone = true; }
NoMemory::~NoMemory() { isMemoryGone = false; }

void simulated(std::function<void()> const& body) {
    simulates = true;
    body();
    simulates = false;
}

void startRealThread(std::function<void()> body) {
    static auto* const create = real<decltype(pthread_create)>("pthread_create");
    auto run = std::make_unique<std::function<void()>>(std::move(body));
    pthread_t handle{};
    int const error = create(
        &handle, nullptr,
        [](void* argument) -> void* {
            (*static_cast<std::function<void()>*>(argument))();
            return nullptr;
        },
        run.get());
    if (error != 0) fail("the system starts no thread");
    static_cast<void>(run.release());
    handles.push_back(handle);
}

namespace {

void note(char const* what, void const* where, std::uint64_t value, void const* from) noexcept {
    noteStep(machine().scheduler.self().thread, what, where, value, from);
}

/// A mutex or condition is used, so it must be in memory.
void touch(void const* where) { machine().memory.read(machine().scheduler.self(), where, 1); }

std::int64_t toNanoseconds(timespec const& time) noexcept {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(std::int64_t{time.tv_sec}, std::int64_t{1'000'000'000}, &result) ||
        __builtin_add_overflow(result, std::int64_t{time.tv_nsec}, &result))
        return Scheduler::kForever - 1;
    return result;
}

}  // namespace
}  // namespace timingwheel::test::simulation

namespace sim = timingwheel::test::simulation;

// ---- threads, locks, time ---------------------------------------------------------------------

// Each does what the system's function of that name does; of a simulated thread, in the simulation.
#define REAL(name) (sim::real<decltype(name)>(#name))
#define FROM __builtin_return_address(0)

extern "C" {

int pthread_create(pthread_t* handle, pthread_attr_t const* attributes, void* (*run)(void*),
                   void* argument) {
    static auto* const theReal = REAL(pthread_create);
    if (!sim::isSimulated()) return theReal(handle, attributes, run, argument);
    sim::Aside const aside;
    sim::note("start", nullptr, 0, FROM);
    sim::machine().scheduler.start([=] { static_cast<void>(run(argument)); },
                                   [=] { *handle = sim::handles.back(); });
    return 0;
}

int pthread_join(pthread_t handle, void** result) {
    static auto* const theReal = REAL(pthread_join);
    if (!sim::isSimulated()) return theReal(handle, result);
    sim::Aside const aside;
    auto const known = std::find(sim::handles.begin(), sim::handles.end(), handle);
    sim::note("join", nullptr, static_cast<std::uint64_t>(known - sim::handles.begin()), FROM);
    sim::machine().scheduler.join(static_cast<sim::ThreadId>(known - sim::handles.begin()));
    return 0;
}

int pthread_detach(pthread_t handle) {
    static auto* const theReal = REAL(pthread_detach);
    return sim::isSimulated() ? 0 : theReal(handle);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
    static auto* const theReal = REAL(pthread_mutex_lock);
    if (!sim::isSimulated()) return theReal(mutex);
    sim::Aside const aside;
    sim::note("lock", mutex, 0, FROM);
    sim::touch(mutex);
    sim::machine().scheduler.lock(mutex);
    return 0;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
    static auto* const theReal = REAL(pthread_mutex_trylock);
    if (!sim::isSimulated()) return theReal(mutex);
    sim::Aside const aside;
    sim::note("try to lock", mutex, 0, FROM);
    sim::touch(mutex);
    return sim::machine().scheduler.tryLock(mutex) ? 0 : EBUSY;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
    static auto* const theReal = REAL(pthread_mutex_unlock);
    if (!sim::isSimulated()) return theReal(mutex);
    sim::Aside const aside;
    sim::note("unlock", mutex, 0, FROM);
    sim::touch(mutex);
    sim::machine().scheduler.unlock(mutex);
    return 0;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
    static auto* const theReal = REAL(pthread_cond_wait);
    if (!sim::isSimulated()) return theReal(condition, mutex);
    sim::Aside const aside;
    sim::note("wait", condition, 0, FROM);
    sim::touch(condition);
    sim::machine().scheduler.wait(condition, mutex, sim::Scheduler::kForever);
    return 0;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           timespec const* until) {
    static auto* const theReal = REAL(pthread_cond_clockwait);
    if (!sim::isSimulated()) return theReal(condition, mutex, clock, until);
    sim::Aside const aside;
    std::int64_t const time = sim::toNanoseconds(*until);
    sim::note("wait until", condition, static_cast<std::uint64_t>(time), FROM);
    sim::touch(condition);
    return sim::machine().scheduler.wait(condition, mutex, time) ? 0 : ETIMEDOUT;
}

int pthread_cond_signal(pthread_cond_t* condition) {
    static auto* const theReal = REAL(pthread_cond_signal);
    if (!sim::isSimulated()) return theReal(condition);
    sim::Aside const aside;
    sim::note("notify one", condition, 0, FROM);
    sim::touch(condition);
    sim::machine().scheduler.notify(condition, false);
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) {
    static auto* const theReal = REAL(pthread_cond_broadcast);
    if (!sim::isSimulated()) return theReal(condition);
    sim::Aside const aside;
    sim::note("notify all", condition, 0, FROM);
    sim::touch(condition);
    sim::machine().scheduler.notify(condition, true);
    return 0;
}

int pthread_cond_destroy(pthread_cond_t* condition) {
    static auto* const theReal = REAL(pthread_cond_destroy);
    return sim::isSimulated() ? 0 : theReal(condition);
}

int sched_yield() {
    static auto* const theReal = REAL(sched_yield);
    if (!sim::isSimulated()) return theReal();
    sim::Aside const aside;
    sim::note("yield", nullptr, 0, FROM);
    sim::machine().scheduler.yield();
    return 0;
}

int nanosleep(timespec const* time, timespec* rest) {
    static auto* const theReal = REAL(nanosleep);
    if (!sim::isSimulated()) return theReal(time, rest);
    sim::Aside const aside;
    std::int64_t const length = sim::toNanoseconds(*time);
    sim::note("sleep", nullptr, static_cast<std::uint64_t>(length), FROM);
    sim::Scheduler& scheduler = sim::machine().scheduler;
    scheduler.sleepUntil(scheduler.now() + length);
    return 0;
}

int clock_gettime(clockid_t clock, timespec* time) {
    static auto* const theReal = REAL(clock_gettime);
    if (!sim::isSimulated()) return theReal(clock, time);
    sim::Aside const aside;
    std::int64_t const now = sim::machine().scheduler.now();
    *time = {now / 1'000'000'000, now % 1'000'000'000};
    return 0;
}

/// What std::atomic waits and notifies with.
long syscall(long number, ...) {
    constexpr long kExpeditedBarrier = 8;  // of the own process; the others only announce it
    static auto* const theReal = REAL(syscall);
    std::va_list list;
    va_start(list, number);
    long arguments[6];
    for (long& argument : arguments) argument = va_arg(list, long);
    va_end(list);
    bool const isKnown = number == SYS_futex || number == SYS_membarrier;
    if (!sim::isSimulated() || !isKnown)
        return theReal(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                       arguments[5]);
    sim::Aside const aside;
    if (number == SYS_membarrier) {
        sim::machine().scheduler.step();
        sim::note("barrier of all", nullptr, 0, FROM);
        if (arguments[0] == kExpeditedBarrier) sim::machine().memory.barrierOfAllThreads();
        return 0;
    }
    auto const* const word = reinterpret_cast<std::uint32_t const*>(arguments[0]);
    auto const value = static_cast<std::uint32_t>(arguments[2]);
    sim::Scheduler& scheduler = sim::machine().scheduler;
    if ((arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) {
        sim::note("wake", word, value, FROM);
        return scheduler.wake(word, static_cast<int>(value));
    }
    sim::note("wait while", word, value, FROM);
    if (scheduler.waitWhile(word, value)) return 0;
    errno = EAGAIN;
    return -1;
}

}  // extern "C"

// ---- the heap ---------------------------------------------------------------------------------

namespace {

void* allocate(std::size_t size, std::size_t alignment) {
    if (sim::isSimulated()) {
        sim::Aside const aside;
        if (sim::isMemoryGone || (sim::isMemoryScarce && sim::machine().choices.isOutOfMemory())) {
            sim::note("no memory", nullptr, size, __builtin_return_address(0));
            throw std::bad_alloc{};
        }
        void* const memory = sim::Memory::allocate(size, alignment);
        sim::machine().memory.allocated(sim::machine().scheduler.self(), memory, size);
        return memory;
    }
    void* const memory =
        std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc{};
    return memory;
}

void release(void* memory) noexcept {
    if (!sim::Memory::owns(memory)) return std::free(memory);
    if (!sim::isSimulated()) return;
    sim::Aside const aside;
    sim::note("free", memory, 0, FROM);
    sim::machine().memory.free(sim::machine().scheduler.self(), memory);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

// ---- what the compiler calls ------------------------------------------------------------------

namespace {

// As the compiler numbers them.
sim::Order orderOf(int number) noexcept { return static_cast<sim::Order>(number); }

std::uint64_t loaded(void const* where, std::size_t size, int order, void const* from) {
    sim::Aside const aside;
    sim::machine().scheduler.step();
    std::uint64_t const value =
        sim::machine().memory.load(sim::machine().scheduler.self(), where, size, orderOf(order));
    sim::note("load", where, value, from);
    return value;
}

void stored(void* where, std::size_t size, std::uint64_t value, int order, void const* from) {
    sim::Aside const aside;
    sim::machine().scheduler.step();
    sim::note("store", where, value, from);
    sim::machine().memory.store(sim::machine().scheduler.self(), where, size, value,
                                orderOf(order));
}

template <class Change>
std::uint64_t modified(void* where, std::size_t size, int order, void const* from,
                       Change&& change) {
    sim::Aside const aside;
    sim::machine().scheduler.step();
    std::uint64_t const before = sim::machine().memory.modify(sim::machine().scheduler.self(),
                                                              where, size, orderOf(order), change);
    sim::note("modify", where, change(before), from);
    return before;
}

bool exchanged(void* where, std::size_t size, std::uint64_t& expected, std::uint64_t desired,
               bool weak, int success, int failure, void const* from) {
    sim::Aside const aside;
    sim::machine().scheduler.step();
    bool const isDone = sim::machine().memory.compareExchange(sim::machine().scheduler.self(),
                                                              where, size, expected, desired, weak,
                                                              orderOf(success), orderOf(failure));
    sim::note(isDone ? "compare, set" : "compare, load", where, isDone ? desired : expected, from);
    return isDone;
}

void plainly(void* where, std::size_t size, bool writes, void const* from) {
    sim::Aside const aside;
    sim::notePlace(from);
    sim::Actor const self = sim::machine().scheduler.self();
    if (writes)
        sim::machine().memory.write(self, where, size);
    else
        sim::machine().memory.read(self, where, size);
}

}  // namespace

#define PLAIN(name, size, writes)                                   \
    void __tsan_##name##size(void* where) {                         \
        if (sim::isSimulated()) plainly(where, size, writes, FROM); \
    }                                                               \
    void __tsan_unaligned_##name##size(void* where) {               \
        if (sim::isSimulated()) plainly(where, size, writes, FROM); \
    }

#define MODIFY(bits, type, name, operation)                                                    \
    type __tsan_atomic##bits##_##name(type volatile* where, type value, int order) {           \
        if (!sim::isSimulated()) return __atomic_##name(where, value, __ATOMIC_SEQ_CST);       \
        return static_cast<type>(modified(const_cast<type*>(where), sizeof(type), order, FROM, \
                                          [value](std::uint64_t before) -> std::uint64_t {     \
                                              auto const old = static_cast<type>(before);      \
                                              return static_cast<type>(operation);             \
                                          }));                                                 \
    }

#define EXCHANGE(bits, type, strength, weak)                                                     \
    int __tsan_atomic##bits##_compare_exchange_##strength(                                       \
        type volatile* where, type* expected, type desired, int success, int failure) {          \
        if (!sim::isSimulated())                                                                 \
            return __atomic_compare_exchange_n(where, expected, desired, weak, __ATOMIC_SEQ_CST, \
                                               __ATOMIC_SEQ_CST);                                \
        std::uint64_t value = *expected;                                                         \
        bool const isDone = exchanged(const_cast<type*>(where), sizeof(type), value, desired,    \
                                      weak, success, failure, FROM);                             \
        *expected = static_cast<type>(value);                                                    \
        return isDone;                                                                           \
    }

#define ATOMIC(bits, type)                                                                   \
    type __tsan_atomic##bits##_load(type const volatile* where, int order) {                 \
        if (!sim::isSimulated()) return __atomic_load_n(where, __ATOMIC_SEQ_CST);            \
        return static_cast<type>(                                                            \
            loaded(const_cast<type const*>(where), sizeof(type), order, FROM));              \
    }                                                                                        \
    void __tsan_atomic##bits##_store(type volatile* where, type value, int order) {          \
        if (!sim::isSimulated()) return __atomic_store_n(where, value, __ATOMIC_SEQ_CST);    \
        stored(const_cast<type*>(where), sizeof(type), value, order, FROM);                  \
    }                                                                                        \
    type __tsan_atomic##bits##_exchange(type volatile* where, type value, int order) {       \
        if (!sim::isSimulated()) return __atomic_exchange_n(where, value, __ATOMIC_SEQ_CST); \
        return static_cast<type>(                                                            \
            modified(const_cast<type*>(where), sizeof(type), order, FROM,                    \
                     [value](std::uint64_t) -> std::uint64_t { return value; }));            \
    }                                                                                        \
    MODIFY(bits, type, fetch_add, old + value)                                               \
    MODIFY(bits, type, fetch_sub, old - value)                                               \
    MODIFY(bits, type, fetch_and, old& value)                                                \
    MODIFY(bits, type, fetch_or, old | value)                                                \
    MODIFY(bits, type, fetch_xor, old ^ value)                                               \
    EXCHANGE(bits, type, strong, false)                                                      \
    EXCHANGE(bits, type, weak, true)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_atomic_signal_fence(int) {}  // for the compiler alone

PLAIN(read, 1, false)
PLAIN(read, 2, false)
PLAIN(read, 4, false)
PLAIN(read, 8, false)
PLAIN(read, 16, false)
PLAIN(write, 1, true)
PLAIN(write, 2, true)
PLAIN(write, 4, true)
PLAIN(write, 8, true)
PLAIN(write, 16, true)

void __tsan_read_range(void* where, std::size_t size) {
    if (sim::isSimulated()) plainly(where, size, false, FROM);
}
void __tsan_write_range(void* where, std::size_t size) {
    if (sim::isSimulated()) plainly(where, size, true, FROM);
}
void __tsan_vptr_read(void** where) {
    if (sim::isSimulated()) plainly(where, sizeof(void*), false, FROM);
}
void __tsan_vptr_update(void** where, void* value) {
    // A destructor sets it again to what it is: nothing is written.
    if (sim::isSimulated()) plainly(where, sizeof(void*), *where != value, FROM);
}

ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t)
ATOMIC(64, std::uint64_t)

}  // extern "C"
