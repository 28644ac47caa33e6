// SQLite's failures, each of which throws.

#include "PowerCut.h"
#include "components/store/Database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sqlite3.h>
#include <string>

namespace timingwheel::store {
namespace {

using testing::HasSubstr;

/// With a table of three numbers.
class DatabaseTest : public testing::Test {
protected:
    DatabaseTest() {
        database.execute("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1), (2), (3)");
    }

    template <class Action>
    static void expectError(Action&& action, int code, std::string const& part) {
        try {
            action();
            ADD_FAILURE() << "nothing was thrown";
        } catch (StoreError const& error) {
            EXPECT_EQ(error.code(), code);
            EXPECT_THAT(error.what(), HasSubstr(part));
        }
    }

    test::PowerCut disk{1};
    Database database{"numbers.db", test::PowerCut::kName};
};

TEST_F(DatabaseTest, TellsTheFileTheStatementAndWhatIsWrong) {
    expectError([&] { database.execute("SELECT x FROM t"); }, SQLITE_ERROR,
                "numbers.db: SELECT x FROM t: no such column: x");
    expectError([&] { database.number("SELECT y FROM t"); }, SQLITE_ERROR, "no such column: y");
}

TEST_F(DatabaseTest, RefusesWhatTheStatementHasNoPlaceFor) {
    Statement statement{database, "SELECT n FROM t WHERE n = ?1"};
    expectError([&] { statement.bind(2, std::int64_t{1}); }, SQLITE_RANGE, "SELECT n FROM t");
    expectError([&] { statement.bind(2, "text"); }, SQLITE_RANGE, "SELECT n FROM t");
}

TEST_F(DatabaseTest, TellsWhyAStepWentWrong) {
    Statement statement{database, "SELECT abs(-9223372036854775807 - n) FROM t"};
    expectError([&] { statement.step(); }, SQLITE_ERROR, "FROM t: integer overflow");
    expectError([&] { statement.run(); }, SQLITE_ERROR, "FROM t: integer overflow");
}

TEST_F(DatabaseTest, BeginsAStatementAnewAfterItsLastRowOrAReading) {
    Statement statement{database, "SELECT n FROM t WHERE n >= ?1 ORDER BY n"};
    statement.bind(1, std::int64_t{2});
    EXPECT_TRUE(statement.step());
    EXPECT_EQ(statement.number(0), 2);
    EXPECT_TRUE(statement.step());
    EXPECT_FALSE(statement.step());
    {
        Reading const reading{statement};
        statement.bind(1, std::int64_t{3});
        EXPECT_TRUE(statement.step());
        EXPECT_EQ(statement.number(0), 3);
    }
    statement.bind(1, std::int64_t{1});
    EXPECT_TRUE(statement.step());
    EXPECT_EQ(statement.number(0), 1);
}

TEST_F(DatabaseTest, RollsBackWhatWasNotCommitted) {
    {
        Transaction const transaction{database};
        database.execute("DELETE FROM t");
    }
    EXPECT_EQ(database.number("SELECT COUNT(*) FROM t"), 3);
    Transaction transaction{database};
    database.execute("DELETE FROM t WHERE n > 1");
    EXPECT_EQ(database.changes(), 2);
    transaction.commit();
    EXPECT_EQ(database.number("SELECT COUNT(*) FROM t"), 1);
}

TEST_F(DatabaseTest, EndsACopyOfADatabaseThatGrowsFaster) {
    Backup backup{database, "copy.db", test::PowerCut::kName};
    int steps = 1;
    for (; backup.step(1) && steps < 100; ++steps)
        database.execute("INSERT INTO t SELECT randomblob(8000) FROM t LIMIT 3");
    EXPECT_LT(steps, 10);
}

}  // namespace
}  // namespace timingwheel::store
