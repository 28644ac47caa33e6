#include "components/kafka/daemon/Committer.h"

#include "components/kafka/daemon/TimeOfDay.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace timingwheel::inline v1::kafka {

namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstRest{50};
constexpr milliseconds kLongestRest{1'000};
constexpr milliseconds kRestOfPosition{10'000};
constexpr int kFailuresAsOne = 2;  // of a batch; then it is divided
constexpr int kMostDoubts = 5;
constexpr auto kMayNotWrite = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;

/// True if it would pass once brokers answer.
bool isTransient(ClientError const& error) {
    return error.isRetriable() || error.code() == RD_KAFKA_RESP_ERR__QUEUE_FULL;
}

}  // namespace

bool isFenced(rd_kafka_resp_err_t code) {
    return code == RD_KAFKA_RESP_ERR__FENCED || code == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
           code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH ||
           code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED;
}

void Committer::commit(std::int64_t next) {
    auto const began = Steady::now();
    Batch all{std::vector<std::size_t>(outputs_.all().size()), next};
    std::iota(all.outputs.begin(), all.outputs.end(), std::size_t{0});
    Batches work;  // the last of them is next
    work.push_back(std::move(all));
    while (!work.empty()) {
        Batch batch = std::move(work.back());
        work.pop_back();
        Batches left = write(std::move(batch));
        std::move(left.rbegin(), left.rend(), std::back_inserter(work));
    }
    assignment_.shared.metrics.committed(Steady::now() - began);
    refusals_.forgetBefore(next);
    next_ = next;
    restsUntil_ = Steady::now() + kRestOfPosition;
}

void Committer::account(Batch const& batch) const {
    std::int64_t const now = nowInMilliseconds();
    Metrics& metrics = assignment_.shared.metrics;
    Tally tally;
    for (std::size_t const i : batch.outputs) {
        Output const& output = at(i);
        if (output.kind == Output::Kind::delivery)
            metrics.delivered(milliseconds{std::max<std::int64_t>(now - output.at, 0)});
        if (output.countsAs != nullptr) tally.*output.countsAs += output.count;
    }
    metrics.add(tally);
}

/// Makes one transaction. Returns what is left to write, in its order: nothing; the same again; or
/// its parts, apart.
Committer::Batches Committer::write(Batch batch) {
    // A new one fences a new owner, if there is one that the consumer does not know of yet. The
    // offset keeps out what is in memory here.
    if (!producer_) {
        if (assignment_.isStopping) throw std::runtime_error{"the worker stops after an abort"};
        producer_ = std::make_unique<Producer>(assignment_.shared.options, assignment_.number,
                                               assignment_.shared.consumer, assignment_.isStopping);
        requireDue(batch);  // brokers may have been waited for
    }
    try {
        producer_->begin();
        for (std::size_t const i : batch.outputs)
            if (!producer_->write(at(i), timers_, i)) break;
        producer_->commit(batch.next, partitions_);
        for (auto const& [i, offset] : producer_->offsets()) outputs_.all()[i].offset = offset;
        assignment_.metrics->worked = Steady::now();
        account(batch);
        return {};
    } catch (ClientError const& error) {
        if (error.isFatal() || isFenced(error.code())) throw;
        // Brokers are away, and have been waited for. The next owner ends the transaction.
        if (assignment_.isStopping && isTransient(error)) throw;
        auto const failures = abort();
        if (!failures.empty()) return withoutFailures(batch, failures);
        if (error.code() == kMayNotWrite) return eachTargetApart(batch);
        if (++batch.failed > 1 && giveUpWhatIsGone(batch)) return {batch};
        spdlog::warn("partition {}: a transaction is made again: {}", assignment_.number,
                     error.what());
        assignment_.pause(
            std::min(kFirstRest * (1 << std::min(batch.failed - 1, 8)), kLongestRest));
        // It may be more than brokers take in the time of a transaction.
        if (batch.failed > kFailuresAsOne && !isOneStep(batch)) return inHalves(batch);
        return {batch};
    }
}

/// Throws std::runtime_error if the clock was set back since these were taken out as due: the
/// partition begins anew, and decides by the clock as it is now.
void Committer::requireDue(Batch const& batch) const {
    std::int64_t const now = nowInMilliseconds();
    for (std::size_t const i : batch.outputs)
        if (at(i).kind == Output::Kind::delivery && at(i).at > now)
            throw std::runtime_error{"the clock was set back: what was due by it is not due"};
}

/// Without outputs only the position is written.
bool Committer::isOneStep(Batch const& batch) const {
    return batch.outputs.empty() || at(batch.outputs.front()).step == at(batch.outputs.back()).step;
}

/// Aborts, and ends the producer: the next has a new epoch. librdkafka would give the sequence
/// numbers of what was purged to the next transaction. If a broker has written such a batch and has
/// not answered, it takes the new one for the old one: it says yes, and writes nothing.
std::vector<Producer::Failure> Committer::abort() {
    producer_->abort();
    assignment_.shared.metrics.aborted();
    auto failures = producer_->failures();
    producer_.reset();
    return failures;
}

/// Gives up what failed. If a broker has refused several records, for one of them or for their sum,
/// their batch is divided, until what is refused stands alone.
Committer::Batches Committer::withoutFailures(Batch batch,
                                              std::vector<Producer::Failure> const& failures) {
    bool const isAlone = isOneStep(batch);
    bool areAllCertain = true;
    bool isInDoubt = false;
    auto const asked = Steady::now();
    for (Producer::Failure const& failure : failures)
        if (batch.failed < kMostDoubts && isDoubtful(failure, asked))
            isInDoubt = true;
        else if (failure.isCertain || isAlone)
            giveUp(failure);
        else
            areAllCertain = false;
    if (isInDoubt) {
        ++batch.failed;
        assignment_.pause(kLongestRest);
    }
    if (!areAllCertain) return inHalves(batch);
    return {batch};
}

/// A producer believes the broker that it asked last, and that one may know less than others: true
/// if the topic of a delivery is said to be gone, and is there.
bool Committer::isDoubtful(Producer::Failure const& failure, Steady::time_point asked) const {
    bool const isSaidToBeGone = failure.error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
                                failure.error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    if (!isSaidToBeGone || failure.output == Producer::kPosition) return false;
    Output const& output = at(failure.output);
    return output.kind == Output::Kind::delivery &&
           assignment_.shared.topics.refusalOfTopic(timers_.topicOf(*output.timer), asked, {})
               .empty();
}

/// REQUIRES more than one step. The middle moves to the beginning of a step, up or down.
Committer::Batches Committer::inHalves(Batch const& batch) const {
    auto const& all = batch.outputs;
    auto const isInAStep = [&](std::size_t i) { return at(all[i]).step == at(all[i - 1]).step; };
    std::size_t middle = all.size() / 2;
    while (middle < all.size() && isInAStep(middle)) ++middle;
    if (middle == all.size()) do
            --middle;
        while (isInAStep(middle));
    auto const cut = all.begin() + static_cast<std::ptrdiff_t>(middle);
    return {{{all.begin(), cut}, at(all[middle - 1]).next, batch.isApart},
            {{cut, all.end()}, batch.next, batch.isApart}};
}

/// For a topic that may not be written to, and no broker says which: what is due there goes to the
/// dead letters, and the rest where it should.
Committer::Batches Committer::eachTargetApart(Batch const& batch) {
    if (batch.isApart || batch.outputs.empty()) {
        bool hasDeliveries = false;
        for (std::size_t const i : batch.outputs)
            if (at(i).kind == Output::Kind::delivery) {
                giveUp({i, kMayNotWrite});
                hasDeliveries = true;
            }
        if (hasDeliveries) return {batch};
        throw ClientError{
            "workers must have the right to write to the state, the dead letters and the replies",
            kMayNotWrite};
    }
    Batch rest{{}, batch.next, true};
    std::map<std::uint32_t, Batch> deliveries;
    Batch* of = &rest;  // where the outputs of this step go
    for (std::size_t k = 0; k < batch.outputs.size(); ++k) {
        Output const& output = at(batch.outputs[k]);
        if (k == 0 || output.step != at(batch.outputs[k - 1]).step) of = &rest;
        if (output.kind == Output::Kind::delivery)
            of = &deliveries.try_emplace(output.timer->target(), Batch{{}, batch.next, true})
                      .first->second;
        of->outputs.push_back(batch.outputs[k]);
    }
    Batches apart;
    if (!rest.outputs.empty()) apart.push_back(std::move(rest));
    for (auto& [target, ofTarget] : deliveries) apart.push_back(std::move(ofTarget));
    return apart;
}

/// If somebody removes a topic that a producer knows, the producer reports only that it looks for
/// the leader.
bool Committer::giveUpWhatIsGone(Batch const& batch) {
    auto const asked = Steady::now();
    std::map<std::uint32_t, bool> isGone;
    bool any = false;
    for (std::size_t const i : batch.outputs) {
        if (at(i).kind != Output::Kind::delivery) continue;
        auto const [found, isNew] = isGone.try_emplace(at(i).timer->target(), false);
        if (isNew)
            found->second =
                !assignment_.shared.topics.refusalOfTopic(timers_.topicOf(*at(i).timer), asked, {})
                     .empty();
        if (!found->second) continue;
        giveUp({i, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART});
        any = true;
    }
    return any;
}

void Committer::giveUp(Producer::Failure const& failure) {
    if (failure.output != Producer::kPosition)
        return refusals_.giveUp(outputs_.all()[failure.output], failure.error, timers_, outputs_);
    // Else what shares its batch is at fault.
    if (failure.isCertain) refusals_.fail(Output::Kind::state, failure.error);
}

}  // namespace timingwheel::inline v1::kafka
