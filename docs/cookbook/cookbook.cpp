// What docs/cookbook.md shows: run under a clock that is moved by hand, so nothing here sleeps.

#include <timingwheel/timingwheel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using timingwheel::untilStopped;

namespace {

class Connection {
public:
    explicit Connection(timingwheel::WheelTimer& timer) : timer_{timer} { onPacket(); }
    void onPacket() { timer_.schedule(idle_, 60s); }  // starts the timeout, or moves it

private:
    void onIdle() { std::puts("idle for a minute: closed"); }

    timingwheel::WheelTimer& timer_;
    timingwheel::TimerHook<&Connection::onIdle> idle_{*this};  // the last member
};

class Client {
public:
    explicit Client(timingwheel::Timer& timer) : timer_{timer} {}

    void send(int id) {
        open_[id] = timer_.newTimeout([this, id] { onTimeout(id); }, 5s);
    }
    void onAnswer(int id) {
        auto const request = open_.extract(id);
        if (request && request.mapped().cancel()) std::printf("request %d: answered\n", id);
    }

private:
    void onTimeout(int id) {
        open_.erase(id);
        std::printf("request %d: timed out\n", id);
    }

    timingwheel::Timer& timer_;
    std::map<int, timingwheel::Timeout> open_;
};

class Sessions {
    struct Session {
        Session(Sessions& ofAll, int itsId) : all{ofAll}, id{itsId} {}
        void onIdle() { all.expire(id); }  // destroys *this

        Sessions& all;
        int id;
        timingwheel::TimerHook<&Session::onIdle> idle{*this};
    };

public:
    explicit Sessions(timingwheel::Clock& clock) : timer_{{.clock = clock}} {}

    void open(int id) {
        std::lock_guard const lock{mutex_};
        auto const [at, isNew] = sessions_.try_emplace(id, *this, id);
        if (isNew) timer_.schedule(at->second.idle, 60s);
    }
    bool onPacket(int id) {
        std::lock_guard const lock{mutex_};
        auto const at = sessions_.find(id);
        return at != sessions_.end() && at->second.idle.reschedule(60s);  // false: too late
    }
    void close(int id) {
        std::lock_guard const lock{mutex_};
        auto const at = sessions_.find(id);
        if (at != sessions_.end() && at->second.idle.cancel()) sessions_.erase(at);
    }

private:
    void expire(int id) {  // called by the hook's task
        std::lock_guard const lock{mutex_};
        sessions_.erase(id);
    }

    std::mutex mutex_;
    std::map<int, Session> sessions_;
    timingwheel::SystemTimer timer_;  // the last: it stops before the map goes
};

class Retry {
public:
    Retry(timingwheel::WheelTimer& timer, std::function<bool()> call)
        : timer_{timer}, call_{std::move(call)} {}

    void attempt() {
        if (call_()) return;
        std::uniform_int_distribution<milliseconds::rep> jitter{pause_.count() / 2, pause_.count()};
        timer_.schedule(again_, milliseconds{jitter(random_)});
        pause_ = std::min<milliseconds>(2 * pause_, 30s);
    }

private:
    timingwheel::WheelTimer& timer_;
    std::function<bool()> call_;
    milliseconds pause_ = 100ms;
    std::minstd_rand random_{std::random_device{}()};
    timingwheel::TimerHook<&Retry::attempt> again_{*this};
};

class Draft {
public:
    explicit Draft(timingwheel::WheelTimer& timer) : timer_{timer} {}

    void onKey() {
        timer_.schedule(save_, 300ms);                       // 300 ms after the last key
        if (!sync_.isPending()) timer_.schedule(sync_, 2s);  // once in 2 s at most
    }

private:
    void save() { std::puts("saved"); }
    void sync() { std::puts("synchronized"); }

    timingwheel::WheelTimer& timer_;
    timingwheel::TimerHook<&Draft::save> save_{*this};
    timingwheel::TimerHook<&Draft::sync> sync_{*this};
};

class Cache {
public:
    explicit Cache(timingwheel::WheelTimer& timer) : timer_{timer} {}

    bool has(std::string const& key) const { return entries_.contains(key); }
    void put(std::string const& key, std::string value) {
        Entry& entry = entries_.try_emplace(key, *this, key).first->second;
        entry.value = std::move(value);
        timer_.schedule(entry.expiry, 10min);
    }

private:
    struct Entry {
        Entry(Cache& ofCache, std::string itsKey) : cache{ofCache}, key{std::move(itsKey)} {}
        void expire() { cache.entries_.erase(cache.entries_.find(key)); }  // destroys *this

