#pragma once

#include "components/kafka/client/Client.h"
#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/Outputs.h"
#include "components/kafka/daemon/PendingTimers.h"
#include "components/kafka/daemon/Producer.h"
#include "components/kafka/daemon/Refusals.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// True if the group gave the partition to another worker. A generation that has passed is no such
/// sign: the group has a new one each time that a member comes or goes.
bool isFenced(rd_kafka_resp_err_t code);

/// Writes what has come together, in one transaction; if a broker refuses it, in several, in their
/// order. Each of them is right by itself: this may end anywhere.
class Committer {
public:
    Committer(Assignment& assignment, PendingTimers& timers, Outputs& outputs, Refusals& refusals,
              std::unique_ptr<Producer> producer, std::int32_t partitions, std::int64_t next)
        : assignment_{assignment},
          timers_{timers},
          outputs_{outputs},
          refusals_{refusals},
          producer_{std::move(producer)},
          partitions_{partitions},
          next_{next} {}

    /// Writes all outputs. `next` is the offset behind the commands that they are of. Throws if the
    /// partition has to begin anew.
    void commit(std::int64_t next);
    /// Whether a position was not committed. It moves without a command by the ends of
    /// transactions: until it is committed, they count as a lag, and are taken for lost commands
    /// once retention has removed them.
    bool isBehind(std::int64_t next) const noexcept { return next != next_; }
    /// The same, but not again soon.
    bool isDue(std::int64_t next) const {
        return isBehind(next) && std::chrono::steady_clock::now() >= restsUntil_;
    }

private:
    /// What one transaction is to write: outputs by number, in the order of their steps.
    struct Batch {
        std::vector<std::size_t> outputs;
        std::int64_t next;
        bool isApart = false;  // the deliveries to one target, or what is no delivery
        int failed = 0;
    };
    using Batches = std::vector<Batch>;

    [[nodiscard]] Batches write(Batch batch);
    void requireDue(Batch const& batch) const;
    std::vector<Producer::Failure> abort();
    Batches withoutFailures(Batch batch, std::vector<Producer::Failure> const& failures);
    bool isDoubtful(Producer::Failure const& failure,
                    std::chrono::steady_clock::time_point asked) const;
    bool isOneStep(Batch const& batch) const;
    Batches inHalves(Batch const& batch) const;
    Batches eachTargetApart(Batch const& batch);
    bool giveUpWhatIsGone(Batch const& batch);
    void giveUp(Producer::Failure const& failure);
    void account(Batch const& batch) const;

    Output const& at(std::size_t output) const { return outputs_.all()[output]; }

    Assignment& assignment_;
    PendingTimers& timers_;
    Outputs& outputs_;
    Refusals& refusals_;
    std::unique_ptr<Producer> producer_;  // none after an abort
    std::int32_t const partitions_;
    std::int64_t next_;  // as it was committed
    std::chrono::steady_clock::time_point restsUntil_{};
};

}  // namespace timingwheel::inline v1::kafka
