#include "MockedState.h"
#include "Records.h"
#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Committer.h"
#include "components/kafka/daemon/Messages.h"
#include "components/kafka/daemon/Partition.h"
#include "components/kafka/daemon/StateReader.h"
#include "components/kafka/daemon/TimeOfDay.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using namespace timingwheel::kafka;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int16_t kProduce = 0;
constexpr std::int16_t kHeartbeat = 12;
constexpr std::int16_t kInitProducerId = 22;
constexpr std::int16_t kAddPartitions = 24;

/// Transactions that write no more than the position.
class CommitterTest : public MockedState {
protected:
    CommitterTest() {
        Settings settings = options.librdkafka;
        settings["bootstrap.servers"] = options.brokers;
        settings["group.id"] = options.group;
        settings["heartbeat.interval.ms"] = "10";
        Configuration configuration{settings};
        rd_kafka_conf_set_opaque(configuration.get(), this);
        rd_kafka_conf_set_rebalance_cb(configuration.get(), onRebalance);
        consumer_ = configuration.makeClient(RD_KAFKA_CONSUMER);
        shared.consumer = consumer_.get();
        PartitionList const topics = partitionList(options.commands, RD_KAFKA_PARTITION_UA);
        check(rd_kafka_subscribe(consumer_.get(), topics.get()), "to join");
        while (!isAssigned_) Message const read{rd_kafka_consumer_poll(consumer_.get(), 10)};
    }

