// What the writer takes of what others have put there, on one thread.

#include "components/store/Inbox.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel::store {
namespace {

/// Whose groups are of two changes.
class InboxTest : public testing::Test {
protected:
    static Change change(std::string id) {
        return {Change::Kind::cancel, std::move(id), 0, {}, {}};
    }

    DurableTimerOptions const options{.maxGroup = 2};
    Inbox inbox{options};
};

TEST_F(InboxTest, GivesChangesInTheirOrderAndInGroups) {
    for (char const* const id : {"a", "b", "c"}) static_cast<void>(inbox.append(change(id)));
    Mail const first = inbox.take(false);
    ASSERT_EQ(first.group.size(), 2U);
    EXPECT_EQ(first.group[0].id, "a");
    EXPECT_EQ(first.group[1].id, "b");
    Mail const second = inbox.take(false);
    ASSERT_EQ(second.group.size(), 1U);
    EXPECT_EQ(second.group[0].id, "c");
    EXPECT_TRUE(inbox.take(true).group.empty());
}

TEST_F(InboxTest, GivesAllElseOnce) {
    static_cast<void>(inbox.append(Copy{"copy.db", {}}));
    inbox.put(1, &Mail::ended);
    inbox.put(2, &Mail::failed);
    inbox.put(3, &Mail::early);
    inbox.put(4, &Mail::again);
    inbox.wakeToRead();
    Mail const mail = inbox.take(false);
    ASSERT_EQ(mail.copies.size(), 1U);
    EXPECT_EQ(mail.copies[0].file, "copy.db");
    EXPECT_EQ(mail.ended, Keys{1});
    EXPECT_EQ(mail.failed, Keys{2});
    EXPECT_EQ(mail.early, Keys{3});
    EXPECT_EQ(mail.again, Keys{4});
    EXPECT_TRUE(mail.wantsRead);
    inbox.wake();
    Mail const next = inbox.take(false);
    EXPECT_TRUE(next.copies.empty());
    EXPECT_TRUE(next.ended.empty());
    EXPECT_TRUE(next.again.empty());
    EXPECT_FALSE(next.wantsRead);
}

TEST_F(InboxTest, EndsWithTheLastOfWhatItHasAccepted) {
    for (char const* const id : {"a", "b", "c"}) static_cast<void>(inbox.append(change(id)));
    inbox.close();
    EXPECT_THROW(static_cast<void>(inbox.append(change("d"))), std::logic_error);
    EXPECT_THROW(static_cast<void>(inbox.append(Copy{})), std::logic_error);
    inbox.put(1, &Mail::ended);
    inbox.end();
    EXPECT_FALSE(inbox.take(false).isLast);
    Mail const last = inbox.take(false);
    EXPECT_TRUE(last.isLast);
    EXPECT_EQ(last.group.size(), 1U);
    EXPECT_TRUE(inbox.take(true).isLast);
}

TEST_F(InboxTest, GoesOnWhileAHandlerMayRun) {
    inbox.close();
    EXPECT_FALSE(inbox.take(true).isLast);
    inbox.put(1, &Mail::ended);
    inbox.end();
    Mail const last = inbox.take(false);
    EXPECT_TRUE(last.isLast);
    EXPECT_EQ(last.ended, Keys{1});
}

}  // namespace
}  // namespace timingwheel::store