        Cache& cache;
        std::string key, value;
        timingwheel::TimerHook<&Entry::expire> expiry{*this};
    };

    timingwheel::WheelTimer& timer_;
    std::map<std::string, Entry> entries_;
};

void watchdog(timingwheel::WheelTimer& timer, std::function<bool()> const& turn) {
    timingwheel::ScopedTimeout const bark =
        timer.newTimeout([] { std::puts("the loop hangs"); }, 2s);
    while (turn()) timer.reschedule(bark.get(), 2s);
}

void group(timingwheel::WheelTimer& timer) {
    std::stop_source session;
    std::stop_token const token = session.get_token();
    timer.newTimeout(untilStopped(token, [] { std::puts("the session ends"); }), 1h);
    timer.scheduleAtFixedRate(untilStopped(token, [] { std::puts("heartbeat"); }), 10s, 10s);
    session.request_stop();  // cancels both
    std::printf("pending in the group: %zu\n", timer.pendingTimeouts());
}

void bounds() {
    timingwheel::SystemTimer timer{{.maxPendingTimeouts = 2}};
    try {
        for (int id = 0; id < 3; ++id) timer.newTimeout([] {}, 1h);
    } catch (timingwheel::RejectedExecution const& error) {
        std::puts(error.what());  // answer "too busy"
    }
}

void failures(timingwheel::Clock& clock, std::function<void()> const& aSecondLater) {
    timingwheel::ManualTimer timer{
        {.clock = clock, .errorHandler = [](timingwheel::TaskFailure const& failure) {
             if (failure.kind != timingwheel::TaskFailure::Kind::threw) return;
             try {
                 std::rethrow_exception(failure.exception);
             } catch (std::exception const& error) {
                 std::printf("a task failed: %s\n", error.what());
             }
         }}};
    timer.newTimeout([] { throw std::runtime_error{"no such order"}; }, 1s);
    timer.newTimeout([] { std::puts("the next task runs"); }, 1s);
    aSecondLater();
}

}  // namespace

int main() {
    timingwheel::ManualClock clock;
    timingwheel::ManualTimer timer{{.clock = clock}};

    Connection connection{timer};
    clock.advance(59s);
    connection.onPacket();
    clock.advance(59s);
    std::puts("a packet came in time");
    clock.advance(1s);

    Client client{timer};
    client.send(1);
    client.send(2);
    clock.advance(1s);
    client.onAnswer(1);
    clock.advance(4s);
    client.onAnswer(2);  // too late: nothing happens

    Sessions sessions{clock};
    sessions.open(1);
    sessions.open(2);
    clock.advance(30s);
    sessions.close(2);
    std::printf("session 1: %s\n", sessions.onPacket(1) ? "open" : "gone");
    std::printf("session 2: %s\n", sessions.onPacket(2) ? "open" : "gone");
    clock.advance(60s);
    std::printf("a minute later: %s\n", sessions.onPacket(1) ? "open" : "gone");

    int calls = 0;
    Retry retry{timer, [&calls] { return ++calls == 4; }};
    retry.attempt();
    clock.advance(100ms);
    std::printf("after the longest first pause: %d calls\n", calls);
    clock.advance(600ms);
    std::printf("after all pauses: %d calls\n", calls);

    Draft draft{timer};
    for (int key = 0; key < 20; ++key) {
        draft.onKey();
        clock.advance(100ms);
    }
    clock.advance(1s);

    Cache cache{timer};
    cache.put("tea", "green");
    clock.advance(9min);
    cache.put("tea", "black");
    clock.advance(9min);
    std::printf("put again: %s\n", cache.has("tea") ? "there" : "gone");
    clock.advance(1min);
    std::printf("10 minutes later: %s\n", cache.has("tea") ? "there" : "gone");

    int turns = 0;
    watchdog(timer, [&] {
        clock.advance(turns == 2 ? 3s : 1s);  // the third turn takes too long
        return ++turns < 5;
    });
    group(timer);
    bounds();
    failures(clock, [&clock] { clock.advance(1s); });
    return timer.pendingTimeouts() == 0 ? 0 : 1;
}