    /// The group gives up its member, who learns it from a heartbeat, and does not poll.
    void loseMembership() {
        rd_kafka_mock_push_request_errors(brokers(), kHeartbeat, 1,
                                          RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
        while (rd_kafka_assignment_lost(consumer_.get()) == 0)
            rd_kafka_mem_free(consumer_.get(), rd_kafka_memberid(consumer_.get()));  // wakes it
    }

    /// A committer that has made no producer yet, and what it writes.
    struct Work {
        explicit Work(Shared& shared) : assignment{shared, 0} {}

        /// As one that was due by a clock that was `ahead`.
        void deliver(std::string const& id, std::chrono::milliseconds ahead = {}) {
            timers.schedule(scheduleCommand(id, nowInMilliseconds() + ahead.count()));
            auto timer = timers.takeOut(id);
            outputs.beginStep(++next);
            outputs.delivery(*timer);
            outputs.tombstone(std::move(timer));
        }
        void schedule(std::string const& id) {
            auto const scheduled = timers.schedule(scheduleCommand(id, nowInMilliseconds()));
            outputs.beginStep(++next);
            outputs.state(*scheduled.timer);
            outputs.countAs(&Tally::scheduled);
        }
        std::string commit() {
            try {
                committer.commit(next);
            } catch (std::runtime_error const& error) {
                return error.what();
            }
            return "nothing was thrown";
        }

        Assignment assignment;
        PendingTimers timers{0};
        Outputs outputs;
        Refusals refusals{assignment};
        std::int64_t next = 0;
        Committer committer{assignment, timers, outputs, refusals, nullptr, 1, 0};
    };

    /// What a commit throws once brokers have answered a request like this.
    std::string errorAfter(std::int16_t request, rd_kafka_resp_err_t answer) {
        Work work{shared};
        work.committer.commit(1);
        rd_kafka_mock_push_request_errors(brokers(), request, 1, answer);
        work.next = 2;
        return work.commit();
    }

    /// The positions that the state has.
    std::vector<std::int64_t> positions() {
        std::vector<std::int64_t> found;
        StateReader{options, 0}.readToEnd([&found](Message message) {
            Record const record = recordOf(*message);
            if (record.key == kPositionKey) found.push_back(readPosition(record).value_or(-1));
        });
        return found;
    }
    void makeTarget() {
        check(rd_kafka_mock_topic_create(brokers(), "orders", 1, 1), "to make a topic");
    }
    /// What becomes of a delivery whose topic the broker denies until so many transactions are
    /// aborted. Another cluster stands for the brokers that know the topic.
    Output::Kind deliverInDoubt(int aborts) {
        Configuration configuration{{{"test.mock.num.brokers", "1"}, {"log_level", "2"}}};
        Client const others = configuration.makeClient(RD_KAFKA_PRODUCER);
        rd_kafka_mock_cluster_t* const cluster = rd_kafka_handle_mock_cluster(others.get());
        check(rd_kafka_mock_topic_create(cluster, "orders", 1, 1), "to make a topic");
        Options ofOthers = options;
        ofOthers.brokers = rd_kafka_mock_cluster_bootstraps(cluster);
        Topics known{ofOthers};
        options.librdkafka["topic.metadata.propagation.max.ms"] = "0";
        Shared all{options, known, metrics, shared.consumer};
        makeTarget();
        Work work{all};
        work.deliver("a");
        rd_kafka_mock_topic_set_error(brokers(), "orders", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        std::string const last =
            "\ntimingwheel_aborted_transactions_total " + std::to_string(aborts) + "\n";
        std::atomic<bool> isOver{false};
        std::thread healer{[&] {
            while (!isOver && metrics.text().find(last) == std::string::npos)
                std::this_thread::sleep_for(std::chrono::milliseconds{10});
            rd_kafka_mock_topic_set_error(brokers(), "orders", RD_KAFKA_RESP_ERR_NO_ERROR);
        }};
        EXPECT_EQ(work.commit(), "nothing was thrown");
        isOver = true;
        healer.join();
        return work.outputs.all()[0].kind;
    }

private:
    static void onRebalance(rd_kafka_t* consumer, rd_kafka_resp_err_t what,
                            rd_kafka_topic_partition_list_t* partitions, void* self) {
        bool const isAssigned = what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
        rd_kafka_assign(consumer, isAssigned ? partitions : nullptr);
        static_cast<CommitterTest*>(self)->isAssigned_ = isAssigned;
    }

    bool isAssigned_ = false;
    Client consumer_;
};

// Behind the last command, the end of a user's transaction: it would be taken for a lost command.
TEST_F(CommitterTest, CommitsAPositionThatMovesWithoutACommand) {
    options.batch = 1;
    StateReader reader{options, 0};
    Partition partition{shared, 0, nullptr};
    // As the state has it: the stand-in keeps no offset that a transaction commits.
    auto const committed = [&] {
        auto const all = positions();
        return all.empty() ? -1 : all.back();
    };
    // The ends of another topic serve as well.
    auto const putEnd = [&] {
        write("a", std::nullopt);
        flush();
        Message end;
        while (!end || end->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
            end = reader.next(std::chrono::milliseconds{10});
        std::int64_t const offset = end->offset;
        partition.inbox().put(std::move(end), [] { return 0; });
        return offset;
    };
    ASSERT_TRUE(comesTrue([&] { return partition.inbox().open(0); }));
    reader.goTo(RD_KAFKA_OFFSET_BEGINNING);  // now: the state has a mark, and ends behind 0
    std::int64_t const first = putEnd();
    EXPECT_TRUE(comesTrue([&] { return committed() == first; }));
    putEnd();
    putEnd();
    ASSERT_TRUE(comesTrue([&] { return partition.inbox().isHalfEmpty(); }));  // one is taken in
    partition.stop();
    partition.awaitEnd();
    EXPECT_GT(committed(), first);
}

// Bug pattern: who begins anew after a failure counts again what retention has removed.
TEST_F(CommitterTest, CountsWhatIsLostOnceItIsCommitted) {
    StateReader reader{options, 0};
    write("a", std::nullopt);
    flush();
    Partition partition{shared, 0, nullptr};
    auto const putEnd = [&] {
        ASSERT_TRUE(comesTrue([&] { return partition.inbox().wantedBegin() == 0; }));
        partition.inbox().open(0);
        reader.goTo(1);
        Message end;
        while (!end || end->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
            end = reader.next(std::chrono::milliseconds{10});
        partition.inbox().put(std::move(end), [] { return 1; });
    };
    ASSERT_TRUE(comesTrue([&] { return partition.inbox().wantedBegin() == 0; }));
    for (int i = 0; i < 2; ++i)
        rd_kafka_mock_push_request_errors(brokers(), kAddPartitions, 1,
                                          RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    putEnd();
    putEnd();
    EXPECT_TRUE(comesTrue([&] { return !positions().empty(); }));
    partition.stop();
    partition.awaitEnd();
    EXPECT_THAT(metrics.text(), HasSubstr("\ntimingwheel_lost_commands_total 1\n"));
}

TEST_F(CommitterTest, SaysWhyThePositionCannotBeWritten) {
    EXPECT_THAT(errorAfter(kProduce, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE),
                HasSubstr("must be written, and cannot be"));
    EXPECT_THAT(errorAfter(kProduce, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED),
                HasSubstr("must be written, and cannot be"));
    EXPECT_THAT(errorAfter(kAddPartitions, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED),
                HasSubstr("workers must have the right"));
}

// The clock of this machine is ahead: no command is at fault.
TEST_F(CommitterTest, MakesATransactionAgainWhoseTimeBrokersRefuse) {
    EXPECT_EQ(errorAfter(kProduce, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP), "nothing was thrown");
}

// It would fence its successor.
TEST_F(CommitterTest, MakesNoProducerOnceItsMembershipHasEnded) {
    Work work{shared};
    loseMembership();
    // What a broker would answer, were it asked.
    rd_kafka_mock_push_request_errors(brokers(), kInitProducerId, 1,
                                      RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    EXPECT_THROW(work.committer.commit(1), TakenAway);
}

// Brokers were away, or refused the time, until the clock was right again.
TEST_F(CommitterTest, DeliversNothingThatIsNotDueByAClockThatWasSetBack) {
    makeTarget();
    Work work{shared};
    work.deliver("a", std::chrono::minutes{1});
    EXPECT_THAT(work.commit(), HasSubstr("set back"));
    EXPECT_TRUE(positions().empty());
}

// Bug pattern: a batch that is too large for the time of a transaction is made again for ever.
TEST_F(CommitterTest, DividesABatchThatFailsAgainAndAgain) {
    makeTarget();
    Work work{shared};
    work.deliver("a");
    work.deliver("b");
    for (int i = 0; i < 5; ++i)  // a transaction takes one or two
        rd_kafka_mock_push_request_errors(brokers(), kProduce, 1,
                                          RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP);
    EXPECT_EQ(work.commit(), "nothing was thrown");
    EXPECT_THAT(positions(), Contains(1));
}

// Bug pattern: what is committed of a batch that is divided counts once the rest is.
TEST_F(CommitterTest, CountsWhatItHasCommittedBeforeItThrows) {
    options.librdkafka["linger.ms"] = "9000";  // so that a transaction is one request
    Work work{shared};
    work.schedule("a");
    work.schedule("b");
    for (auto const answer : {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_NO_ERROR,
                              RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE})
        rd_kafka_mock_push_request_errors(brokers(), kProduce, 1, answer);
    EXPECT_THAT(work.commit(), HasSubstr("offset 1 is refused"));
    EXPECT_THAT(positions(), ElementsAre(1));
    EXPECT_THAT(metrics.text(), HasSubstr("\ntimingwheel_scheduled_total 1\n"));
}

// Bug pattern: one broker that is behind has what is due go to the dead letters.
TEST_F(CommitterTest, GivesUpNoDeliveryToATopicThatOtherBrokersKnow) {
    EXPECT_EQ(deliverInDoubt(1), Output::Kind::delivery);
}

// Bug pattern: a broker that stays behind holds up the partition for ever.
TEST_F(CommitterTest, GivesUpADeliveryThatStaysInDoubt) {
    EXPECT_EQ(deliverInDoubt(7), Output::Kind::deadLetter);
}

}  // namespace
}  // namespace timingwheel::test::kafka
