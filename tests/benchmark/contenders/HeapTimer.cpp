#include "ConditionVariableTimer.h"
#include "compare/Loads.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace timingwheel::bench {
namespace {

/// A binary heap whose entries know their place, so that one can be cancelled: O(log n). What
/// Asio's steady_timer has inside, without Asio around it.
class HeapQueue {
    struct Entry {
        std::function<void()> task;
        std::size_t place;
    };
    struct Slot {
        SteadyTime deadline;
        std::unique_ptr<Entry> entry;
    };

public:
    using Token = Entry*;
    static constexpr bool kFillInOrder = false;

    bool empty() const { return slots_.empty(); }
    std::size_t size() const { return slots_.size(); }
    SteadyTime earliest() const { return slots_.front().deadline; }

    Token insert(SteadyTime deadline, std::function<void()> task) {
        auto entry = std::make_unique<Entry>(Entry{std::move(task), slots_.size()});
        Token const token = entry.get();
        slots_.push_back({deadline, std::move(entry)});
        up(slots_.size() - 1);
        return token;
    }

    void erase(Token token) {
        std::size_t const place = token->place;
        std::size_t const last = slots_.size() - 1;
        if (place != last) {
            exchange(place, last);
            slots_.pop_back();
            down(place);
            up(place);
        } else {
            slots_.pop_back();
        }
    }

    std::function<void()> takeEarliest() {
        auto task = std::move(slots_.front().entry->task);
        erase(slots_.front().entry.get());
        return task;
    }

private:
    void exchange(std::size_t a, std::size_t b) {
        std::swap(slots_[a], slots_[b]);
        slots_[a].entry->place = a;
        slots_[b].entry->place = b;
    }
    void up(std::size_t place) {
        while (place > 0) {
            std::size_t const parent = (place - 1) / 2;
            if (slots_[parent].deadline <= slots_[place].deadline) return;
            exchange(parent, place);
            place = parent;
        }
    }
    void down(std::size_t place) {
        for (std::size_t child = 2 * place + 1; child < slots_.size(); child = 2 * place + 1) {
            if (child + 1 < slots_.size() && slots_[child + 1].deadline < slots_[child].deadline) {
                ++child;
            }
            if (slots_[place].deadline <= slots_[child].deadline) return;
            exchange(place, child);
            place = child;
        }
    }

    std::vector<Slot> slots_;
};

Registration const registration{
    {
        .id = "Heap",
        .title = "binary heap",
        .usage =
            "a binary heap in a vector, of deadlines and pointers to `std::function`, a mutex, a "
            "condition variable, a thread; entries know their place, so one can be cancelled",
    },
    timerLoads<ConditionVariableTimer<HeapQueue>>()};

}  // namespace
}  // namespace timingwheel::bench
