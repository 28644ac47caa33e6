#pragma once

#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/Outputs.h"
#include "components/kafka/daemon/PendingTimers.h"
#include "components/kafka/daemon/Record.h"
#include "components/kafka/daemon/StateReader.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// What is due beyond the horizon is left to the state, and read when half of the horizon is left.
/// It is read in the order of its offsets, a part between two transactions, so what is due does not
/// wait for it.
///
/// What has been pushed back stays in memory: that is a timer that will be pushed back again.
///
/// While memory is full, a far timer is read once it is due, after what memory has of that: late,
/// but it waits for no timer that is due later.
class Horizon {
public:
    Horizon(Duty const& duty, PendingTimers& timers);
    Horizon(Horizon const&) = delete;
    Horizon& operator=(Horizon const&) = delete;

    bool isBeyond(std::int64_t at, std::int64_t now) const noexcept { return at - now > length_; }

    /// Drops from memory what the outputs have written into the state and is far. REQUIRES: they
    /// are committed.
    void putAway(Outputs const& outputs, std::int64_t now);

    /// Goes on to bring near what is. False if there is nothing to do for now. Throws
    /// std::runtime_error if the state has not got what it should.
    bool bringNear(std::int64_t now);
    /// Brings near what these commands push back, and waits for it.
    void bringNear(std::vector<Record> const& commands);

private:
    void read(std::vector<std::int64_t> offsets);
    void giveUp();
    void readOn(std::chrono::milliseconds patience);
    void passOver(std::int64_t end);
    void finish();

    Duty const& duty_;
    PendingTimers& timers_;
    std::int64_t const length_;  // ms
    std::int64_t passBegan_;
    std::int64_t passUntil_ = 0;  // it finds what is due by then
    bool isPassing_ = false;
    bool isShort_ = false;              // memory is full: it leaves what is not due yet
    std::vector<std::int64_t> found_;   // by the pass so far
    std::vector<std::int64_t> wanted_;  // offsets in the state, in order
    std::size_t next_ = 0;              // the first of them that was not reached
    std::vector<std::int64_t> missing_;
    std::optional<StateReader> reader_;
};

}  // namespace timingwheel::inline v1::kafka
