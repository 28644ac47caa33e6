#include "Scheduler.h"

#include "Boundary.h"
#include "Report.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <utility>

namespace timingwheel::test::simulation {

namespace {
constexpr std::uint64_t kMostSteps = 2'000'000;
}

struct Scheduler::Thread {
    explicit Thread(ThreadId number) : id{number} {
        sem_init(&baton, 0, 0);
        clock.tick(id);
    }

    ThreadId id;
    sem_t baton{};
    VectorClock clock;
    Waits waits = Waits::forNothing;
    void const* on = nullptr;     // the condition or the word
    void const* mutex = nullptr;  // what it needs to go on
    std::int64_t until = kForever;
    bool isTimedOut = false;
    Thread* other = nullptr;  // that it joins
    bool isOver = false;
    bool isJoined = false;
};

namespace {
thread_local Scheduler::Thread* current = nullptr;
}

Scheduler::Scheduler(Choices& choices) noexcept : choices_{choices} {}
Scheduler::~Scheduler() = default;

Actor Scheduler::self() noexcept { return {current->id, current->clock}; }

// ---- who goes on ------------------------------------------------------------------------------

bool Scheduler::isFree(void const* mutex) const noexcept {
    auto const known = mutexes_.find(mutex);
    return known == mutexes_.end() || known->second.owner == nullptr;
}

bool Scheduler::canGoOn(Thread const& thread) const noexcept {
    if (thread.isOver) return false;
    switch (thread.waits) {
        case Waits::forNothing:
            return true;
        case Waits::forMutex:
            return isFree(thread.mutex);
        case Waits::forCondition:
            return thread.until <= now_ && isFree(thread.mutex);
        case Waits::forTime:
            return thread.until <= now_;
        case Waits::forThread:
            return thread.other->isOver;
        case Waits::forWord:
            return false;
    }
    return false;
}

bool Scheduler::canBeTimed(Thread const& thread) const noexcept {
    if (thread.isOver || thread.until == kForever) return false;
    return thread.waits == Waits::forTime ||
           (thread.waits == Waits::forCondition && isFree(thread.mutex));
}

void Scheduler::step() { handOver(false); }
void Scheduler::yield() { handOver(true); }

void Scheduler::handOver(bool yields) {
    Thread& self = *current;
    if (report().steps > kMostSteps) fail("it does not end:" + whoWaits());
    now_ += choices_.duration();
    wakeSpuriously();

    Candidate candidates[kMostThreads + 1];
    std::size_t count = 0;
    if (!yields && canGoOn(self)) candidates[count++] = {self.id, true};
    for (auto const& thread : threads_)
        if (thread.get() != &self && canGoOn(*thread)) candidates[count++] = {thread->id};
    if (count == 0 && canGoOn(self)) candidates[count++] = {self.id};
    bool const isIdle = count == 0;
    Thread const* sleeper = nullptr;
    for (auto const& thread : threads_)
        if (!canGoOn(*thread) && canBeTimed(*thread) &&
            (sleeper == nullptr || thread->until < sleeper->until))
            sleeper = thread.get();
    if (sleeper != nullptr) candidates[count++] = {.thread = sleeper->id, .letsTimePass = true};
    if (count == 0) {
        bool const isEnd = std::all_of(threads_.begin(), threads_.end(),
                                       [](auto const& thread) { return thread->isOver; });
        if (isEnd) {
            atEnd_();
            _exit(EXIT_SUCCESS);
        }
        fail("all threads wait, and nothing will wake them:" + whoWaits());
    }
    Candidate const chosen = candidates[count == 1 ? 0 : choices_.whoGoesOn({candidates, count})];
    Thread& next = *threads_[chosen.thread];
    if (chosen.letsTimePass) {
        if (isIdle && idle_) idle_(next.until);
        now_ = std::max(now_, next.until);
    }
    if (&next != &self) {
        ++report().switches;
        sem_post(&next.baton);
        if (self.isOver) return;
        while (sem_wait(&self.baton) != 0) {
        }
    }
    goOn(self);
}

/// What a thread waited for has come: takes its mutex, if it needs one.
void Scheduler::goOn(Thread& self) {
    if (self.waits == Waits::forCondition || self.waits == Waits::forTime) self.isTimedOut = true;
    if (self.waits == Waits::forThread) self.clock.join(self.other->clock);
    self.waits = Waits::forNothing;
    self.until = kForever;
    if (void const* const mutex = std::exchange(self.mutex, nullptr)) {
        Mutex& taken = mutexes_[mutex];
        taken.owner = &self;
        self.clock.join(taken.released);
    }
}

void Scheduler::wakeSpuriously() {
    for (auto const& thread : threads_)
        if (thread->waits == Waits::forCondition && choices_.isSpurious())
            thread->waits = Waits::forMutex;
}

std::string Scheduler::whoWaits() {
    std::string text;
    for (auto const& thread : threads_) {
        if (thread->isOver) continue;
        text += "\n  thread " + std::to_string(thread->id);
        switch (thread->waits) {
            case Waits::forNothing:
                text += " can go on";
                break;
            case Waits::forMutex: {
                Thread const* const owner = mutexes_[thread->mutex].owner;
                text += " for a mutex";
                if (owner != nullptr) text += " of thread " + std::to_string(owner->id);
                break;
            }
            case Waits::forCondition:
                text += " for a condition";
                break;
            case Waits::forWord:
                text += " for a word to change";
                break;
            case Waits::forTime:
                text += " for a time";
                break;
            case Waits::forThread:
                text += " for thread " + std::to_string(thread->other->id);
                break;
        }
        if (thread->until != kForever) text += " until " + std::to_string(thread->until);
    }
    return text;
}

// ---- locks, waits, time -----------------------------------------------------------------------

std::int64_t Scheduler::now() noexcept { return ++now_; }

void Scheduler::lock(void const* mutex) {
    Thread& self = *current;
    auto const known = mutexes_.find(mutex);
    if (known != mutexes_.end() && known->second.owner == &self)
        fail("a thread locks a mutex that it holds");
    self.waits = Waits::forMutex;
    self.mutex = mutex;
    step();
}

bool Scheduler::tryLock(void const* mutex) {
    step();
    if (!isFree(mutex)) return false;
    current->mutex = mutex;
    goOn(*current);
    return true;
}

void Scheduler::release(Thread& self, void const* mutex) noexcept {
    Mutex& released = mutexes_[mutex];
    if (released.owner != &self) fail("a thread unlocks a mutex that it does not hold");
    released.owner = nullptr;
    released.released = self.clock;
    self.clock.tick(self.id);
}

void Scheduler::unlock(void const* mutex) { release(*current, mutex); }

bool Scheduler::wait(void const* condition, void const* mutex, std::int64_t until) {
    step();  // who notifies without the mutex may do so just before
    Thread& self = *current;
    release(self, mutex);
    self.waits = Waits::forCondition;
    self.on = condition;
    self.mutex = mutex;
    self.until = until;
    self.isTimedOut = false;
    step();
    return !self.isTimedOut;
}

void Scheduler::notify(void const* condition, bool all) {
    step();
    std::vector<Thread*> waiters;
    for (auto const& thread : threads_)
        if (thread->waits == Waits::forCondition && thread->on == condition)
            waiters.push_back(thread.get());
    if (!all && waiters.size() > 1) waiters = {waiters[choices_.whichWaiter(waiters.size())]};
    for (Thread* const waiter : waiters) waiter->waits = Waits::forMutex;
}

void Scheduler::sleepUntil(std::int64_t time) {
    current->waits = Waits::forTime;
    current->until = time;
    step();
}

bool Scheduler::waitWhile(std::uint32_t const* where, std::uint32_t expected) {
    step();
    if (*where != expected) return false;
    current->waits = Waits::forWord;
    current->on = where;
    step();
    return true;
}

int Scheduler::wake(void const* where, int most) {
    step();
    int woken = 0;
    for (auto const& thread : threads_) {
        if (woken == most || thread->waits != Waits::forWord || thread->on != where) continue;
        thread->waits = Waits::forNothing;
        ++woken;
    }
    return woken;
}

// ---- threads ----------------------------------------------------------------------------------

ThreadId Scheduler::start(std::function<void()> body, std::function<void()> const& isMade) {
    if (threads_.size() == kMostThreads) fail("too many threads");
    auto const id = static_cast<ThreadId>(threads_.size());
    threads_.push_back(std::make_unique<Thread>(id));
    Thread& thread = *threads_.back();
    if (current != nullptr) {
        thread.clock.join(current->clock);
        current->clock.tick(current->id);
    }
    startRealThread([this, &thread, body = std::move(body)] { runThread(thread, body); });
    isMade();
    if (current != nullptr) step();
    return id;
}

void Scheduler::runThread(Thread& thread, std::function<void()> const& body) {
    while (sem_wait(&thread.baton) != 0) {
    }
    current = &thread;
    goOn(thread);
    simulated(body);
    thread.isOver = true;
    handOver(false);
    // Nothing that this thread still does is part of the run.
    current = nullptr;
}

void Scheduler::join(ThreadId thread) {
    current->waits = Waits::forThread;
    current->other = threads_[thread].get();
    if (std::exchange(current->other->isJoined, true)) fail("a thread is joined twice");
    step();
}

void Scheduler::run(std::function<void()> body, std::function<void()> atEnd) {
    atEnd_ = std::move(atEnd);
    start(std::move(body));
    sem_post(&threads_.front()->baton);
    for (;;) pause();
}

}  // namespace timingwheel::test::simulation
