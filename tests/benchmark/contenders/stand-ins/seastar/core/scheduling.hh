#pragma once

// What timer-set.hh wants to know of Seastar's reactor, which takes no part: callbacks are called
// by the benchmark.

namespace seastar {

struct scheduling_group {};

scheduling_group current_scheduling_group() noexcept;

namespace internal {
scheduling_group* current_scheduling_group_ptr() noexcept;
}

}  // namespace seastar
