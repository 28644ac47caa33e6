#include "frame/Machine.h"
#include "loads/WheelLoads.h"

#include <timingwheel/detail/platform/Prefetch.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace timingwheel::bench {
namespace {

/// The least that a doubly linked wheel can do: a node is taken out of one list and put into one of
/// 140 others. No time, no slots, nothing expires. Batches are prefetched as the wheel's are.
class Floor {
public:
    explicit Floor(std::size_t pending) : nodes_(pending) { clear(); }

    void clear() {
        for (Node& list : lists_) list.next = list.previous = &list;
    }
    void push(std::size_t i, std::uint32_t delay) {
        Node& node = nodes_[i];
        // 60,000 delays onto 140 lists, without a division.
        Node& list = lists_[delay * kLists >> 16U];
        node.next = &list;
        node.previous = list.previous;
        list.previous->next = &node;
        list.previous = &node;
    }
    void move(std::size_t i, std::uint32_t delay) {
        nodes_[i].next->previous = nodes_[i].previous;
        nodes_[i].previous->next = nodes_[i].next;
        push(i, delay);
    }

    std::int64_t now() const { return 0; }
    void reschedule(std::span<Script::Step const> steps) {
        prefetch(steps);
        for (auto const [entry, delay] : steps) move(entry, delay);
    }
    void pushBack(std::size_t i, std::int64_t deadline) { nodes_[i].deadline = deadline; }
    void pushBack(std::span<Script::Step const> steps, std::int64_t deadline) {
        // One store for each: there is nothing to wait for, and no prefetch gains.
        for (Script::Step const& step : steps) pushBack(step.entry, deadline);
    }

private:
    static constexpr std::uint32_t kLists = 140;
    struct Node {
        Node* next = nullptr;
        Node* previous = nullptr;
        std::int64_t deadline = 0;
        Payload payload{};
    };
    static_assert(sizeof(Node) == 40 || sizeof(void*) != 8);

    void prefetch(std::span<Script::Step const> steps) {
        for (Script::Step const& step : steps) detail::prefetchToWrite(&nodes_[step.entry]);
        for (Script::Step const& step : steps)
            detail::prefetchToWrite(&nodes_[step.entry].deadline);
    }

    std::vector<Node> nodes_;
    std::array<Node, kLists> lists_;
};

Result measure(Request const& request) {
    Script const& script = scriptOf(request);
    Stopwatch meter;
    std::int64_t const before = heapBytes();
    Floor floor{request.count};
    auto const push = [&](std::uint32_t entry, std::uint32_t delay) { floor.push(entry, delay); };
    meter("W2 first", script.pending(), [&] { script.eachFill(push); });
    auto const bytes = static_cast<double>(heapBytes() - before);
    meter.result["W6"] = bytes / static_cast<double>(script.pending());
    for (std::size_t left = script.repeats(); left > 0; --left) {
        floor.clear();
        meter("W2", script.pending(), [&] { script.eachFillAnew(left, push); });
    }
    meter("W1", script.moves().size(), [&] {
        for (auto const [entry, delay] : script.moves()) floor.move(entry, delay);
    });
    Batches{floor, script, meter};
    return meter.result;
}

Registration const registration{{"floor", "floor", "nodes of 40 bytes in 140 doubly linked lists"},
                                LoadsByName{{"wheel", measure}}};

}  // namespace
}  // namespace timingwheel::bench
