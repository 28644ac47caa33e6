// When you build a cache, a connection table or a simulator, and want the wheel alone: told the
// time, with entries of your own, and without thread, clock or lock. In batches and huge pages, if
// the entries are a million.

#include <timingwheel/wheel/TimingWheel.h>

#include <cstddef>
#include <iostream>
#include <map>
#include <new>
#include <string>
#include <vector>

#if defined(__linux__)
#    include <sys/mman.h>
#endif

using timingwheel::Tick;

// A cache whose values live for as many ticks as they were stored for.
class Cache {
public:
    void store(std::string const& key, std::string const& value, int ticks) {
        Entry& entry = entries_[key];
        entry.key = key;
        entry.value = value;
        // Queued or not. What is due already is not stored: it is forgotten here.
        if (wheel_.reschedule(entry, wheel_.currentTick() + ticks).isDue()) entries_.erase(key);
    }

    std::string const* find(std::string const& key) const {
        auto const found = entries_.find(key);
        return found == entries_.end() ? nullptr : &found->second.value;
    }

    std::size_t advanceTo(Tick now) {
        return wheel_.advanceTo(now, [this](Entry& entry) {
            std::cout << "at " << wheel_.currentTick() << ": " << entry.key << " is forgotten\n";
            entries_.erase(std::string{entry.key});  // it is in no wheel any more
        });
    }

    // Where everything is: level, slot, and when its bucket expires.
    void show() const {
        for (timingwheel::TimingWheelLevel const& level : wheel_.levels())
            for (timingwheel::TimerTaskList const& bucket : level.buckets())
                bucket.forEach([&](timingwheel::TimerTaskEntry const& entry) {
                    std::cout << "  level " << level.number() << ", slot " << bucket.slot()
                              << ", expires at " << bucket.expiration() << ": "
                              << static_cast<Entry const&>(entry).key << '\n';
                });
    }

private:
    struct Entry : timingwheel::TimerTaskEntry {
        std::string key, value;
    };

    std::map<std::string, Entry> entries_;
    timingwheel::TimingWheel<Entry> wheel_{{.wheelSize = 20}};  // goes before its entries
};

// Memory in huge pages, where the system gives them to those who ask: a million entries in random
// order then miss the processor's table of addresses less often. Elsewhere ordinary memory.
template <class T>
struct InHugePages {
    using value_type = T;
    static constexpr std::size_t kHugePage = 2'097'152;

    InHugePages() noexcept = default;
    template <class Other>
    InHugePages(InHugePages<Other> const&) noexcept {}

    T* allocate(std::size_t count) {
        std::size_t const bytes = (count * sizeof(T) + kHugePage - 1) / kHugePage * kHugePage;
        void* const memory = ::operator new(bytes, std::align_val_t{kHugePage});
#if defined(MADV_HUGEPAGE)
        static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));  // a wish
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t) noexcept {
        ::operator delete(memory, std::align_val_t{kHugePage});
    }
    bool operator==(InHugePages const&) const = default;
};

// A table of connections that are closed when they were silent for a number of ticks.
class Connections {
public:
    static constexpr int kSilence = 30'000;

    explicit Connections(std::size_t count) : table_(count) {}

    // All from whom a packet came in this turn of the loop: fetched from memory side by side.
    void heardFrom(std::vector<std::size_t> const& numbers) {
        batch_.clear();
        for (std::size_t const number : numbers) batch_.push_back(&table_[number]);
        deadlines_.assign(numbers.size(), wheel_.currentTick() + kSilence);
        wheel_.reschedule(batch_, deadlines_, [](Connection&) {});  // none is due already
    }

    // Returns how many were closed.
    std::size_t advanceTo(Tick now) {
        return wheel_.advanceTo(now, [](Connection& connection) { connection.isOpen = false; });
    }

private:
    struct Connection : timingwheel::TimerTaskEntry {
        bool isOpen = true;
    };

    std::vector<Connection, InHugePages<Connection>> table_;
    timingwheel::TimingWheel<Connection> wheel_;
    std::vector<Connection*> batch_;
    std::vector<Tick> deadlines_;
};

int main() {
    Connections connections{100'000};
    for (std::size_t first = 0; first < 100'000; first += 100) {
        std::vector<std::size_t> numbers;
        for (std::size_t i = 0; i < 100; ++i) numbers.push_back(first + i);
        connections.heardFrom(numbers);
    }
    connections.advanceTo(Tick{20'000});
    connections.heardFrom({5, 77'777, 5});
    std::cout << connections.advanceTo(Tick{30'000}) << " connections are closed\n";
    std::cout << connections.advanceTo(Tick{50'000}) << " more\n";

    Cache cache;
    cache.store("tea", "green", 5);
    cache.store("soup", "leek", 25);
    cache.store("cheese", "old", 401);
    cache.show();

    cache.advanceTo(Tick{20});  // the bucket of the soup expires: it moves down a level
    cache.show();
    cache.store("soup", "pea", 25);  // stored again: lives until 45

    cache.advanceTo(Tick{44});
    if (cache.find("soup") == nullptr || cache.find("tea") != nullptr) return 1;
    cache.advanceTo(Tick{1'000});
    return cache.find("soup") == nullptr && cache.find("cheese") == nullptr ? 0 : 1;
}
