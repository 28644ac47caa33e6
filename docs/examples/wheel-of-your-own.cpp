// When you build a cache, a connection table or a simulator, and want the wheel alone: told the
// time, with entries of your own, and without thread, clock or lock.

#include <timingwheel/wheel/TimingWheel.h>

#include <iostream>
#include <map>
#include <string>

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

    void advanceTo(Tick now) {
        wheel_.advanceTo(now, [this](Entry& entry) {
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

int main() {
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
