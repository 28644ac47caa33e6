// The table of timeouts, on a disk in memory.

#include "PowerCut.h"
#include "components/store/TimeoutTable.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <sqlite3.h>
#include <string>
#include <vector>

namespace timingwheel::store {
namespace {

class TimeoutTableTest : public testing::Test {
protected:
    /// The keys of what is read behind a place.
    Keys readNear(Place behind, std::int64_t until, Amount room) {
        std::vector<SharedRow> rows;
        hasMore = table.readNear(behind, until, room, rows);
        Keys keys;
        for (SharedRow const& row : rows) keys.push_back(row->key);
        return keys;
    }

    test::PowerCut disk{1};
    TimeoutTable table{"timeouts.db", test::PowerCut::kName};
    bool hasMore = false;
};

TEST_F(TimeoutTableTest, HasTheRowsOfAnIdTheNewestFirst) {
    Key const first = table.insert("a", 1, "one");
    Key const other = table.insert("b", 1, "");
    Key const second = table.insert("a", 2, "two");
    EXPECT_EQ(table.keysOf("a"), (Keys{second, first}));
    EXPECT_TRUE(table.remove(second));
    EXPECT_FALSE(table.remove(second));
    EXPECT_EQ(table.keysOf("a"), Keys{first});
    EXPECT_EQ(table.count(), 2U);
    EXPECT_GT(table.insert("a", 3, ""), second) << "no key is used twice";
    table.move(other, 7);
    EXPECT_EQ(table.read(other)->deadline, 7);
}

TEST_F(TimeoutTableTest, TellsOfAKeyThatHasNoRow) {
    Key const key = table.insert("a", 1, "");
    table.remove(key);
    for (auto const& use : {std::function<void()>{[&] { table.read(key); }},
                            std::function<void()>{[&] { table.move(key, 2); }}}) {
        try {
            use();
            FAIL() << "nothing was told";
        } catch (StoreError const& error) {
            EXPECT_EQ(error.code(), SQLITE_CORRUPT) << error.what();
        }
    }
}

TEST_F(TimeoutTableTest, ReadsPortionsInTheOrderOfDeadlinesAndKeys) {
    std::string const payload(10, 'x');
    Key const c = table.insert("c", 2, payload), b = table.insert("b", 1, payload),
              d = table.insert("d", 2, payload), e = table.insert("e", 3, payload);
    EXPECT_EQ(readNear({0, 0}, 3, {2, 100}), (Keys{b, c}));
    EXPECT_TRUE(hasMore);
    EXPECT_EQ(readNear({2, c}, 3, {2, 100}), Keys{d});
    EXPECT_FALSE(hasMore);
    EXPECT_EQ(readNear({2, d}, 4, {1, 100}), Keys{e});
    EXPECT_TRUE(hasMore) << "as far as it knows";
    EXPECT_EQ(readNear({0, 0}, 4, {9, 22}), (Keys{b, c}));
    EXPECT_TRUE(hasMore);
    EXPECT_EQ(readNear({0, 0}, 4, {0, 0}), Keys{b}) << "at least one";
}

}  // namespace
}  // namespace timingwheel::store
